"""What a reply without a call may have lost (`replies/possible_losses.py`): it is said, and not a byte is changed."""

import json
from typing import Any

import pytest

from support.damaged import tool
from support.exchanges import of_request
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import all_wires

TOOLS = (tool("Bash", command="string"), tool("read_file", path="string", limit="integer"), tool("now"))
CALL = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
FORM = "<<<CALL read_file>>>\n<<<ARG path>>>src/a.ts<<<END ARG>>>"
WHERE = "unknown_form: read_file, in line {}, column {}, is written as read_file>>> … path>>>"
WORDS = "announced: the text ends with words that announce a call, and none follows"
PROSE = "Some more words about it.\n"


def replied(text: str, *, finish: str = "stop", size: int | None = None, **how: Any) -> Exchange:
    """The exchange after a reply with this text: whole, or a stream in pieces of this size."""
    request = Request(tools=how.get("tools", TOOLS), quotable=how.get("quotable", ()), **how.get("request", {}))
    wire = all_wires()["openai_chat"]
    exchange = of_request(wire, request, how.get("route", Route()), form="whole" if size is None else "sse", seed=b"s")
    if size is None:
        message = {"role": "assistant", "content": text, **how.get("message", {})}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        body = [json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()]
    else:
        deltas = [({"content": text[at : at + size]}, None) for at in range(0, len(text), size)]
        body = [
            b"data: %b\n\n"
            % json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()
            for delta, reason in [*deltas, ({}, finish)]
        ] + [b"data: [DONE]\n\n"]
    out = b"".join(map(exchange.feed, body)) + exchange.close()
    assert exchange.failure is None
    if not exchange.client_calls:
        assert out == b"".join(body)
    return exchange


def said(exchange: Exchange) -> list[str]:
    """Its notes on possible losses, and the tools of calls that were likely meant."""
    notes = [f"{note.rule}: {note.text}" for _, note in exchange.notes if note.rule in {"unknown_form", "announced"}]
    return notes + [f"meant {one.name} ({one.reason})" for _, one in exchange.verdicts if one.likely_meant]


ROWS = [
    (FORM, [WHERE.format(1, 9)]),
    (f"I look.\n\n {FORM}", [WHERE.format(3, 10)]),
    (FORM + "\n" + PROSE * 10_000, [WHERE.format(1, 9)]),
    (PROSE * 10_000 + FORM, [WHERE.format(10_001, 9)]),
    (PROSE * 2000 + FORM + PROSE * 2000, []),  # in the middle of a document
    (f"<think>\nI could write {FORM}\n</think>\nAll is well.", []),
    (f"<think>\nI look.\n</think>\n{FORM}", [WHERE.format(4, 9)]),
    (f"{CALL}\n{FORM}", []),  # there is a call
    # Quoted, and the reply ends with it.
    (f"I look.\n\n```xml\n{CALL}\n```\n", ["meant Bash (fenced)"]),
    (f"```\n{CALL}\n{CALL}\n```", ["meant Bash (fenced)", "meant Bash (fenced)"]),
    (f"```xml\n{CALL}\n```\nThis is how it is done.", []),
    (f"```xml\n{CALL}\n```\n```xml\nI say no more.\n```", []),
    ("> " + CALL.replace("\n", "\n> "), ["meant None (block_quote)"]),
    (f"<think>\nI look.\n{CALL}\n", ["meant Bash (reasoning)"]),
    (f"<think>\n{CALL}\n</think>\n", ["meant Bash (reasoning)"]),
    (f"<think>\n{CALL}\n</think>\nAll is well.", []),
    ('```xml\n<invoke name="Bash">\n<parameter name="command">ls\n```', []),  # it is not whole
    # Announced.
    ("All is clean.\n\nLet me run the tests:", [WORDS]),
    ("Now I'll look at src/app.py:\n", [WORDS]),
    ("Okay. Let me check the log...", [WORDS]),
    ("Let me know if you need more.", []),
    ("I'll wait for your answer.", []),
    ("Here is the list:\n\n- one\n- two", []),
    ("Let me explain: it is done.", []),
]


@pytest.mark.parametrize(("text", "wanted"), ROWS, ids=range(len(ROWS)))
def test_what_may_be_lost_is_said(text: str, wanted: list[str]) -> None:
    whole = replied(text)
    assert said(whole) == wanted
    for size in (1 if len(text) < 1000 else 997, 7 if len(text) < 1000 else 5000, len(text)):
        stream = replied(text, size=size)
        assert said(stream) == wanted
        assert [one for _, one in stream.verdicts] == [one for _, one in whole.verdicts]


def test_a_reply_with_a_native_call_has_lost_nothing() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    for text in (FORM, f"```\n{CALL}\n```", "Let me look:"):
        assert said(replied(text, finish="tool_calls", message={"tool_calls": [call]})) == []


def test_a_reply_that_was_cut_short_announces_nothing() -> None:
    assert said(replied("Let me run the tests:", finish="length")) == []
    assert said(replied(FORM, finish="length")) == [WHERE.format(1, 9)]


def test_what_repeats_the_request_is_no_call() -> None:
    assert said(replied(FORM, quotable=(f"The file says:\n{FORM}\nand ends.",))) == []


def test_without_tools_there_is_nothing_to_lose() -> None:
    assert said(replied(FORM, tools=())) == []


def test_a_structured_answer_is_an_answer() -> None:
    text = '{"read_file": {"path": "a"}, "more": 1}'
    assert said(replied(text)) != []
    assert said(replied(text, request={"response_format": True})) == []


def test_a_text_client_reads_its_own_form() -> None:
    assert said(replied(FORM, route=Route(client="text", upstream="text"))) == []
