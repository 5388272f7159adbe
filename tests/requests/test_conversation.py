"""A request is read once, by one reader of each API: what its texts say, its turns say, too."""

import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from support.histories import AS_TEXT, TELL
from support.library import flow_of, names
from toolcalls.request import Texts
from toolcalls.requests.conversation import Conversation, Other, PastCall, Result, Text, conversation_of, request_of
from toolcalls.text.echo import EchoIndex
from toolcalls.wires import all_wires, wire_of

CALL = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'


def chat(*messages: dict[str, Any], **more: Any) -> Conversation:
    return conversation_of("openai_chat", json.dumps({"messages": messages, **more}).encode())


def told(wire: str) -> bytes:
    calls: list[Any] = [("call_a1", "edit", {"path": "a", "n": 1.0}), ("call_b2", "now", {})]
    if wire in AS_TEXT:
        calls = [(id_, name, json.dumps(given)) for id_, name, given in calls]
    return json.dumps(TELL[wire](calls, [("call_a1", "edit", "done"), ("call_b2", "now", "12:00")])).encode()


def asked() -> Iterator[tuple[str, bytes]]:
    """The recorded requests, and a history of each API, with their wires."""
    for name in names():
        flow = flow_of(name)
        wire = wire_of(flow.request.path)
        if wire is not None and flow.request.method == "POST":
            yield wire.name, flow.request.get_content() or b"{}"
    for wire_name in TELL:
        yield wire_name, told(wire_name)


def said(conversation: Conversation, turns: tuple[Any, ...]) -> list[Any]:
    """What turns say but for ids and arguments, which only those with their JSON have."""
    found: list[Any] = []
    for turn in turns:
        row: list[Any] = [turn.role]
        for block in turn.blocks:
            match block:
                case Text():
                    row.append(block.text)
                case PastCall():
                    row.append((block.name,))
                case Result():
                    row.append(list(conversation.result_texts(block)))
                case Other():
                    row.append(sorted(conversation.fetched(block.raw)))
        found.append(row)
    return found


def test_texts_and_turns_are_read_alike() -> None:
    """By the same reader, of plain data and of raw JSON."""
    wires = set()
    for wire, body in asked():
        conversation = conversation_of(wire, body)
        assert said(conversation, conversation.said) == said(conversation, conversation.turns), (wire, body[:300])
        wires.add(wire)
    assert wires >= set(TELL)


@pytest.mark.parametrize("wire", TELL)
def test_arguments_are_as_they_are_written(wire: str) -> None:
    body = told(wire).replace(b'"n": 1.0', b'"n": 1.0e0').replace(b'\\"n\\": 1.0', b'\\"n\\": 1.0e0')
    conversation = conversation_of(wire, body)
    assert [call.arguments for call in conversation.calls] == ['{"path": "a", "n": 1.0e0}', "{}"]


@pytest.mark.parametrize("wire", TELL)
def test_nothing_holds_a_request_that_nobody_uses(wire: str) -> None:
    """Also without the garbage collector, since bodies are large."""
    conversation = conversation_of(wire, told(wire))
    request = conversation.request
    assert len(request.quotable)
    assert conversation.changed(tools=()).written()
    assert conversation.turns
    left = weakref.ref(conversation)
    gc.disable()
    try:
        del conversation, request
        assert left() is None
    finally:
        gc.enable()


def test_only_the_texts_that_are_asked_for_are_read() -> None:
    seen: list[int] = []

    def texts_of(number: int) -> list[str]:
        seen.append(number)
        return [f"{number}"] if number % 2 else []

    texts = Texts(range(8), texts_of)
    assert (texts[-2:], seen) == (("5", "7"), [7, 6, 5])
    seen.clear()
    assert (texts[0], seen) == ("1", [0, 1])
    seen.clear()
    assert texts
    assert seen == [0, 1]
    assert texts == ("1", "3", "5", "7")
    seen.clear()
    assert (texts[1], texts[-1], texts[1:3], texts[-9:], len(texts)) == ("3", "7", ("3", "5"), ("1", "3", "5", "7"), 4)
    assert not seen, "all are known"
    assert not Texts((), texts_of)


# --- what a reply may repeat ------------------------------------------------------------------------------------------


def _holds_call(wire: str, *messages: Any) -> bool:
    """Whether a reply to these messages that is `CALL` repeats them."""
    body = json.dumps({"messages": list(messages), "tools": []}).encode()
    return EchoIndex(request_of(all_wires()[wire], body).quotable).trace(CALL) is not None


@pytest.mark.parametrize("wire", ["anthropic", "openai_chat"])
def test_a_call_over_several_parts_or_messages_is_an_echo(wire: str) -> None:
    for at in range(1, len(CALL)):
        head, tail = (f"{'x' * 3000}\n{CALL[:at]}", f"{CALL[at:]}\n{'y' * 3000}")
        parts = [{"type": "text", "text": text} for text in (head, tail)]
        result = {"type": "tool_result", "tool_use_id": "c", "content": parts}
        given = result if wire == "anthropic" else None
        message = (
            {"role": "user", "content": [given]} if given else {"role": "tool", "tool_call_id": "c", "content": parts}
        )
        assert _holds_call(wire, {"role": "user", "content": parts}), at
        assert _holds_call(wire, message), at
        assert _holds_call(wire, {"role": "user", "content": head}, {"role": "user", "content": tail}), at
        assert not _holds_call(wire, {"role": "user", "content": head}, {"role": "user", "content": f"z{tail}"}), at


