"""Bedrock's `InvokeModel`: bodies of Claude and of Nova in chunks, and those of models that cannot call.

Strategy. What Claude says is what Messages says, and Nova says Converse, so the cases of
`tests/cases/wires/anthropic.yaml` hold for both. botocore reads what leaves.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from support import anthropicclient, converseclient, invokeclient
from support.casefiles import openai_tools
from support.exchanges import of_case, of_request, run, same_wherever_it_is_cut, words
from support.wirecases import FILES, anthropic_events, anthropic_request, check_anthropic
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.turns import formats
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

type Case = Mapping[str, Any]

WIRE = all_wires()["bedrock"]
NOVA_LACKS = ("redacted_thinking", "mcp_tool_use", "stop_sequence")
CALL = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}),)


def claude_request(tools: list[dict[str, Any]]) -> dict[str, Any]:
    return {"anthropic_version": "bedrock-2023-05-31", **anthropic_request(tools)}


def nova_request(tools: list[dict[str, Any]]) -> dict[str, Any]:
    declared = [
        {"toolSpec": {"name": one["function"]["name"], "inputSchema": {"json": one["function"].get("parameters", {})}}}
        for one in tools
    ]
    return {"schemaVersion": "messages-v1", "messages": [], "toolConfig": {"tools": declared}}


def understood(body: bytes) -> anthropicclient.Reply:
    return anthropicclient.understood(json.loads(body.replace(b'"toolu_bdrk_', b'"toolu_')))


def understood_nova(body: bytes) -> anthropicclient.Reply:
    return converseclient.understood(body.replace(b"toolu_bdrk_", b"tooluse_"))


@dataclass(frozen=True)
class Model:
    """How a model says a case, and how its client reads it."""

    form: Form
    request: Callable[[list[dict[str, Any]]], dict[str, Any]]
    said: Callable[[list[dict[str, Any]]], bytes]
    heard: Callable[[bytes], anthropicclient.Reply]
    lacks: tuple[str, ...] = ()

    @property
    def cases(self) -> list[Case]:
        return [
            case
            for case in FILES["anthropic"]["cases"]
            if (not self.lacks or "request" not in case)
            and not any(word in json.dumps(case) for word in self.lacks)
            and (self.form != "whole" or case.get("whole", True))
        ]

    def body(self, case: Case) -> bytes:
        return self.said(anthropic_events(case))

    def exchange(self, case: Case) -> Exchange:
        tools = openai_tools(case.get("tools", FILES["anthropic"]["tools"]) or {})
        return of_case(WIRE, case, self.request(tools), self.form)


MODELS = {
    "claude": Model("eventstream_chunks", claude_request, invokeclient.written, invokeclient.received),
    "claude, whole": Model("whole", claude_request, anthropicclient.whole, understood),
    "nova": Model("eventstream_chunks", nova_request, invokeclient.nova, invokeclient.received_nova, NOVA_LACKS),
    "nova, whole": Model(
        "whole",
        nova_request,
        lambda events: converseclient.whole(anthropicclient.whole(events)),
        understood_nova,
        NOVA_LACKS,
    ),
}
EACH = [
    pytest.param(model, case, id=f"{name}: {case['title']}") for name, model in MODELS.items() for case in model.cases
]
STREAMED = [one for one in EACH if one.values[0].form != "whole"]


@pytest.mark.parametrize(("model", "case"), EACH)
def test_the_cases_of_messages(model: Model, case: Case) -> None:
    one, body = model.exchange(case), model.body(case)
    out = run(one, [body])
    case = {**case, **case.get("in_whole", {})} if model.form == "whole" else case
    check_anthropic(case, model.heard(out), one)
    assert (out == body) == (case.get("same", False) is True)


@pytest.mark.parametrize(("model", "case"), STREAMED)
def test_it_is_the_same_wherever_the_bytes_are_cut(model: Model, case: Case) -> None:
    same_wherever_it_is_cut(lambda: model.exchange(case), model.body(case), step=37)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_new_calls_have_ids_of_bedrocks(model: Model) -> None:
    one = model.exchange({})
    out = run(one, [model.said(anthropicclient.stream([anthropicclient.text(CALL)]))])
    body = b"".join(invokeclient.payloads(out)) if model.form != "whole" else out
    assert b'"toolu_bdrk_' in body


def test_a_changed_chunk_keeps_its_padding_and_the_others_their_bytes() -> None:
    events = anthropicclient.stream([anthropicclient.text("Look.\n", CALL)])
    body = invokeclient.written(events)
    out = run(MODELS["claude"].exchange({}), [body])
    same = [chunk for chunk in (invokeclient.written([event]) for event in events) if chunk in out]
    assert len(same) >= 4
    assert out.count(converseclient.PADDING.encode()) >= len(same) + 1


def test_an_exception_ends_the_reply_and_completes_no_call() -> None:
    for said, model in ((invokeclient.written, "claude"), (invokeclient.nova, "nova")):
        events = anthropicclient.stream([anthropicclient.text("Look.\n", CALL[:-9])], None)
        failed = converseclient.exception("modelStreamErrorException", "The model failed.")
        one = MODELS[model].exchange({})
        out = run(one, [said(events[:-1]) + failed])
        assert out.endswith(failed)
        (verdict,) = words(one)
        assert verdict == "truncated cut_off Bash (invoke)"
        assert not one.notes
    one = MODELS["claude"].exchange({})
    assert run(one, [failed]) == failed


# --- models that cannot call ------------------------------------------------------------------------------------------

COMPLETIONS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "Llama": (
        {"prompt": "Hi"},
        [{"generation": "Go.\n", "stop_reason": None}, {"generation": CALL, "stop_reason": "stop"}],
        {"generation": "Go.\n" + CALL, "stop_reason": "stop"},
    ),
    "Mistral": (
        {"prompt": "Hi"},
        [{"outputs": [{"text": "Go.\n", "stop_reason": None}]}, {"outputs": [{"text": CALL, "stop_reason": "stop"}]}],
        {"outputs": [{"text": "Go.\n" + CALL, "stop_reason": "stop"}]},
    ),
    "Titan": (
        {"inputText": "Hi"},
        [{"outputText": "Go.\n", "completionReason": None}, {"outputText": CALL, "completionReason": "FINISH"}],
        {"results": [{"outputText": "Go.\n" + CALL, "completionReason": "FINISH"}]},
    ),
    "Command": (
        {"prompt": "Hi"},
        [{"text": "Go.\n", "is_finished": False}, {"text": CALL, "is_finished": True, "finish_reason": "COMPLETE"}],
        {"generations": [{"text": "Go.\n" + CALL, "finish_reason": "COMPLETE"}]},
    ),
    "Claude 2": (
        {"prompt": "Hi"},
        [{"completion": "Go.\n", "stop_reason": None}, {"completion": CALL, "stop_reason": "stop_sequence"}],
        {"completion": "Go.\n" + CALL, "stop_reason": "stop_sequence"},
    ),
    "DeepSeek": (
        {"prompt": "Hi"},
        [{"choices": [{"text": "Go.\n", "stop_reason": None}]}, {"choices": [{"text": CALL, "stop_reason": "stop"}]}],
        {"choices": [{"text": "Go.\n" + CALL, "stop_reason": "stop"}]},
    ),
    "Jurassic": (
        {"prompt": "Hi"},
        [{"completions": [{"data": {"text": "Go.\n" + CALL}, "finishReason": {"reason": "stop"}}]}],
        {"completions": [{"data": {"text": "Go.\n" + CALL}, "finishReason": {"reason": "stop"}}]},
    ),
    "gpt-oss": (
        {"messages": [{"role": "user", "content": "Hi"}], "tools": []},
        [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Go.\n"}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {"content": CALL}, "finish_reason": "stop"}]},
        ],
        {
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "Go.\n" + CALL}, "finish_reason": "stop"}
            ]
        },
    ),
}


@pytest.mark.parametrize("form", ["eventstream_chunks", "whole"])
@pytest.mark.parametrize("model", COMPLETIONS)
def test_a_reply_without_a_place_for_calls_is_observed(model: str, form: Form) -> None:
    """The bytes stay, and the verdict says what is in the text."""
    asked, chunks, whole = COMPLETIONS[model]
    body = json.dumps(whole).encode() if form == "whole" else invokeclient.written(chunks)
    request = WIRE.request(json.dumps(asked).encode())
    assert not request.carries_calls
    for route in (Route(), Route(client="native", upstream="text", tools=TOOLS)):
        one = of_request(WIRE, request, route, form=form, seed=b"s")
        assert run(one, [body]) == body
        (verdict,) = words(one)
        assert verdict.startswith("declined")
        assert verdict.endswith("Bash (invoke)")
        assert not one.notes


def test_which_requests_are_rewritten() -> None:
    format_ = formats()["bedrock"]
    for body in (claude_request([]), nova_request([])):
        written = json.dumps({**body, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})
        if "schemaVersion" in body:
            written = written.replace('"type": "text", ', "")
        conversation = format_.read(written.encode())
        assert json.loads(format_.write(written.encode(), conversation)) == json.loads(written)
    with pytest.raises(ValueError, match="no other is rewritten"):
        format_.read(b'{"prompt": "Hi"}')
    assert Request() != WIRE.request(json.dumps({"prompt": "Hi"}).encode())
