"""What is noted of a whole reply: each finding, on each API, streamed and whole, at every cut. A sound one has none."""

import json
from dataclasses import replace
from typing import Any

import pytest

from support.damagedcalls import CALL, REQUEST, WIRES, streamed, whole
from support.exchanges import in_pieces, of_request
from support.sampling import some
from support.thinkingreplies import FORMS, THOUGHT, frames, thinking, thought
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

NAMING = ("openai_chat", "anthropic")  # their finish reasons have a word for calls
WORDS = {"openai_chat": "tool_calls", "anthropic": "tool_use", "ollama": "tool_calls"}
EMPTY_WORD = {"anthropic": "end_turn", "gemini": "STOP"}


def rules(
    wire: str, form: str, body: bytes, request: Request = REQUEST, route: Route | None = None, *, cut: bool = False
) -> list[str]:
    """The notes of a reply: those of all cuts, which are the same."""
    found: list[list[str]] = []
    for size in (0, *some([1, 2, 5, 64], 2, body)):
        as_form: Form = FORMS.get(wire, "sse") if form == "streamed" else "whole"
        exchange = of_request(all_wires()[wire], request, route or Route(mend=()), form=as_form)
        out = b"".join([exchange.feed(piece) for piece in in_pieces(body, size)])
        out += exchange.abort() if cut else exchange.close()
        assert exchange.failure is None, repr(exchange.failure)
        assert out == body or cut
        found.append([note.rule for _, note in exchange.notes])
    assert all(one == found[0] for one in found)
    return found[0]


def body_of(wire: str, form: str, *given: Any) -> bytes:
    return streamed(wire, *given) if form == "streamed" else json.dumps(whole(wire, *given)).encode()


BOTH = pytest.mark.parametrize("form", ["streamed", "whole"])


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_sound_reply_has_none(wire: str, form: str) -> None:
    for calls, text in (([CALL], ""), ([], "Hello."), ([CALL], "I look."), ([], "a <b> c </think")):
        assert rules(wire, form, body_of(wire, form, calls, text)) == []


@BOTH
@pytest.mark.parametrize(("wire", "word"), [(wire, word) for wire in NAMING for word in ("stop", "end_turn", "weird")])
def test_a_finish_that_denies_its_calls(wire: str, word: str, form: str) -> None:
    body = body_of(wire, form, [CALL], "", word)
    assert rules(wire, form, body) == ["finish_denies_calls"]
    assert rules(wire, form, body, route=Route(client="native", upstream="native", mend=())) == ["finish_denies_calls"]


@BOTH
def test_a_stop_answers_a_choice_of_one_tool(form: str) -> None:
    body = body_of("openai_chat", form, [CALL], "", "stop")
    assert rules("openai_chat", form, body, replace(REQUEST, tool_choice="edit")) == []
    assert rules("openai_chat", form, body, replace(REQUEST, tool_choice="required")) == ["finish_denies_calls"]


@BOTH
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic"])
def test_a_finish_of_a_cut_reply_denies_nothing(wire: str, form: str) -> None:
    word = {"openai_chat": "length", "anthropic": "max_tokens"}[wire]
    assert rules(wire, form, body_of(wire, form, [CALL], "", word)) == []


@BOTH
@pytest.mark.parametrize("wire", WORDS)
def test_a_finish_that_promises_calls(wire: str, form: str) -> None:
    assert rules(wire, form, body_of(wire, form, [], "I will look.", WORDS[wire])) == ["finish_promises_calls"]
    assert rules(wire, form, body_of(wire, form, [], "", WORDS[wire])) == ["finish_promises_calls", "empty"]


@pytest.mark.parametrize("wire", ["openai_responses"])
def test_a_whole_response_without_its_calls(wire: str) -> None:
    body = streamed(wire, [CALL]).replace(
        b'"object": "response", "status": "completed", "output": [', b'"output": [], "_": ['
    )
    assert b'"output": [], "_"' in body
    assert rules(wire, "streamed", body) == ["finish_denies_calls"]


@BOTH
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic", "gemini", "openai_responses", "ollama"])
def test_no_finish(wire: str, form: str) -> None:
    if (wire, form) in {("openai_responses", "whole"), ("ollama", "whole")}:
        return  # a whole one is its own end; a line that is not the last
    body = body_of(wire, form, [], "Hello.", None)
    assert rules(wire, form, body) == ["no_finish"]
    if form == "streamed":
        assert rules(wire, form, body, cut=True) == []


