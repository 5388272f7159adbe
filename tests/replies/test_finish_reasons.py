"""When the frame of a finish reason leaves: at once, whether or not the server ever closes the connection.

Strategy: replies of every wire, kind and dialect are sent without what ends the stream (`[DONE]`, the end of the body).
By then everything must have left, the reason included. Then the exceptions: a call of whose arguments more must come,
and servers that give a reason in every frame (`wires/test_endings.py`). Last, what follows a reason is still read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from support.chatclient import HEAD, USAGE, chunk, event, outer, received
from support.exchanges import words
from support.processorcases import CASES, KINDS, body_of, history_of, route_of
from support.processorcases import exchange_for as processed
from support.spoken import SPOKEN, exchange
from support.wirecases import SENT, Sent
from toolcalls.dialects import all_dialects
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Tool
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

DONE = b"data: [DONE]\n\n"
BASH = Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
NOOP = '<invoke name="Noop"></invoke>'
LS = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
TOOLS = (BASH, Tool("Noop", {}))
EACH = [pytest.param(sent, case, id=f"{name}: {case['title']}") for name, sent in SENT.items() for case in sent.cases]


def unended(body: bytes) -> bytes:
    """A body without the mark that ends it, which has a name on one API."""
    return body.removesuffix(DONE).removesuffix(b"event: done\n")


def fed(one: Exchange, body: bytes, size: int = 0) -> bytes:
    """What has left when all of a body has come, and no end."""
    size = size or len(body)
    out = b"".join([one.feed(body[at : at + size]) for at in range(0, len(body), size)])
    assert one.failure is None, repr(one.failure)
    return out


def chat(*deltas: tuple[Mapping[str, Any], str | None]) -> bytes:
    """Chunks, each a delta and its finish reason."""
    return b"".join(event(chunk(delta, reason)) for delta, reason in ((HEAD, None), *deltas))


def texts(*pieces: str, reason: str = "stop") -> bytes:
    """Chunks of text, and one with the finish reason."""
    return chat(*(({"content": piece}, None) for piece in pieces), ({}, reason))


def deltas(body: bytes) -> Sequence[Any]:
    """The deltas that a body has, each with its finish reason."""
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return [(choice["delta"], choice["finish_reason"]) for one in chunks for choice in one["choices"]]


def lifting(**more: Any) -> Exchange:
    return exchange(SPOKEN["openai_chat"], TOOLS, Route(client="native", upstream="text", **more))


# --- everything leaves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(("sent", "case"), EACH)
def test_the_cases_of_all_wires_leave_before_their_end(sent: Sent, case: dict[str, Any], size: int) -> None:
    body = unended(sent.body(case))
    ended, one = sent.exchange(case), sent.exchange(case)
    whole = fed(ended, sent.body(case)) + ended.close()
    out = fed(one, body, size)
    assert sent.seen(out + one.close()) == sent.seen(unended(whole))
    inside = "truncated unclosed Bash (invoke)" in case.get("verdicts", ())
    if inside and not one.wire.sequential_lanes:  # in an argument, and only the end shows that no more of it comes
        assert len(out) < len(unended(whole))
    else:
        assert sent.seen(out) == sent.seen(unended(whole))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_replies_behind_processors_leave_before_their_end(case: dict[str, Any], kind: Kind) -> None:
    def made() -> Exchange:
        return processed(route_of(case["rules"]), kind, history=history_of(case))

    body = body_of(case["says"], kind, "sse")
    whole, one = made(), made()
    assert fed(one, unended(body)) == unended(fed(whole, body) + whole.close())


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize(
    "text",
    ["Hello <inv", '{"name": "Bash", "arguments": {"command": "ls"}}', f"{LS}\n\n", LS.removesuffix("</invoke>"), "`"],
)
@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
def test_held_text_is_decided_by_the_reason(spoken: Any, text: str, policy: Any) -> None:
    body = spoken.said([text[at : at + 5] for at in range(0, len(text), 5)])
    route = Route(client="native", upstream="text", policy=policy)
    one, whole = exchange(spoken, TOOLS, route), exchange(spoken, TOOLS, route)
    assert fed(one, unended(body)) == unended(fed(whole, body) + whole.close())
    one.close()
    assert one.verdicts == whole.verdicts


@pytest.mark.parametrize("dialect", sorted(all_dialects()))
def test_a_call_without_its_last_characters_leaves_before_the_end(dialect: str) -> None:
    """Outer closers are often missing: servers take them for the end of the reply. A finish reason is enough."""
    text = write(dialect, [Call("Bash", '{"command":"ls -la"}')], Toolbox(TOOLS))
    for size in (size for size in range(1, 24) if not text[-size].isalnum()):
        one = exchange(SPOKEN["openai_chat"], TOOLS, Route(client="native", upstream="text", dialects=(dialect,)))
        out = fed(one, texts(*text[:-size]))
        one.close()
        if words(one) == [f"lifted Bash ({dialect})"] and one.client_calls[0][1].arguments != "{}":
            assert received(out, ends=False).choices[0].finish == "tool_calls", f"without {text[-size:]!r}"


@pytest.mark.parametrize("arguments", ["", "{", '{"command": 1', '"x"', "[]", "{}"])
@pytest.mark.parametrize("kind", ["observe", "process", "lift"])
def test_native_calls_of_any_kind_leave_before_the_end(arguments: str, kind: Kind) -> None:
    """Also those that nobody can read, since nothing of them is changed."""
    entry = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    body = chat(({"tool_calls": [entry]}, None), ({}, "tool_calls"))
    one = processed(Route(), kind)
    assert fed(one, body, 1) == body
    one.close()
    assert len(one.verdicts) == 1


@pytest.mark.parametrize("arguments", ["", '{"command": "ls"}', '"{}"'])
def test_native_calls_are_written_as_text_by_the_reason(arguments: str) -> None:
    entry = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    for body in (
        chat(({"tool_calls": [entry]}, None), ({}, "tool_calls")),
        chat(({"tool_calls": [entry]}, "tool_calls")),  # a reply in one chunk
    ):
        one, whole = processed(Route(), "lower"), processed(Route(), "lower")
        assert fed(one, body) == unended(fed(whole, body + DONE) + whole.close())


def test_a_reply_in_one_frame_leaves_at_once() -> None:
    one = lifting()
    out = fed(one, event(chunk({**HEAD, "content": f"I look.\n{LS}"}, "stop")))
    got = received(out, ends=False).choices[0]
    assert (got.text, got.finish, len(got.calls)) == ("I look.\n", "tool_calls", 1)


def test_what_met_the_limit_leaves_at_once() -> None:
    out = fed(lifting(), texts("Go.\n", '<invoke name="Bash"><parameter name="command">rm -rf /tm', reason="length"))
    got = received(out, ends=False).choices[0]
    assert (got.text, got.finish) == ("Go.\n", "length")


def test_usage_leaves_behind_the_reason() -> None:
    usage = event(outer([], usage=USAGE))
    one = lifting()
    assert fed(one, texts(LS)).endswith(event(chunk({}, "tool_calls")))
    assert one.feed(usage) == usage


# --- what waits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", [" -la</parameter></invoke>", " -la</parameter></invoke>\n", ""])
def test_a_reason_inside_an_argument_waits_for_what_follows(rest: str) -> None:
    begun = LS.removesuffix("</parameter></invoke>")
    one = lifting()
    out = fed(one, texts(begun))
    assert b'"finish_reason":"' not in out
    more = texts(rest).removeprefix(event(chunk(HEAD))) if rest else b""
    got = deltas(out + fed(one, more + DONE) + one.close())
    written = "".join(delta["tool_calls"][0]["function"]["arguments"] for delta, _ in got if "tool_calls" in delta)
    assert written == ('{"command":"ls -la"}' if rest else '{"command":"ls')
    assert got[-1][1] == ("tool_calls" if rest else "length")


# --- what follows -----------------------------------------------------------------------------------------------------


def test_a_line_end_and_a_second_reason_change_nothing() -> None:
    one = lifting()
    body = texts(LS) + event(chunk({"content": "\n"})) + event(chunk({}, "stop")) + DONE
    assert deltas(fed(one, body))[-2:] == [({}, "tool_calls"), ({}, "tool_calls")]
    one.close()
    assert words(one) == ["lifted Bash (invoke)"]


def test_a_second_call_behind_a_reason_is_lifted() -> None:
    one = lifting()
    out = fed(one, texts(LS)) + fed(one, event(chunk({"content": f"\n{NOOP}"})) + event(chunk({}, "stop")))
    assert [reason for _, reason in deltas(out) if reason] == ["tool_calls", "tool_calls"]
    assert one.close() == b""
    assert words(one) == ["lifted Bash (invoke)", "lifted Noop (invoke)"]


def test_a_native_call_that_repeats_one_in_text_is_withheld_behind_a_reason_too() -> None:
    one = lifting()
    entry = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
    late = event(chunk({"tool_calls": [entry]})) + event(chunk({}, "tool_calls"))
    out = fed(one, texts(LS))
    behind = fed(one, late)
    assert out.endswith(event(chunk({}, "tool_calls")))
    assert behind.endswith(event(chunk({}, "tool_calls")))
    assert b'"n0"' not in behind
    one.close()
    assert sorted(words(one)) == ["blocked repeated Bash", "lifted Bash (invoke)"]


def test_native_calls_behind_a_reason_have_their_verdicts() -> None:
    one = processed(Route(), "lower")
    entries = [
        {"index": place, "id": f"n{place}", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
        for place in range(2)
    ]
    frames = [event(chunk({"tool_calls": [entry]})) + event(chunk({}, "tool_calls")) for entry in entries]
    out = event(chunk(HEAD)) + b"".join(fed(one, frame) for frame in frames)
    text = "".join(delta.get("content") or "" for delta, _ in deltas(out))
    assert text.count('<invoke name="Bash">') == 2
    assert one.close() == b""
    assert words(one) == ["lowered Bash (invoke)"] * 2


def test_text_that_a_reason_decided_makes_no_call_that_no_rule_has_seen() -> None:
    """A client that reads on after a finish reason would put the two together."""
    rules = {"access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "rm"}}]}}
    text = '<invoke name="Bash"><parameter name="command">rm -rf /</parameter></invoke>'
    for at in range(1, len(text)):
        one = processed(route_of(rules), "roundtrip")
        out = fed(one, texts("Go.\n", text[:at]) + texts(text[at:]) + DONE) + one.close()
        shown = "".join(delta.get("content") or "" for delta, _ in deltas(out))
        assert "<invoke name=" not in shown or "rm -rf" not in shown, f"cut at {at}: {shown}"


def test_text_behind_a_reason_is_shown_where_nothing_was_held() -> None:
    rules = {"access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "rm"}}]}}
    one = processed(route_of(rules), "roundtrip")
    out = fed(one, texts("All is well.") + texts(" And more.")) + one.close()
    assert "".join(delta.get("content") or "" for delta, _ in deltas(out)) == "All is well. And more."
    assert not one.notes


def test_a_connection_that_breaks_behind_a_reason_leaves_the_verdicts() -> None:
    one = lifting()
    fed(one, texts(LS))
    assert one.abort() == b""
    assert words(one) == ["lifted Bash (invoke)"]
