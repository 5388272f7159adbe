"""Make docs/images/flow-view.png: mitmweb with the addon, after a few replies of a model that writes calls as text.

    .venv/bin/python scripts/screenshot.py [FILE]

Needs chromium and the `dev` extra; an emoji font (Debian: fonts-noto-color-emoji) shows the marks. Everything runs on
loopback against a scripted upstream, with the helpers of the tests. The picture is what a user sees, nothing is painted
over; only the Host header is given a name that a model server might have.
"""

import json
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests")]

from support.loopback import Reply, chunk, post, streamed, upstream  # noqa: E402 - only now they are on the path
from support.screens import browser, log_in, missing_for_browser, mitmweb, open_response  # noqa: E402

TARGET = REPO / "docs" / "images" / "flow-view.png"
MODEL = "qwen3-coder"
HEIGHT = 1250  # pixels: all of the view fits


def _tool(name: str, *required: str) -> dict[str, object]:
    properties = {key: {"type": "string"} for key in required}
    return {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": properties, "required": list(required)},
        },
    }


def _call(name: str, **arguments: str) -> str:
    parameters = [f'<parameter name="{key}">{value}</parameter>' for key, value in arguments.items()]
    return "\n".join([f'<invoke name="{name}">', *parameters, "</invoke>"])


READ = _call("read_file", path="hello.py")
WRITE = _call("write_file", path="hello.py", content='\nname = input("Name: ")\nprint(f"Hello, {name}!")\n')
NATIVE = {"name": "read_file", "arguments": '{"path": "hello.py"}'}

# Each reply's comment begins as its name here. What is shown is the one that holds both a call and an example of one.
REPLIES = {
    "lifted write_file": streamed(f"Let me write it.\n\n{WRITE}"),
    "lifted read_file": streamed(f"Let me look first.\n\n{READ}\n\nI called it so:\n\n```xml\n{READ}\n```\n"),
    "native read_file": [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": NATIVE}]}),
        *(chunk({}, "tool_calls"), b"data: [DONE]\n\n"),
    ],
    "1 declined: fenced": streamed(f"A call is written like this:\n\n```xml\n{READ}\n```\n\nIt reads the file."),
    "1 declined: undeclared": streamed(_call("delete_file", path="hello.py")),
    "1 truncated: cut_off": streamed(WRITE[:-40], reason="length"),
    "": streamed("Done: it greets you by name."),
}
SHOWN = "lifted read_file"


def main() -> int:
    """Exit status 0 when the picture is made, 2 with one line when something is missing."""
    if missing := missing_for_browser():
        print(f"screenshot: {missing}", file=sys.stderr)
        return 2
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    tools = [_tool("read_file", "path"), _tool("write_file", "path", "content")]
    body = json.dumps({"model": MODEL, "stream": True, "messages": [], "tools": tools}).encode()
    with tempfile.TemporaryDirectory() as name, upstream(Reply([])) as server:
        folder = Path(name)
        with mitmweb(folder, "--set", "keep_host_header=true", to=server.url) as web:
            for pieces in REPLIES.values():
                server.replies = [Reply(pieces)]
                post(web.url, body, {"host": "gpu-box:8000"})
            with browser(folder / "browser", height=HEIGHT, scale=1.5) as page:
                log_in(page, web)
                open_response(page, SHOWN)
                page.mouse.move(0, 0)
                page.screenshot(path=target)
    print(f"{target}: {target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