@BOTH
@pytest.mark.parametrize("text", ["", "\n\n"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_empty_reply_says_what_the_server_said(wire: str, form: str, text: str) -> None:
    body = body_of(wire, form, [], text)
    assert rules(wire, form, body) == ["empty"]
    as_form: Form = FORMS.get(wire, "sse") if form == "streamed" else "whole"
    exchange = of_request(all_wires()[wire], REQUEST, Route(mend=()), form=as_form)
    exchange.feed(body)
    exchange.close()
    ((_, note),) = exchange.notes
    assert note.text == "finish stop, 7 output tokens, 0 characters of reasoning"
    assert note.warns


@BOTH
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_in_the_reasoning_of_an_empty_reply(wire: str, form: str) -> None:
    for route in (Route(mend=()), Route(client="native", upstream="native", mend=())):
        assert rules(wire, form, thought(wire, form, THOUGHT), route=route) == ["call_in_reasoning", "empty"]
    assert rules(wire, form, thought(wire, form, "I need to look.")) == ["empty"]
    assert rules(wire, form, thought(wire, form, THOUGHT), replace(REQUEST, tools=())) == ["empty"]
    assert rules(wire, form, thought(wire, form, THOUGHT.replace("edit", "view"))) == ["empty"]
    assert rules(wire, form, thought(wire, form, f"```\n{THOUGHT}\n```")) == ["empty"]
    assert rules(wire, form, thought(wire, form, THOUGHT[:-30])) == ["empty"]


def test_a_call_in_reasoning_beside_text_is_a_draft() -> None:
    chunks = thinking("openai_chat", THOUGHT)["streamed"]
    chunks[1]["choices"][0]["delta"]["content"] = "Hello."
    assert rules("openai_chat", "streamed", frames("openai_chat", chunks)) == []


@pytest.mark.parametrize("wire", WIRES)
def test_marks_that_are_removed_without_a_call(wire: str) -> None:
    for text, said in (
        ("<|START_RESPONSE|>Hello.<|END_RESPONSE|>", ["marks_removed"]),
        ("It is <|START_RESPONSE|>.", []),
    ):
        exchange = of_request(all_wires()[wire], REQUEST, Route(mend=()), form="whole")
        out = exchange.feed(body_of(wire, "whole", [], text)) + exchange.close()
        assert [note.rule for _, note in exchange.notes] == said
        assert (b"START_RESPONSE" in out) == (not said)


@BOTH
@pytest.mark.parametrize("tag", ["think", "thinking", "thought"])
@pytest.mark.parametrize("wire", WIRES)
def test_reasoning_in_the_text(wire: str, form: str, tag: str) -> None:
    body = body_of(wire, form, [], f"\n<{tag}>\nI look.\n</{tag}>\n\nHello.")
    assert rules(wire, form, body) == ["reasoning_in_text"]
    assert rules(wire, form, body_of(wire, form, [], f"The tag <{tag}> begins it.")) == []
    assert rules(wire, form, body_of(wire, form, [], "I look.\n</think>\n\nHello.")) == ["reasoning_in_text"]


@BOTH
@pytest.mark.parametrize("parts", [0, 1])
def test_a_malformed_call_of_gemini(form: str, parts: int) -> None:
    said = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(x)"}
    content = {"content": {"role": "model", "parts": [{"text": "I look."}]}} if parts else {}
    reply = {"candidates": [{"index": 0, **content, **said}], "usageMetadata": {"promptTokenCount": 10}}
    body = frames("gemini", [reply]) if form == "streamed" else json.dumps(reply).encode()
    expected = ["malformed_function_call"] if parts else ["malformed_function_call", "empty"]
    assert rules("gemini", form, body) == expected


RAW = "<tool_call><function=edit><parameter=path>a.ts</parameter></function></tool_call>"
ERRORS: dict[str, Any] = {
    "llama-server": {
        "error": {"code": 500, "message": f"Failed to parse input at pos 12: {RAW}", "type": "server_error"}
    },
    "Groq": {
        "error": {
            "message": "Failed to call a function. Please adjust your prompt.", "type": "invalid_request_error",
            "code": "tool_use_failed", "failed_generation": RAW,
        }
    },
    "Ollama": {"error": f"error parsing tool call: raw='{RAW}', err=invalid character '<' looking for a value"},
    "Ollama, OpenAI's API": {
        "error": {"message": f"error parsing tool call: raw='{RAW}', err=unexpected end", "type": "api_error"}
    },
    "OpenRouter around Groq": {
        "error": {
            "code": 400, "message": "Provider returned error",
            "metadata": {"raw": json.dumps({"error": {"code": "tool_use_failed", "failed_generation": RAW}})},
        }
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_a_call_in_an_error(name: str) -> None:
    for wire in WIRES:
        assert rules(wire, "whole", json.dumps(ERRORS[name]).encode()) == ["call_in_error"]
    line = frames("ollama", [ERRORS[name]])
    assert rules("ollama", "streamed", line) == ["call_in_error"]
    events = b"data: " + json.dumps(ERRORS[name]).encode() + b"\n\n"
    assert rules("openai_chat", "streamed", events) == ["call_in_error"]
    failed = {"type": "error", "error": {"type": "api_error", "message": json.dumps(ERRORS[name])}}
    assert "call_in_error" in rules("anthropic", "streamed", frames("anthropic", [failed]))
    ended = {"type": "response.failed", "response": {"id": "r", "status": "failed", "output": [], **ERRORS[name]}}
    assert "call_in_error" in rules("openai_responses", "streamed", frames("openai_responses", [ended]))
    begun = streamed("openai_chat", [], "I look.", None).partition(b"data: [DONE]")[0]
    assert rules("openai_chat", "streamed", begun + events) == ["call_in_error"]


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "Rate limit reached", "code": 429}},
        {"error": "model not found"},
        {"error": {"message": "Failed to parse input", "code": 400}},
        {"error": {"message": "no", "failed_generation": ""}},
        {"detail": [{"msg": "field required"}]},
    ],
)
def test_another_error_quotes_none(error: Any) -> None:
    assert "call_in_error" not in rules("openai_chat", "whole", json.dumps(error).encode())


