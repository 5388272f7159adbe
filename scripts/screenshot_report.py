"""Make docs/images/scorecard.png and docs/images/session.png: the page of `toolcalls report` on made-up sessions.

    .venv/bin/python scripts/screenshot_report.py

Needs chromium and the `dev` extra. Nothing is sent: the flows are made as the addon makes them, with made-up times.
"""

import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests")]

from mitmproxy import http  # noqa: E402 - only now all of it is on the path

from support.loopback import streamed  # noqa: E402
from support.manyflows import flow_of, native, session, user, write, written  # noqa: E402
from support.screens import browser, missing_for_browser  # noqa: E402
from toolcalls import cli  # noqa: E402

IMAGES = REPO / "docs" / "images"
READ = written("read_file", path="a.py")
HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
REPAIRED = "<tool_call>\n{'name': 'read_file', 'arguments': {'path': 'a.py'}}\n</tool_call>"
QWEN = "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
AGENTS = {
    "Claude Code": {"user-agent": "claude-cli/2.1.329 (external, sdk-cli)", "x-claude-code-session-id": "5c1d09e2"},
    "Goose": {"agent-session-id": "20261121_1"},
    "pi": {"user-agent": "OpenAI/JS 6.26.0", "session_id": "pi-11"},
}
# Agent, model, and what the model writes; each is one turn.
TURNS = [
    *[("Claude Code", "claude-opus-4-8", f"court\n{READ}")] * 3,
    ("Claude Code", "claude-opus-4-8", f"I will read it. {READ}"),
    ("Claude Code", "claude-opus-4-8", f"```\n{READ}\n```"),
    *[("Goose", "hermes-3-8b", HERMES)] * 4,
    *[("Goose", "hermes-3-8b", REPAIRED), ("Goose", "hermes-3-8b", HERMES[:-30])],
    *[("Goose", "qwen3-coder", QWEN)] * 5,
    *[("Goose", "qwen3-coder", f"Like so: {QWEN}")] * 2,
]


def _flows() -> list[http.HTTPFlow]:
    flows = [
        flow_of(f"turn {number}", [user("Look at a.py.")] * (number + 1), streamed(text), model=model,
                headers=AGENTS[agent], at=60.0 + 5 * number)
        for number, (agent, model, text) in enumerate(TURNS)
    ]  # fmt: skip
    more = [
        flow_of(f"native {number}", [user("Look.")], native("Bash", '{"command":"ls"}', f"call_{number}"),
                model="gpt-oss-120b", headers=AGENTS["pi"], at=200.0 + number)
        for number in range(4)
    ]  # fmt: skip
    return [*session(), *flows, *more]


def main() -> int:
    """Exit status 0 when the pictures are made, 2 with one line when something is missing."""
    if missing := missing_for_browser():
        print(f"screenshot_report: {missing}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page_file = folder / "report.html"
        cli.main(["report", str(write(folder / "sessions.flow", _flows())), "-o", str(page_file)])
        with browser(folder / "browser", width=1100, height=900) as page:
            page.goto(page_file.as_uri())
            page.locator("#exchanges tbody tr").first.wait_for()
            page.set_viewport_size({"width": 1100, "height": 1500})
            page.screenshot(path=IMAGES / "scorecard.png")
            page.set_viewport_size({"width": 1100, "height": 900})
            page.locator(".list a", has_text="Make hello.py greet people by name.").first.click()
            page.locator(".session:visible .turns > li").nth(1).locator("summary", has_text="Request").click()
            page.evaluate("window.scrollTo(0, 0)")
            page.screenshot(path=IMAGES / "session.png")
    for image in ("scorecard.png", "session.png"):
        print(f"{IMAGES / image}: {(IMAGES / image).stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
