"""The laws over processors: what finds nothing changes nothing, what blocks lets nothing through.

Strategy: the replies of `strategies` (calls of all dialects, whole, broken and quoted, among text), cut anywhere,
through exchanges of every kind with processors that act, compared with the same exchange without any.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chatclient import HEAD, chunk, ending, event, native, received, stream
from support.exchanges import of_kind, run
from support.strategies import DIALECTS, TOOLS, cut, damaged, decodable, law, replies, routes
from toolcalls.processors import Keep, Processors
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.for_client import write_for_client
from toolcalls.writing.writer import calls_in

KINDS: tuple[Kind, ...] = ("lift", "lower", "roundtrip", "process")
NEVER = "\U0010ffff never said \U0010ffff"
IDLE: dict[str, Any] = {
    "access": Access((AccessRule("never", "allow", arguments=(Condition("*", matches=NEVER),)),)),
    "loops": Loops(action="replace", same_call=60, same_result=60, cycle=0, message=0),
    "reactors": (Reactor("none.py", "keep"),),
    "filters": (Filter("literal", literal=NEVER), Filter("pattern", pattern=f"[x{NEVER}]{{0}}{NEVER}", max_length=40)),
}
CLOSED: dict[str, Any] = {"access": Access((AccessRule("all", "block", message="No."),)), "filters": IDLE["filters"]}


def exchange_for(route: Route, kind: Kind, dialect: str, settings: dict[str, Any], form: Any = "sse") -> Exchange:
    processors = Processors(Route(**settings), run=lambda *_: Keep()) if settings else None
    wire = all_wires()["openai_chat"]
    return of_kind(wire, TOOLS, route, kind, form=form, dialect=dialect, processors=processors)


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS))
def test_what_finds_nothing_changes_nothing(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str
) -> None:
    text = decodable(text)
    body = stream(data.draw(cut(text)))
    plain, processed = (exchange_for(route, kind, dialect, settings) for settings in ({}, IDLE))
    expected, out = run(plain, [body]), run(processed, data.draw(cut(body)))
    left, right = received(expected).choices[0], received(out).choices[0]
    assert (right.text, right.calls, right.finish) == (left.text, left.calls, left.finish)
    assert processed.verdicts == plain.verdicts
    if kind == "process" or expected == body:  # else a piece may leave in more or fewer chunks than before
        assert out == expected


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS), st.booleans())
def test_what_blocks_lets_nothing_through(
    data: st.DataObject, text: str, route: Route, kind: Kind, dialect: str, ends: bool
) -> None:
    text = decodable(text)
    call = Call("Bash", '{"command": "ls"}')
    body = event(chunk({**HEAD, "content": text})) + native(call, 0, data.draw(cut(call.arguments)))
    body += ending("tool_calls") if ends else b""
    exchange, again = (exchange_for(route, kind, dialect, CLOSED) for _ in "12")
    out = run(exchange, [body], ends=ends)
    assert run(again, data.draw(cut(body)), ends=ends) == out
    assert again.verdicts == exchange.verdicts
    assert all(verdict.status in {"blocked", "declined", "malformed", "truncated"} for _, verdict in exchange.verdicts)
    assert exchange.client_calls == []
    assert received(out, ends=ends).choices[0].calls == []


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.booleans())
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, form: str, ends: bool) -> None:
    call = Call("Bash", '{"command": "ls"}')
    body = event(chunk({**HEAD, "content": text})) + native(call, 0, [call.arguments]) + ending("tool_calls")
    settings = data.draw(st.sampled_from([IDLE, CLOSED]))
    run(exchange_for(route, kind, "invoke", settings, form), data.draw(cut(data.draw(damaged(body)))), ends=ends)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["lift", "roundtrip", "process"])
def test_many_calls_at_once_are_linear(kind: Kind) -> None:
    """Native calls that all end with the reply, as in Chat Completions: each is looked at once."""
    body = [event(chunk(HEAD))]
    for index in range(400):
        body.append(native(Call("Bash", '{"command": "ls"}'), index, ['{"command": ', f'"{index}"}}']))
    exchange = exchange_for(Route(), kind, "invoke", IDLE)
    run(exchange, [*body, ending("tool_calls")])
    assert len(exchange.verdicts) == 400


@pytest.mark.parametrize(
    ("dialect", "bad", "room", "left"),
    [
        ("openhands_fn", (), 100, 0),
        ("openhands_fn", (7, 50), 100, 2),
        ("continue_codeblock", (), 100, 0),
        ("invoke", (), 1, 99),
        ("invoke", (0,), 1, 99),
        ("invoke", (), 4, 96),
    ],
)
def test_writing_as_many_calls_as_a_dialect_holds_is_linear(
    dialect: str, bad: tuple[int, ...], room: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but some, or as many as there is room for in a message; the rest stay native."""
    written: list[int] = []

    def counted(name: str, calls: Sequence[Call], tools: Toolbox) -> str:
        written.append(len(calls))
        if len(calls) > room:
            raise Unwritable(f"{room} calls a message")
        return write_for_client(name, calls, tools)

    monkeypatch.setattr("toolcalls.replies.stages.write.write_for_client", counted)
    body = [event(chunk(HEAD))]
    for index in range(100):
        key = '"><x' if index in bad else "command"  # no name that a parameter can have
        body.append(native(Call("Bash", json.dumps({key: str(index)})), index, [json.dumps({key: str(index)})]))
    exchange = exchange_for(Route(), "lower", dialect, {})
    out = run(exchange, [*body, ending("tool_calls")])
    assert len(received(out).choices[0].calls) == left
    assert [verdict.status for _, verdict in exchange.verdicts].count("lowered") == 100 - left
    assert sum(written) <= 5 * 100


