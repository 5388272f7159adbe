"""Flows of whole sessions, made as the addon makes them: for the report, the page, the exports and the commands.

Nothing is sent. A request is planned and its reply goes through an exchange piece by piece, with times that are made up
and the same in every run; the flow then holds what the addon would have put into it.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from support.loopback import chunk, streamed
from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.flows import flow_metadata
from toolcalls.flows.exchange_plan import plan_for, wire_for
from toolcalls.insight import report
from toolcalls.wires import all_wires

CONFIG = load(default_path(), all_dialects(), all_wires())
BEGAN = 1_790_000_000.0
SECRET = "sk-" + "proj-CANARYaaaaaaaaaaaaaaaaaaaa"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def tool(name: str, *required: str) -> dict[str, Any]:
    """A tool's declaration in OpenAI form."""
    properties = {key: {"type": "string"} for key in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": f"{name}.", "parameters": schema}}


TOOLS = [tool("read_file", "path"), tool("write_file", "path", "content"), tool("Bash", "command")]


def written(name: str, **arguments: str) -> str:
    """A call as text."""
    parameters = [f'<parameter name="{key}">{value}</parameter>' for key, value in arguments.items()]
    return "\n".join([f'<invoke name="{name}">', *parameters, "</invoke>"])


def native(name: str, arguments: str, id_: str) -> list[bytes]:
    """The events of a reply with a native call."""
    call = {"index": 0, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [chunk({"role": "assistant", "content": None}), chunk({"tool_calls": [call]})]
    pieces += [
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[start : start + 6]}}]})
        for start in range(0, len(arguments), 6)
    ]
    return [*pieces, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def used(pieces: Sequence[bytes], input_: int, output: int) -> list[bytes]:
    """The same reply with its usage before the end, as a server sends it that is asked to."""
    usage = {"prompt_tokens": input_, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": 128}}
    event = json.dumps({"id": "c1", "model": "m", "choices": [], "usage": usage}).encode()
    return [*pieces[:-1], b"data: " + event + b"\n\n", pieces[-1]]


def flow_of(
    name: str,
    messages: Sequence[dict[str, Any]],
    pieces: Sequence[bytes],
    *,
    at: float = 0.0,
    model: str = "qwen3-coder",
    headers: dict[str, str] | None = None,
    tools: Sequence[dict[str, Any]] = TOOLS,
    wait: float = 0.4,
    pause: float = 0.05,
    cut: bool = False,
    path: str = "/v1/chat/completions",
    told: bool = True,
) -> http.HTTPFlow:
    """One exchange. `at`, `wait` and `pause` are seconds: its beginning, to the first piece, between two pieces.

    told   whether the addon was there when it was recorded
    """
    flow = tflow.tflow(resp=True)
    flow.id = str(uuid5(NAMESPACE_URL, name))
    body: dict[str, Any] = {"model": model, "stream": True, "messages": list(messages)}
    fields = {"content-type": "application/json", "authorization": f"Bearer {SECRET}", **(headers or {})}
    request = http.Request.make(
        "POST", f"http://gpu-box:8000{path}", json.dumps(body | ({"tools": list(tools)} if tools else {})), fields
    )
    request.timestamp_start = BEGAN + at
    request.timestamp_end = BEGAN + at + 0.01
    flow.request = request
    kept = {"content-type": "text/event-stream", "set-cookie": f"session={SECRET}"}
    response = http.Response.make(200, b"".join(pieces), kept)
    response.timestamp_start = BEGAN + at + wait
    response.timestamp_end = BEGAN + at + wait + pause * len(pieces)
    flow.response = response
    flow.error = Error("peer closed connection", BEGAN) if cut else None
    if told:
        _tell(flow, response, pieces, pause=pause, cut=cut)
    return flow


def _tell(flow: http.HTTPFlow, response: http.Response, pieces: Sequence[bytes], *, pause: float, cut: bool) -> None:
    wire = wire_for(flow.request)
    assert wire is not None
    exchange = plan_for(wire, flow.request, CONFIG).exchange("sse")
    client: list[tuple[int, bytes]] = []
    for number, piece in enumerate(pieces):
        client.append((round(number * pause * 1e6), exchange.feed(piece)))
    client.append((round(len(pieces) * pause * 1e6), exchange.abort() if cut else exchange.close()))
    got = [(moment, piece) for moment, piece in client if piece]
    body = b"".join(piece for _, piece in got)
    if body != response.raw_content:
        flow.metadata[flow_metadata.UPSTREAM] = response.raw_content
    response.raw_content = body
    flow.metadata[flow_metadata.TIMES] = {
        "upstream": {
            "microseconds": [round(number * pause * 1e6) for number in range(len(pieces))],
            "bytes": [len(piece) for piece in pieces],
        },
        "client": {"microseconds": [moment for moment, _ in got], "bytes": [len(piece) for _, piece in got]},
    }
    model = exchange.call_policy.request.model
    flow_metadata.annotate(flow, report.make_report(exchange, model=model))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def called(id_: str, name: str, arguments: str) -> dict[str, Any]:
    """An earlier turn of the model with a call."""
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def answered(id_: str, text: str) -> dict[str, Any]:
    """A tool's result."""
    return {"role": "tool", "tool_call_id": id_, "content": text}


def lifted_id(flow: http.HTTPFlow) -> str:
    """The id that the first call of a reply was given."""
    return str(flow.metadata[flow_metadata.REPORT]["verdicts"][0]["id"])


def session() -> list[http.HTTPFlow]:
    """One session of five turns: lifted, native, an example that is declined, a leak, and one that is cut off."""
    head = {"user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.23", "x-session-id": "ses_7f3a"}
    said = [system("You are a coding agent."), user("Make hello.py greet people by name.")]
    read = written("read_file", path="hello.py")
    first = flow_of(
        "first", said, used(streamed(f"Let me look first.\n\n{read}"), 812, 41), headers=head, at=0, wait=0.6
    )
    arguments = '{"path":"hello.py"}'
    said += [called(lifted_id(first), "read_file", arguments), answered(lifted_id(first), 'print("Hello")')]
    write = '{"path":"hello.py","content":"name = input()\\nprint(f\\"Hello, {name}!\\")\\n"}'
    second = flow_of(
        "second", said, used(native("write_file", write, "call_2"), 903, 38), headers=head, at=4, model="gpt-oss-120b"
    )
    said += [called("call_2", "write_file", write), answered("call_2", "written")]
    example = f"Done. I read it like this:\n\n```xml\n{read}\n```\n"
    third = flow_of("third", said, used(streamed(example), 980, 60), headers=head, at=9, wait=0.3)
    said += [{"role": "assistant", "content": example}, user("Now run it.")]
    said[0] = system("You are a careful coding agent. Run nothing as root.")
    fourth = flow_of(
        "fourth", said, streamed(f"Running it. {written('Bash', command='python hello.py')}"), headers=head, at=21,
        tools=[*TOOLS, tool("web_search", "query")],
    )  # fmt: skip
    said += [user("You did not run it.")]
    fifth = flow_of(
        "fifth", said, streamed(written("Bash", command="python hello.py && echo done"), reason="length")[:-6],
        headers=head, at=33, cut=True,
    )  # fmt: skip
    return [first, second, third, fourth, fifth]


def others() -> list[http.HTTPFlow]:
    """Flows of other sessions: one that the agent did not name, one with a text that is hostile, one without calls."""
    claude = {"user-agent": "claude-cli/2.1.329 (external, sdk-cli)", "x-claude-code-session-id": "5c1d-hostile"}
    hostile = [user(f"{MARKUP} {SECRET} \x1b[2J\u202e"), system(MARKUP)]
    call = written("Bash", command=f"echo '{MARKUP}' {SECRET}")
    return [
        flow_of("unnamed", [user("hello")], streamed(written("read_file", path="a.py")), at=50, headers={}),
        flow_of("hostile", hostile, streamed(f"{MARKUP}\n\n{call}"), at=60, headers=claude, model=f"m{MARKUP}",
                tools=[*TOOLS, tool(MARKUP, "a")]),
        flow_of("again", [user("hello")], streamed(written(f"x{MARKUP}", a="1")), at=70, headers=claude),
        flow_of("plain", [user("who?")], streamed("A model."), at=80, headers={"agent-session-id": "20261121_1"}),
    ]  # fmt: skip


def write(path: Path, flows: Iterable[http.HTTPFlow]) -> Path:
    """A file of flows."""
    with path.open("wb") as file:
        writer: Any = FlowWriter(file)
        for flow in flows:
            writer.add(flow)
    return path
