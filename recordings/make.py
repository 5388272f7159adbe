"""Makes the recordings: an official SDK, a real mitmdump with the addon and `-w`, a scripted upstream.

    python recordings/make.py [NAME...]      # in an environment with the `dev` extra; no names: all of them

The replies are made by hand after what servers and models were seen to send; each has its sentence in README.md. They
are recorded under the configuration that ships with the addon, so that reading them needs no other.

What a run cannot repeat is made the same afterwards: ids, ports and times. What tells of the machine (`x-stainless-os`
and the like) is left out, and the key becomes `<redacted>`. So a second run gives the same files, as long as mitmproxy,
the SDK and the addon do not change, and `git diff` shows what did.
"""

import json
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import parse_qsl

from mitmproxy import connection, http
from mitmproxy.io import FlowWriter
from mitmproxy.proxy import mode_specs

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "addon")]

from quirks import QUESTION, QUIRKS, START, Quirk  # noqa: E402

from support.agentclient import SDKS, Answer, Line  # noqa: E402 - they lie beside the tests
from support.loopback import EVENTS, PATH, Host, Reply, encoded, host, post  # noqa: E402
from support.sdk import BROKEN, client  # noqa: E402
from toolcalls.mitm import flow_metadata  # noqa: E402

PACE = 20  # milliseconds between two pieces of a reply
REDACTED = "<redacted>"
KEYS = {"authorization", "x-api-key", "x-goog-api-key"}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read some lines of a file.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["path"],
            },
        },
    }
]
TAUGHT = """You can use tools. To use one, write it in this form, and nothing after it:

<read_file>
<path>README.md</path>
</read_file>"""
CALL = (
    '<invoke name="read_file">\n<parameter name="path">src/app.py</parameter>\n<parameter name="limit">20</parameter>\n'
)
CALL += "</invoke>"
ONE = '<invoke name="read_file">\n<parameter name="path">src/app.py</parameter>\n</invoke>'
NATIVE = '{"path": "src/app.py"}'
USAGE = {"prompt_tokens": 210, "completion_tokens": 48, "total_tokens": 258}


@dataclass(frozen=True)
class Recording:
    """What is asked, and what the upstream answers.

    tools   False: the client declares none
    path    where Chat Completions are asked for
    quirk   another API, with the SDK that it says
    """

    reply: Reply
    tools: bool = True
    system: str = ""
    streamed: bool = True
    path: str = PATH
    quirk: Quirk | None = None


# --- replies ----------------------------------------------------------------------------------------------------------


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One event of a streamed reply with one choice; `more` are further fields beside `choices`."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    outer = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": START, "model": "made-up"}
    return b"data: " + json.dumps({**outer, "choices": [choice], **more}, ensure_ascii=False).encode() + b"\n\n"


def said(text: str, **more: Any) -> list[bytes]:
    """The events that write `text`, about as a tokenizer would cut it."""
    head = chunk({"role": "assistant", "content": ""}, **more)
    return [head, *(chunk({"content": text[at : at + 6]}, **more) for at in range(0, len(text), 6))]


def called(index: int, arguments: str = NATIVE) -> list[bytes]:
    """The events of a native call."""
    function = {"name": "read_file", "arguments": ""}
    pieces = [arguments[at : at + 12] for at in range(0, len(arguments), 12)]
    return [
        chunk({"tool_calls": [{"index": index, "id": "call_made_up", "type": "function", "function": function}]}),
        *(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in pieces),
    ]


def ended(finish: str = "stop") -> list[bytes]:
    """The end of a reply that ends as it should."""
    return [chunk({}, finish), chunk({}, None, choices=[], usage=USAGE), b"data: [DONE]\n\n"]


def plain(text: str) -> Reply:
    """A reply that writes `text`."""
    return Reply([*said(text), *ended()])


def native_index_minus_one() -> Reply:
    """As Z.ai's server sends them: one whole call in one chunk, with the role again, and -1 for its index."""
    function = {"name": "read_file", "arguments": NATIVE}
    call = {"id": "call_made_up", "index": -1, "type": "function", "function": function}
    return Reply([*said("I'll look at the file.\n"), chunk({"tool_calls": [call]}), *ended("tool_calls")])


