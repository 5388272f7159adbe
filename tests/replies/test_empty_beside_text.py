"""A native call without arguments goes where the reply's text holds the call: after it in a stream, or beside it in
a whole reply. On every wire; the text call stays, and everything else does.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.exchanges import of_request, run, words
from support.spoken import SPOKEN
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),)
TEXT = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
LIFTED = ["lifted Bash (invoke)", "blocked empty_beside_text Bash"]


def _chat(arguments: str) -> bytes:
    function = {"name": "Bash", "arguments": arguments}
    entry = {"index": 0, "id": "n", "type": "function", "function": function}
    chunks = [{"role": "assistant", "content": TEXT}, {"tool_calls": [entry]}]
    return b"".join([chatclient.event(chatclient.chunk(one)) for one in chunks]) + chatclient.ending("tool_calls")


STREAMS: dict[str, Callable[[str], bytes]] = {
    "openai_chat": _chat,
    "openai_responses": lambda arguments: responsesclient.written(
        responsesclient.stream(
            [TEXT, {"type": "function_call", "call_id": "n", "name": "Bash", "arguments": arguments}]
        )
    ),
    "anthropic": lambda arguments: anthropicclient.written(
        anthropicclient.stream([anthropicclient.text(TEXT), anthropicclient.call("n", "Bash", arguments)])
    ),
    "gemini": lambda _: geminiclient.body_of(
        [geminiclient.reply([TEXT]), geminiclient.reply([{"functionCall": {"name": "Bash", "args": {}}}], "STOP")],
        "sse",
    ),
    "ollama": lambda _: ollamaclient.body_of(
        [
            ollamaclient.line(TEXT),
            ollamaclient.line({"content": "", "tool_calls": [ollamaclient.call("Bash", {})]}),
            ollamaclient.line("", "stop"),
        ]
    ),
}


def exchange(name: str, form: str, **route: Any) -> Exchange:
    request = Request(tools=TOOLS, model="m")
    return of_request(all_wires()[name], request, Route(client="native", upstream="text", **route), form=form)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", ["{}", "", " { } "])
@pytest.mark.parametrize("name", STREAMS)
def test_behind_the_text_in_a_stream(name: str, arguments: str) -> None:
    form = "ndjson" if name == "ollama" else "sse"
    body = STREAMS[name](arguments)
    one = exchange(name, form)
    out = run(one, [body[at : at + 5] for at in range(0, len(body), 5)])
    calls = geminiclient.received(out, "sse").candidates[0].calls if name == "gemini" else SPOKEN[name].heard(out)[1]
    assert [call["command"] for _, call in map(_as_pair, calls)] == ["ls"]
    assert words(one) == LIFTED
    off = exchange(name, form, mend=())
    run(off, [body])
    assert "blocked empty_beside_text Bash" not in words(off)


def _as_pair(call: Any) -> tuple[str, dict[str, Any]]:
    name, arguments = call
    return name, json.loads(arguments) if isinstance(arguments, str) else arguments


def _whole_chat(arguments: str) -> bytes:
    entry = {"id": "n", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    message = {"role": "assistant", "content": TEXT, "tool_calls": [entry]}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()


def test_beside_the_text_in_a_whole_reply() -> None:
    one = exchange("openai_chat", "whole")
    out = json.loads(run(one, [_whole_chat("{}")]))
    (call,) = out["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": "ls"}
    assert sorted(words(one)) == sorted(LIFTED)


@pytest.mark.parametrize("arguments", ['{"command": "pwd"}', '{"other": 1}'])
def test_one_with_arguments_stays(arguments: str) -> None:
    for form, body in (("sse", _chat(arguments)), ("whole", _whole_chat(arguments))):
        one = exchange("openai_chat", form)
        run(one, [body])
        assert sorted(line.split()[0] for line in words(one)) == ["lifted", "native"]


def test_without_a_text_call_it_stays() -> None:
    body = _whole_chat("{}").replace(b"invoke", b"invoice")
    assert run(exchange("openai_chat", "whole"), [body]) == body
