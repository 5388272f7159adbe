"""Make docs/images/flow-view.png: mitmweb with the addon, after a few replies of a model that writes calls as text.

    .venv/bin/python scripts/screenshot.py [FILE]

Needs chromium and the `dev` extra; an emoji font (Debian: fonts-noto-color-emoji) shows the marks. Everything runs on
loopback against a scripted upstream, with the helpers of the tests, so the picture shows what the tests check. Two
things are arranged for the page of a README: the list's path is short, and its column for comments is wide.
"""

import json
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests")]

from live import PATH, Reply, chunk, post, streamed, upstream  # noqa: E402 - only now they are on the path
from screens import browser, log_in, missing_for_browser, mitmweb, open_response, row  # noqa: E402

TARGET = REPO / "docs" / "images" / "flow-view.png"
MODEL = "qwen3-coder"


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


WRITE = _call("write_file", path="hello.py", content='\nname = input("Name: ")\nprint(f"Hello, {name}!")\n')
EXAMPLE = f"A call is written like this:\n\n```xml\n{_call('read_file', path='README.md')}\n```\n"
NATIVE = {"name": "read_file", "arguments": '{"path": "hello.py"}'}

# Path of the request → the events of the reply.
REPLIES = {
    "/read": streamed(f"I will look at it first.\n\n{_call('read_file', path='hello.py')}"),
    "/write": streamed(f"Let me write it.\n\n{WRITE}\n\n{EXAMPLE}"),
    "/native": [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": NATIVE}]}),
        *(chunk({}, "tool_calls"), b"data: [DONE]\n\n"),
    ],
    "/example": streamed(EXAMPLE),
    "/unknown": streamed(_call("delete_file", path="hello.py")),
    "/long": streamed(WRITE[:-40], reason="length"),
    "/text": streamed("Done: it greets you by name."),
}
SHOWN = "/write"

# A picture has no splitter to drag.
STYLE = """
.flow-table .col-comment { width: 300px !important; text-align: left !important }
.flow-table .col-status { width: 60px !important } .flow-table .col-size { width: 55px !important }
.flow-detail .first-line, .flow-detail .headers, .flow-detail section > hr { display: none }
header { display: none !important }
"""


def main() -> int:
    """Exit status 0 when the picture is made, 2 with one line when something is missing."""
    if missing := missing_for_browser():
        print(f"screenshot: {missing}", file=sys.stderr)
        return 2
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    tools = [_tool("read_file", "path"), _tool("write_file", "path", "content")]
    body = json.dumps({"model": MODEL, "stream": True, "messages": [], "tools": tools}).encode()
    columns = [part for name in ("path", "status", "comment") for part in ("--set", f"web_columns={name}")]
    with tempfile.TemporaryDirectory() as name, upstream(Reply([])) as server:
        folder = Path(name)
        with mitmweb(folder, *columns, to=server.url) as web:
            for path, pieces in REPLIES.items():
                server.replies = [Reply(pieces)]
                post(web.url, body, path=path + PATH)
            with browser(folder / "browser", scale=1.5) as page:
                log_in(page, web)
                row(page, REPLIES and SHOWN)
                open_response(page, SHOWN)
                page.add_style_tag(content=STYLE)
                page.wait_for_timeout(500)
                page.screenshot(path=target)
    print(f"{target}: {target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