def usage_with_every_chunk() -> Reply:
    """As vLLM sends it with `continuous_usage_stats`: the count so far, in each chunk."""
    text = f"I'll look at the file.\n\n{CALL}"
    counts: Iterator[dict[str, int]] = (
        {"prompt_tokens": 210, "completion_tokens": count, "total_tokens": 210 + count} for count in range(len(text))
    )
    pieces = [chunk({"role": "assistant", "content": ""}, usage=next(counts))]
    pieces += [chunk({"content": text[at : at + 6]}, usage=next(counts)) for at in range(0, len(text), 6)]
    return Reply([*pieces, chunk({}, "stop", usage=next(counts)), b"data: [DONE]\n\n"])


def choice_ends_twice() -> Reply:
    """As OpenRouter sends it: comments first, the finish reason, and once more with the usage."""
    end = {"role": "assistant", "content": ""}
    pieces = [b": OPENROUTER PROCESSING\n\n", *said(f"I'll look at the file.\n\n{CALL}", provider="Made Up")]
    pieces += [chunk(end, "stop", provider="Made Up"), chunk(end, "stop", provider="Made Up", usage=USAGE)]
    return Reply([*pieces, b"data: [DONE]\n\n"])


def gzip_kept() -> Reply:
    """Compressed, as it may be where the client asks for it."""
    pieces = encoded([*said(f"I'll look at the file.\n\n{CALL}"), *ended()], "gzip")
    return Reply(pieces, EVENTS | {"content-encoding": "gzip"})


