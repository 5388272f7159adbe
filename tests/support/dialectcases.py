"""Dialect cases read: by a reader in pieces, and by an exchange as bytes."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from support.casefiles import Case
from support.chatclient import received, stream
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Reasoning, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.reading.undeclared_calls import undeclared_calls
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Decision, call_policy_of, decide
from toolcalls.route import Route
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires

WIRE = all_wires()["openai_chat"]


class Outcome(NamedTuple):
    """What a reply came to. `calls` are the complete ones, with their argument JSON as text."""

    shown: str
    calls: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...]
    reasoning: str = ""


class Same:
    """A case as a key: one that is the same object, as cases hold what has no hash."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.case is self.case

    def __hash__(self) -> int:
        return id(self.case)


def asked(case: Case) -> Request:
    return request_of(WIRE, json.dumps(case.request).encode())


@cache
def planned(case: Same) -> tuple[Decision, CallPolicy, Toolbox]:
    """What is decided on a case's request. It is read hundreds of times, and none of this changes by that."""
    request = asked(case.case)
    decision = decide(case.case.route, request, {}, ())
    return decision, *call_policy_of(case.case.route, request, decision)


def reader_for(case: Case) -> Reader:
    _, call_policy, tools = planned(Same(case))
    return Reader(call_policy, tools=tools)


def read(case: Case, pieces: Iterable[str]) -> Outcome:
    """The case's text through the reader; everything that law 3 says is checked on the way.

    Where it finds nothing, calls of tools that nobody declared have their verdicts, as at the end of a reply.
    """
    reader = reader_for(case)
    events: list[Event] = []
    for piece in pieces:
        events.extend(reader.feed(piece))
    events.extend(reader.finish(cut=case.finish != "stop"))
    whole = "".join(event.text for event in events if isinstance(event, Text | Markup))
    assert whole == case.text, "text was lost, added or moved"
    verdicts = [event for event in events if isinstance(event, Verdict)]
    _, call_policy, tools = planned(Same(case))
    if tools.names and not call_policy.request.response_format and not any(one.dialect for one in verdicts):
        verdicts += undeclared_calls(case.text, 0, call_policy, tools)
    return Outcome(
        "".join(event.text for event in events if isinstance(event, Text)),
        tuple(complete_calls(events)),
        tuple(verdicts),
        "".join(event.text for event in events if isinstance(event, Reasoning)),
    )


def complete_calls(events: Sequence[Event]) -> Iterable[tuple[str, str]]:
    """The complete calls among events, in document order."""
    for start in (event for event in events if isinstance(event, CallStart)):
        if any(isinstance(event, CallEnd) and event.index == start.index for event in events):
            pieces = (event.json for event in events if isinstance(event, CallPiece) and event.index == start.index)
            yield start.name, "".join(pieces)


def read_back(dialect: str, text: str, request: Request, tools: Toolbox) -> list[tuple[str, str]]:
    """The calls of a text that a dialect has written."""
    route = Route(client="native", upstream="text", policy="lenient", dialects=(dialect,))
    call_policy, _ = call_policy_of(route, request, decide(Route(), request, {}, ()))
    reader = Reader(call_policy, tools=tools)
    return list(complete_calls([*reader.feed(text), *reader.finish(cut=False)]))


def chunks(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def exchanged(case: Case, pieces: Sequence[str], cuts: Callable[[bytes], Iterable[bytes]]) -> Outcome:
    """The case's text through the Chat wire, `pieces` as content deltas, the body cut as `cuts` says."""
    return outcome_of(case, stream(pieces, None if case.finish == "broken" else case.finish), cuts)


def outcome_of(case: Case, body: bytes, cuts: Callable[[bytes], Iterable[bytes]]) -> Outcome:
    decision, call_policy, tools = planned(Same(case))
    exchange = Exchange(WIRE, call_policy, decision, tools, form="sse")
    out = b"".join([exchange.feed(part) for part in cuts(body)])
    out += exchange.abort() if case.finish == "broken" else exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    verdicts = tuple(as_read(verdict) for _, verdict in exchange.verdicts)
    choice = received(out, ends=case.finish != "broken").choices[0]
    if case.shown == case.text:
        assert out == body, "nothing was lifted, yet the bytes changed"
    whole = [record for _, record in exchange.client_calls if record.complete]
    open_ = [record for _, record in exchange.client_calls if not record.complete]
    assert [(call["name"], call["arguments"]) for call in choice.calls] == [
        (record.name, record.arguments) for _, record in exchange.client_calls
    ]
    expected = "length" if open_ and case.finish == "stop" else "tool_calls" if whole else "stop"
    if case.finish != "broken":
        assert choice.finish == ("length" if case.finish == "length" else expected)
    calls = tuple((record.name, record.arguments) for record in whole)
    return Outcome(choice.text, calls, verdicts, choice.reasoning)


def comparable(outcome: Outcome) -> Outcome:
    """An outcome of the reader without what an exchange says in other words."""
    return outcome._replace(verdicts=tuple(map(as_read, outcome.verdicts)))


def as_read(verdict: Verdict) -> Verdict:
    """A verdict as the reader gives it. It knows neither what is wrong with a lifted call's arguments, how a reply ends
    (`likely_meant`), nor which arguments of a call that broke have left (`broke.after`).
    """
    broke = verdict.broke and msgspec.structs.replace(verdict.broke, after="")
    verdict = msgspec.structs.replace(verdict, likely_meant=False, broke=broke)
    if verdict.status != "lifted" or not verdict.defects:
        return verdict
    assert verdict.reason == verdict.defects[0].code
    return msgspec.structs.replace(verdict, reason=None, defects=())


def whole(body: bytes) -> Iterable[bytes]:
    yield body


def single(body: bytes) -> Iterable[bytes]:
    return (body[at : at + 1] for at in range(len(body)))
