"""`mend: [errors]`: errors that quote a call, on each API, streamed and whole, at every cut; and what stays so."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from support.damagedcalls import CALL, REQUEST, WIRES, streamed, whole
from support.exchanges import in_pieces, of_request
from support.sampling import some
from toolcalls.processors.reactor_runner import RUNNER
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.processing import processors_for
from toolcalls.route import Access, AccessRule, Mended, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

ALL: tuple[Mended, ...] = ("protocol", "errors")
MENDS = Route(mend=ALL)
TEXT = Route(mend=ALL, client="text", upstream="native", client_dialect="hermes")
RAW = "<tool_call><function=edit><parameter=path>a.ts</parameter></function></tool_call>"
ARGUMENTS = {"path": "a.ts"}
GROQ = {"error": {"message": "x", "code": "tool_use_failed", "failed_generation": RAW, "status_code": 400}}
LLAMA = {"error": {"code": 500, "message": f"Failed to parse input at pos 12: {RAW}", "type": "server_error"}}
FORMS: dict[str, Form] = {"ollama": "ndjson"}
# How an error is in a stream of each API.
IN_STREAM: dict[str, list[Any]] = {
    "openai_chat": [GROQ, LLAMA],
    "openai_responses": [
        {"type": "error", "code": "500", "message": LLAMA["error"]["message"], "param": None, "sequence_number": 9},
        {"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": LLAMA["error"]}},
    ],
    "anthropic": [{"type": "error", "error": {"type": "api_error", "message": LLAMA["error"]["message"]}}],
    "gemini": [{"error": {"code": 500, "message": LLAMA["error"]["message"], "status": "INTERNAL"}}],
    "ollama": [{"error": f"error parsing tool call: raw='{RAW}', err=invalid character '<'"}],
}
ROWS = [(wire, number) for wire, errors in IN_STREAM.items() for number in range(len(errors))]


def framed(wire: str, payload: Any) -> bytes:
    if wire == "ollama":
        return json.dumps(payload).encode() + b"\n"
    name = f"event: {payload['type']}\n" if wire in {"anthropic", "openai_responses"} else ""
    return f"{name}data: {json.dumps(payload)}\n\n".encode()


def frames_of(wire: str, body: bytes) -> list[bytes]:
    end = b"\n" if wire == "ollama" else b"\n\n"
    return [frame + end for frame in body.split(end) if frame]


def through(wire: str, body: bytes, route: Route, *, form: Form | None = None) -> tuple[bytes, Exchange]:
    """A body at sizes of all kinds, which make no difference."""
    found: dict[bytes, tuple[bytes, Exchange]] = {}
    for size in (0, *some([1, 2, 7, 64], 2, body)):
        exchange = of_request(all_wires()[wire], REQUEST, route, form=form or FORMS.get(wire, "sse"))
        out = b"".join([exchange.feed(piece) for piece in in_pieces(body, size)]) + exchange.close()
        assert exchange.failure is None, repr(exchange.failure)
        found[out] = out, exchange
    assert len(found) == 1
    return next(iter(found.values()))


def heard(exchange: Exchange) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for _, call in exchange.client_calls if call.complete]


def begun(wire: str) -> bytes:
    """How a stream of this API begins, up to a text that is whole."""
    frames = frames_of(wire, streamed(wire, (), "I look."))
    count = {"openai_chat": 3, "openai_responses": 7, "anthropic": 4, "gemini": 0, "ollama": 1}[wire]
    if wire == "gemini":
        part = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "I look."}]}}]}
        return framed(wire, part)
    return b"".join(frames[:count])


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize(("wire", "number"), ROWS)
def test_an_error_in_a_stream(wire: str, number: int, behind: bool) -> None:
    head = begun(wire) if behind else b""
    error = framed(wire, IN_STREAM[wire][number])
    out, exchange = through(wire, head + error, MENDS)
    assert out.startswith(head)
    assert RAW.encode() not in out
    assert heard(exchange) == [("edit", ARGUMENTS)]
    ((_, verdict),) = exchange.verdicts
    assert (verdict.status, verdict.repairs) == ("native", ("call_in_error",))
    assert [note.rule for _, note in exchange.notes] == ["call_in_error"]
    # What left is a reply of the API that has nothing wrong with it.
    again, read = through(wire, out, Route(mend=()))
    assert (again, heard(read), read.notes) == (out, [("edit", ARGUMENTS)], [])


@pytest.mark.parametrize("behind", [False, True])
def test_text_that_an_error_quotes_is_sent_once(behind: bool) -> None:
    error = {"error": {**GROQ["error"], "failed_generation": f"I look.\n{RAW}"}}
    out, exchange = through("openai_chat", (begun("openai_chat") if behind else b"") + framed("", error), MENDS)
    assert heard(exchange) == [("edit", ARGUMENTS)]
    assert out.count(b"I look.") == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_second_error_stays(wire: str) -> None:
    error = framed(wire, IN_STREAM[wire][0])
    once, _ = through(wire, error, MENDS)
    out, exchange = through(wire, error * 2, MENDS)
    assert out == once + error
    assert heard(exchange) == [("edit", ARGUMENTS)]


@pytest.mark.parametrize(("wire", "number"), ROWS)
def test_without_the_kind_it_stays(wire: str, number: int) -> None:
    body = begun(wire) + framed(wire, IN_STREAM[wire][number])
    out, exchange = through(wire, body, Route())
    assert (out, heard(exchange)) == (body, [])


@pytest.mark.parametrize("wire", WIRES)
def test_behind_a_call_it_stays(wire: str) -> None:
    frames = frames_of(wire, streamed(wire, [CALL], ""))
    for before in (frames[:4], frames):
        body = b"".join([*before, framed(wire, IN_STREAM[wire][0])])
        assert through(wire, body, MENDS)[0] == body


def test_behind_a_call_in_the_text_it_stays() -> None:
    said = streamed("openai_chat", (), f"I look.\n{RAW}\n")
    body = b"".join(frames_of("openai_chat", said)[:3]) + framed("openai_chat", GROQ)
    out, exchange = through("openai_chat", body, MENDS)
    assert out.endswith(framed("openai_chat", GROQ))
    assert heard(exchange) == [("edit", ARGUMENTS)]


@pytest.mark.parametrize("form", ["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_error(wire: str, form: str) -> None:
    as_form: Form = "whole" if form == "whole" else FORMS.get(wire, "sse")
    for error in (GROQ, LLAMA, IN_STREAM["ollama"][0]):
        exchange = of_request(all_wires()[wire], REQUEST, MENDS, form=as_form)
        out = exchange.answer(json.dumps(error).encode(), as_form, 500)
        assert out is not None
        again, read = through(wire, out, Route(mend=()), form=as_form)
        assert (again, heard(read), read.notes) == (out, [("edit", ARGUMENTS)], [])
        ((_, verdict),) = exchange.verdicts
        assert (verdict.status, verdict.repairs) == ("native", ("call_in_error",))


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_reply_that_succeeded(wire: str) -> None:
    body = json.dumps({"error": LLAMA["error"]}).encode()
    out, exchange = through(wire, body, MENDS, form="whole")
    assert heard(exchange) == [("edit", ARGUMENTS)]
    assert RAW.encode() not in out


@pytest.mark.parametrize("form", ["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_text_client_gets_it_as_text(wire: str, form: str) -> None:
    as_form: Form = "whole" if form == "whole" else FORMS.get(wire, "sse")
    exchange = of_request(all_wires()[wire], REQUEST, TEXT, form=as_form)
    out = exchange.answer(json.dumps(LLAMA).encode(), as_form, 500)
    assert out is not None
    assert b"<tool_call>" in out
    assert [verdict.status for _, verdict in exchange.verdicts] == ["lowered"]


BLOCKS = replace(MENDS, access=Access((AccessRule("no edits", "block", ("edit",)),)))


def blocking(wire: str) -> Exchange:
    decision = decide(BLOCKS, REQUEST, {}, ())
    policy, tools = call_policy_of(BLOCKS, REQUEST, decision)
    rules = processors_for(None, BLOCKS, decision, model="m", agent="", run=RUNNER)
    form = FORMS.get(wire, "sse")
    return Exchange(all_wires()[wire], policy, decision, tools, form=form, seed=b"s", processors=rules)


@pytest.mark.parametrize("wire", WIRES)
def test_a_rule_sees_it(wire: str) -> None:
    exchange = blocking(wire)
    out = exchange.feed(begun(wire) + framed(wire, IN_STREAM[wire][0])) + exchange.close()
    assert [(verdict.status, verdict.rule) for _, verdict in exchange.verdicts] == [("blocked", "no edits")]
    assert b"was blocked by the rule no edits" in out
    assert b"a.ts" not in out


@pytest.mark.parametrize("wire", WIRES)
def test_one_error_is_answered_also_where_a_rule_blocks_its_call(wire: str) -> None:
    exchange = blocking(wire)
    exchange.feed(framed(wire, IN_STREAM[wire][0]) * 2)
    exchange.close()
    assert [note.rule for _, note in exchange.notes].count("call_in_error") == 1
    assert len(exchange.verdicts) == 1


def _malformed(text: str, **beside: Any) -> Any:
    said = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": f"Malformed function call: {text}"}
    return {"candidates": [{"index": 0, **beside, **said}], "usageMetadata": {"promptTokenCount": 10}}


PYTHON = "print(default_api.edit(path='a.ts'))"


@pytest.mark.parametrize("form", ["whole", "streamed", "array", "envelope"])
@pytest.mark.parametrize("content", [{}, {"content": {"role": "model", "parts": [{"text": "I look."}]}}])
def test_a_call_that_gemini_refused(content: dict[str, Any], form: str) -> None:
    reply = _malformed(PYTHON, **content)
    reply = {"response": reply} if form == "envelope" else reply
    body = json.dumps(reply).encode()
    as_form: Form = {"whole": "whole", "array": "json_array"}.get(form, "sse")  # type: ignore[assignment]
    sent = {"whole": body, "array": b"[" + body + b"]"}.get(form) or b"data: " + body + b"\n\n"
    out, exchange = through("gemini", sent, MENDS, form=as_form)
    assert heard(exchange) == [("edit", ARGUMENTS)]
    assert b"MALFORMED" not in out
    assert b'"promptTokenCount"' in out
    assert [note.rule for _, note in exchange.notes] == ["malformed_function_call"]
    assert through("gemini", sent, Route(), form=as_form)[0] == sent


@pytest.mark.parametrize(
    "reply",
    [
        _malformed("print(default_api.view(path='a.ts'))"),
        _malformed(PYTHON[:-5]),
        _malformed(PYTHON, content={"parts": [{"functionCall": {"name": "now", "args": {}}}]}),
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
        {"candidates": [{"finishReason": "STOP", "finishMessage": f"Malformed function call: {PYTHON}"}]},
        {"candidates": [_malformed(PYTHON)["candidates"][0], {"index": 1, "finishReason": "STOP"}]},
    ],
)
def test_what_gemini_refused_and_nobody_can_read(reply: Any) -> None:
    body = b"data: " + json.dumps(reply).encode() + b"\n\n"
    assert through("gemini", body, MENDS)[0] == body


ORDINARY: Sequence[Callable[[str], bytes]] = (
    lambda wire: streamed(wire, [CALL], "I look."),
    lambda wire: streamed(wire, (), "Hello."),
    lambda wire: streamed(wire, (), f"It said `Failed to parse input at pos 1: {RAW}`."),
    lambda wire: begun(wire) + framed(wire, {"type": "error", "error": {"message": "Overloaded", "code": 529}}),
    lambda wire: framed(wire, {"type": "error", "error": {"message": "rate limit reached", "type": "tokens"}}),
    lambda wire: framed(wire, {"type": "error", "error": {"message": "Failed to parse input at pos 1: Hello."}}),
)


@pytest.mark.parametrize("number", range(len(ORDINARY)))
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_sound_or_another_error_leaves_byte_for_byte(wire: str, number: int) -> None:
    body = ORDINARY[number](wire)
    assert through(wire, body, MENDS)[0] == body


@pytest.mark.parametrize("wire", WIRES)
def test_a_sound_whole_reply_leaves_byte_for_byte(wire: str) -> None:
    for calls, text in (([CALL], "I look."), ([], "Hello.")):
        body = json.dumps(whole(wire, calls, text)).encode()
        assert through(wire, body, MENDS, form="whole")[0] == body