@pytest.mark.parametrize("role", ["system", "developer", "ipython", "observation", "tool_response"])
def test_words_of_other_roles_may_be_repeated_once_the_user_has_spoken(role: str) -> None:
    told, user = {"role": role, "content": f"Retrieved:\n{CALL}"}, {"role": "user", "content": "Go on."}
    assert _holds_call("openai_chat", user, told)
    assert _holds_call("openai_chat", told, user) is (role not in {"system", "developer"})


def test_the_documents_of_a_request_may_be_repeated() -> None:
    """Which vLLM takes beside the messages, as Cohere does; and a document of a message."""
    document = {"type": "document", "document": {"data": {"text": "among the parts"}}}
    block = {"type": "document", "source": {"type": "text", "data": "a block", "media_type": "text/plain"}}
    file = {"type": "document", "source": {"type": "base64", "data": "QQ==", "media_type": "application/pdf"}}
    said = {"role": "user", "content": ["Look.", document, block, file]}
    read = chat(said, documents=["beside", {"title": "T", "text": "them"}])
    assert tuple(read.request.quotable) == ("Look.", "among the parts", "a block", "beside", "T", "them")


def test_a_refusal_at_the_end_is_no_prefill() -> None:
    """The reply goes on after the last message, and that has no text."""
    given = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Look"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]
    read = conversation_of("openai_responses", json.dumps({"input": given}).encode())
    assert read.request.prefill == ()
    assert conversation_of("openai_responses", json.dumps({"input": given[:1]}).encode()).request.prefill == ("Look",)


# --- calls and what answers them --------------------------------------------------------------------------------------


def answered(wire: str, body: dict[str, Any]) -> list[str | None]:
    """For each result of a request the arguments of the call that it answers, None for none."""
    conversation = conversation_of(wire, json.dumps(body).encode())
    calls = {call.id: call.arguments for call in conversation.calls}
    results = [block for turn in conversation.turns for block in turn.blocks if isinstance(block, Result)]
    return [calls.get(result.id) for result in results]


def ollama(call_id: str | None, result_id: str | None, name: str | None) -> dict[str, Any]:
    calls = [{"function": {"name": "f", "arguments": {"n": number}}} for number in (1, 2)]
    if call_id is not None:
        calls[1] = {"id": call_id, **calls[1]}
    answer = {"role": "tool", "content": "x"}
    answer |= {"tool_call_id": result_id} if result_id else {}
    answer |= {"tool_name": name} if name else {}
    return {"messages": [{"role": "assistant", "content": "", "tool_calls": calls}, answer]}


@pytest.mark.parametrize(
    ("call_id", "result_id", "name", "found"),
    [
        (None, None, "f", '{"n": 1}'),
        (None, None, None, '{"n": 1}'),
        ("b", "b", "f", '{"n": 2}'),
        ("b", None, "f", '{"n": 1}'),
        ("b", "c", "f", '{"n": 1}'),
        (None, None, "g", None),
    ],
)
def test_a_result_finds_its_call(call_id: str | None, result_id: str | None, name: str | None, found: str) -> None:
    assert answered("ollama", ollama(call_id, result_id, name)) == [found]


def test_a_call_that_nobody_answered_has_no_later_answer() -> None:
    def turn(role: str, **part: Any) -> dict[str, Any]:
        return {"role": role, "parts": [part]}

    def call(number: int) -> dict[str, Any]:
        return turn("model", functionCall={"name": "f", "args": {"n": number}})

    answer = turn("user", functionResponse={"name": "f", "response": {"output": "x"}})
    stopped = [call(1), turn("user", text="Stop."), call(2), answer]
    assert answered("gemini", {"contents": stopped}) == ['{"n": 2}']
    in_pieces = [call(1), call(2), answer, answer]  # clients keep each chunk of a stream as a content of its own
    assert answered("gemini", {"contents": in_pieces}) == ['{"n": 1}', '{"n": 2}']


# --- what is done to the reply ----------------------------------------------------------------------------------------


def test_a_body_of_the_responses_api_has_turns_but_is_not_rewritten() -> None:
    """As Cursor sends them to Chat Completions."""
    read = conversation_of("openai_chat", json.dumps({"input": "Hi", "instructions": "Be brief."}).encode())
    assert [(turn.role, turn.texts) for turn in read.turns] == [("system", ["Be brief."]), ("user", ["Hi"])]
    with pytest.raises(ValueError, match="no list `messages`"):
        read.written()


def test_a_prompt_is_a_conversation_of_one_turn() -> None:
    read = conversation_of("openai_completions", b'{"prompt": ["a", 5, "b"], "model": "m"}')
    assert [(turn.role, turn.texts) for turn in read.turns] == [("user", ["a"]), ("user", ["b"])]
    assert not read.request.carries_calls
    with pytest.raises(ValueError, match="openai_completions are not rewritten"):
        read.written()