def whole() -> Reply:
    """Not streamed: one JSON body of a known length."""
    message = {"role": "assistant", "content": f"I'll look at the file.\n\n{CALL}"}
    outer = {"id": "chatcmpl-1", "object": "chat.completion", "created": START, "model": "made-up"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = json.dumps({**outer, "choices": choices, "usage": USAGE}).encode()
    return Reply([body], {"content-type": "application/json"}, framing="length")


MENTION = f"The form that I use for a call is this one:\n\n```xml\n{CALL}\n```\n\nShall I go on?"
TWO = f"I'll look at both.\n\n{CALL}\n\n{CALL.replace('app', 'größe')}"
CUT = f"I'll look at the file.\n\n{CALL}"[:-60]


def odd(quirk: Quirk) -> Recording:
    """The recording of a quirk."""
    framing: Literal["chunked", "length"] = "chunked" if quirk.streamed else "length"
    reply = Reply(quirk.reply(quirk.text), {"content-type": quirk.kind}, framing=framing)
    if quirk.api == "openai_chat":
        return Recording(reply, streamed=quirk.streamed, path=quirk.path)
    return Recording(reply, path=quirk.path, quirk=quirk)


RECORDINGS: dict[str, Callable[[], Recording]] = {
    "lifted-invoke-stream": lambda: Recording(plain(TWO)),
    "lifted-whole": lambda: Recording(whole(), streamed=False),
    "stray-word": lambda: Recording(plain(f"I'll look at the file.\n\ncourt\n{CALL}")),
    "fenced-example": lambda: Recording(plain(MENTION)),
    "cut-in-a-tag": lambda: Recording(Reply(said(CUT), cut="rst")),
    "lowered-for-a-text-client": lambda: Recording(
        Reply([*said("I'll look at the file."), *called(0), *ended("tool_calls")]), tools=False, system=TAUGHT
    ),
    "roundtrip": lambda: Recording(plain(f"I'll look at the file.\n\n{ONE}"), tools=False, system=TAUGHT),
    "native-index-minus-one": lambda: Recording(native_index_minus_one()),
    "usage-with-every-chunk": lambda: Recording(usage_with_every_chunk()),
    "choice-ends-twice": lambda: Recording(choice_ends_twice()),
    "gzip-kept": lambda: Recording(gzip_kept(), tools=False),
    **{name: partial(odd, quirk) for name, quirk in QUIRKS.items()},
}


# --- recording --------------------------------------------------------------------------------------------------------


def record(running: Host, recording: Recording) -> http.HTTPFlow:
    """One exchange of the SDK with the upstream; the flow as mitmdump wrote it."""
    running.upstream.replies = [replace(recording.reply, pause=PACE / 1000)]  # else pieces come together
    base = running.path().removesuffix(PATH)
    path = base + recording.path
    if recording.quirk is not None:
        _ask(running.dump.url, base, recording.quirk)
        return running.flow(path)
    url, _, query = path.partition("?")
    system = [{"role": "system", "content": recording.system}] if recording.system else []
    request: dict[str, Any] = {"model": "made-up", "messages": [*system, {"role": "user", "content": QUESTION}]}
    request |= {"tools": TOOLS} if recording.tools else {}
    with client(running.dump.url + url.removesuffix("/chat/completions")) as made:
        sdk = made.with_options(default_query=dict(parse_qsl(query)))
        if recording.streamed:
            try:
                for _ in sdk.chat.completions.create(stream=True, **request):
                    pass
            except BROKEN:
                if not recording.reply.cut:
                    raise
        else:
            sdk.chat.completions.create(**request)
    return running.flow(path)


def _ask(url: str, base: str, quirk: Quirk) -> None:
    """One request with the SDK of a quirk's API, or by hand."""
    if quirk.body is not None:
        post(url, json.dumps(quirk.body).encode(), {"authorization": REDACTED}, path=base + quirk.path)
        return
    sdk = SDKS[quirk.api]
    with sdk.client(Line(url + base)) as made:
        sdk.ask(made, "stream", sdk.begun(QUESTION), Answer())


def settled(name: str, was: http.HTTPFlow, *, path: str, cut: bool) -> http.HTTPFlow:
    """The same flow with nothing in it that a second run would not repeat, or that is nobody's business.

    `cut`: the upstream broke off.
    """
    state = was.get_state()
    state["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"toolcalls/recordings/{name}"))
    state["client_conn"] = connection.Client(
        peername=("127.0.0.1", 50000),
        sockname=("127.0.0.1", 8080),
        timestamp_start=START,
        id=f"{name}-client",
        proxy_mode=mode_specs.ProxyMode.parse("reverse:http://127.0.0.1:8000"),
    ).get_state()
    state["server_conn"] = connection.Server(address=("127.0.0.1", 8000), id=f"{name}-server").get_state()
    state["timestamp_created"] = START
    if not cut:  # the SDK leaves at [DONE], sometimes before mitmdump has seen the end of the body
        state["error"] = None
    flow = http.HTTPFlow.from_state(state)
    if not isinstance(flow, http.HTTPFlow) or flow.response is None:
        raise SystemExit(f"{name}: there is no reply in the flow")
    request, response = flow.request, flow.response
    request.path, request.host, request.port = path, "127.0.0.1", 8000
    request.headers["host"] = "127.0.0.1:8000"
    for header in KEYS:
        if header in request.headers:
            request.headers[header] = REDACTED
    for header in [header for header in request.headers if header.lower().startswith(("x-stainless-", "x-goog-api-c"))]:
        del request.headers[header]
    if "user-agent" in request.headers:  # some tell of the machine
        request.headers["user-agent"] = re.sub(r" (\(|gl-python|Python/).*", "", request.headers["user-agent"])
    request.timestamp_start = request.timestamp_end = START
    pieces = 0
    for side in flow.metadata[flow_metadata.TIMES].values():
        if side is not None:
            side["microseconds"] = [PACE * 1000 * number for number in range(len(side["bytes"]))]
            pieces = max(pieces, len(side["bytes"]))
    response.timestamp_start, response.timestamp_end = START, START + PACE * pieces / 1000
    if flow.error is not None:
        flow.error.timestamp = response.timestamp_end
    return flow


def main(names: list[str]) -> None:
    """Record the named ones, or all."""
    unknown = sorted(set(names) - set(RECORDINGS))
    if unknown:
        raise SystemExit(f"no such recording: {', '.join(unknown)}; there are {', '.join(RECORDINGS)}")
    with TemporaryDirectory() as folder, host(Path(folder)) as running:
        for name in names or RECORDINGS:
            recording = RECORDINGS[name]()
            was = record(running, recording)
            flow = settled(name, was, path=recording.path, cut=recording.reply.cut is not None)
            with (HERE / f"{name}.flow").open("wb") as file:
                FlowWriter(file).add(flow)
            print(f"{name}.flow: {flow.comment or 'nothing to judge'}")


if __name__ == "__main__":
    main(sys.argv[1:])