# --- filters ----------------------------------------------------------------------------------------------------------

WORD = "qq"
TAKEN = {"filters": (Filter("word", literal=WORD),)}
CALL = '<function_calls>\n<invoke name="Bash">\n<parameter name="command">rm</parameter>\n</invoke>\n</function_calls>'


@law
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.integers(0, 2), st.booleans())
def test_a_replacement_makes_no_call(data: st.DataObject, kind: Kind, form: Any, times: int, fenced: bool) -> None:
    """A word that a filter takes away is somewhere in a call, so that it is none before."""
    text = CALL
    begins = CALL.index("name=") + 11
    for count in range(times + 1):
        at = data.draw(st.integers(0, begins + count * len(WORD)))
        text = text[:at] + WORD + text[at:]
    text = f"```\n{text}\n```" if fenced else f"So.\n\n{text}\n\nDone."
    exchange, plain = (exchange_for(Route(**settings), kind, "invoke", settings, form) for settings in (TAKEN, {}))
    body = stream(data.draw(cut(text))) if form == "sse" else whole(text)
    out = run(exchange, data.draw(cut(body)))

    def met(out: bytes) -> tuple[str, list[str]]:
        """The text that the client has, and the names of the calls that it makes."""
        if form == "sse":
            choice = received(out).choices[0]
            shown, names = choice.text, [call["name"] for call in choice.calls]
        else:
            message = json.loads(out)["choices"][0]["message"]
            shown, names = message["content"] or "", [one["function"]["name"] for one in message.get("tool_calls", ())]
        if kind in {"lower", "roundtrip"}:
            reader = Reader(CallPolicy(Route(dialects=("invoke",)), Request(tools=TOOLS)))
            names += [call.name for call in calls_in([*reader.feed(shown), *reader.finish(cut=False)])]
        return shown, names

    shown, names = met(out)
    meant = met(run(plain, [body]))[1]
    # Where a word went away before a call that the text held anyway, a text client is not given it: the safe side.
    assert names == meant or (kind in {"lower", "roundtrip"} and names == [])
    if not names and kind in {"lift", "process"}:
        assert WORD not in shown
    assert [verdict.status for _, verdict in exchange.verdicts] == [verdict.status for _, verdict in plain.verdicts]


def whole(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()


def test_what_a_text_client_would_take_for_a_call_is_not_shown_whole() -> None:
    exchange = exchange_for(Route(**TAKEN), "roundtrip", "invoke", TAKEN)
    body = stream([*("So.\n\n" + CALL.replace("invoke name", f"inv{WORD}oke name", 1) + "\n\nDone.")])
    choice = received(run(exchange, [body])).choices[0]
    assert choice.finish == "length"
    assert choice.text.startswith("So.\n\n<function_calls>\n<invoke name=")
    assert "rm" not in choice.text
    assert [note.rule for _, note in exchange.notes if note.warns] == ["filters"]


def test_a_match_does_not_reach_over_a_call() -> None:
    settings = {"filters": (Filter("word", literal="secret"),)}
    body = stream([f"A sec\n\n{CALL}\n\nret and a secret."])
    for kind, shown in (("lift", "A sec\n\n\n\nret and a ."), ("roundtrip", f"A sec\n\n{CALL}\n\nret and a .")):
        exchange = exchange_for(Route(**settings), kind, "invoke", settings)  # type: ignore[arg-type]
        choice = received(run(exchange, [body])).choices[0]
        assert choice.text.replace("\n\n\n\n", "\n\n") == shown.replace("\n\n\n\n", "\n\n")
        assert [verdict.name for _, verdict in exchange.verdicts] == ["Bash"]