@BOTH
@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic", "gemini"])
def test_a_refusal_is_no_empty_reply(wire: str, form: str) -> None:
    if wire == "openai_chat":
        said = {"role": "assistant", "content": None, "refusal": "No."}
        key = "delta" if form == "streamed" else "message"
        made: list[Any] = [{"choices": [{"index": 0, key: said, "finish_reason": "stop"}]}]
    elif wire == "openai_responses":
        item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
        response = {"id": "r", "status": "completed", "output": [item]}
        made = [response]
        if form == "streamed":
            done = {"type": "response.output_item.done", "output_index": 0, "item": item}
            made = [done, {"type": "response.completed", "response": response}]
    elif wire == "anthropic":
        made = [whole(wire, [], "", "refusal")]
        if form == "streamed":
            assert rules(wire, form, streamed(wire, [], "", "refusal")) == []
            return
    else:
        made = [{"promptFeedback": {"blockReason": "SAFETY"}}]
    body = frames(wire, made) if form == "streamed" else json.dumps(made[0]).encode()
    assert rules(wire, form, body) == []


def test_what_the_server_runs_itself_is_no_empty_reply() -> None:
    image = {"candidates": [{"content": {"parts": [{"inlineData": {"data": "AA=="}}]}, "finishReason": "STOP"}]}
    assert rules("gemini", "whole", json.dumps(image).encode()) == []
    search = {"id": "r", "status": "completed", "output": [{"type": "web_search_call", "id": "w"}]}
    assert rules("openai_responses", "whole", json.dumps(search).encode()) == []
    used = {**whole("anthropic"), "content": [{"type": "server_tool_use", "id": "s", "name": "x", "input": {}}]}
    assert rules("anthropic", "whole", json.dumps(used).encode()) == []
    loaded = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"}
    assert rules("ollama", "whole", json.dumps(loaded).encode()) == []


def test_each_choice_is_a_message() -> None:
    choices = [
        {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"},
        {"index": 1, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"},
    ]
    exchange = of_request(all_wires()["openai_chat"], REQUEST, Route(mend=()), form="whole")
    exchange.feed(json.dumps({"choices": choices}).encode())
    exchange.close()
    assert [(lane, note.rule) for lane, note in exchange.notes] == [(1, "empty")]
