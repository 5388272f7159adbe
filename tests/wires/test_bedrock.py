"""Bedrock's `InvokeModel`: what only its chunks have, and models that cannot call.

What Claude says as Messages does, and Nova as Converse does, is in `test_translated.py`. botocore reads what leaves.
"""

import json
from functools import partial
from typing import Any

import pytest

from support import anthropicclient, converseclient, invokeclient
from support.exchanges import of_request, run, words
from support.translated import TRANSLATED, Translated, claude_request, nova_request
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["bedrock"]
BEDROCKS = {name: api for name, api in TRANSLATED.items() if api.wire == "bedrock"}
CALL = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}}),)


@pytest.mark.parametrize("api", BEDROCKS.values(), ids=BEDROCKS)
def test_new_calls_have_ids_of_bedrocks(api: Translated) -> None:
    out = run(api.exchange({}), [api.body({"reply": [CALL]})])
    body = b"".join(invokeclient.payloads(out)) if api.streams else out
    assert b'"toolu_bdrk_' in body


def test_a_changed_chunk_keeps_its_padding_and_the_others_their_bytes() -> None:
    events = anthropicclient.stream([anthropicclient.text("Look.\n", CALL)])
    body = invokeclient.written(events)
    out = run(BEDROCKS["claude"].exchange({}), [body])
    same = [chunk for chunk in (invokeclient.written([event]) for event in events) if chunk in out]
    assert len(same) >= 4
    assert out.count(converseclient.PADDING.encode()) >= len(same) + 1


def test_an_exception_ends_the_reply_and_completes_no_call() -> None:
    for said, model in ((invokeclient.written, "claude"), (invokeclient.nova, "nova")):
        events = anthropicclient.stream([anthropicclient.text("Look.\n", CALL[:-9])], None)
        failed = converseclient.exception("modelStreamErrorException", "The model failed.")
        one = BEDROCKS[model].exchange({})
        out = run(one, [said(events[:-1]) + failed])
        assert out.endswith(failed)
        (verdict,) = words(one)
        assert verdict == "truncated cut_off Bash (invoke)"
        assert not one.notes
    one = BEDROCKS["claude"].exchange({})
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
    request = request_of(WIRE, json.dumps(asked).encode())
    assert not request.carries_calls
    for route in (Route(), Route(client="native", upstream="text", tools=TOOLS)):
        one = of_request(WIRE, request, route, form=form, seed=b"s")
        assert run(one, [body]) == body
        (verdict,) = words(one)
        assert verdict.startswith("declined")
        assert verdict.endswith("Bash (invoke)")
        assert not one.notes


def test_which_requests_are_rewritten() -> None:
    format_ = partial(conversation_of, "bedrock")
    for body in (claude_request([]), nova_request([])):
        written = json.dumps({**body, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})
        if "schemaVersion" in body:
            written = written.replace('"type": "text", ', "")
        conversation = format_(written.encode())
        assert json.loads(conversation.written()) == json.loads(written)
    with pytest.raises(ValueError, match="not rewritten"):
        format_(b'{"prompt": "Hi"}').written()
    with pytest.raises(ValueError, match="no other is rewritten"):
        format_(b'{"messages": [{"role": "user", "content": "Hi"}]}').written()
    assert Request() != request_of(WIRE, json.dumps({"prompt": "Hi"}).encode())
