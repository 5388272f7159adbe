"""What a reader makes of a text, for the laws; and what the exchanges of all wires must make of it, too."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from support.dialectcases import as_read
from support.exchanges import run, taken
from support.strategies import TOOLS
from toolcalls.events import CallPiece, CallStart, Event, Markup, ReplyDefect, Text, Verdict
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.writing.writer import calls_in


def call_policy_for(route: Route, quotable: tuple[str, ...] = (), *, likely: bool = False) -> CallPolicy:
    """`likely`: the text may begin inside reasoning."""
    request = Request(tools=TOOLS, quotable=quotable)
    return CallPolicy(route, request, open_calls=True, may_start_in_reasoning=likely)


def read(
    route: Route,
    pieces: Iterable[str],
    *,
    ends: bool = True,
    quotable: tuple[str, ...] = (),
    frames: bool = True,
    likely: bool = False,
) -> list[Event]:
    reader = Reader(replace(call_policy_for(route, quotable, likely=likely), remove_frames=frames))
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.finish(cut=not ends)]


def shown(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def shown_with_broken_calls(events: Sequence[Event]) -> str:
    """What is shown where a call that broke off is text, as it stood."""
    broken = [(one.start, one.end) for one in verdicts(events) if one.index is not None and one.status != "lifted"]
    out, at = "", 0
    for event in events:
        if isinstance(event, Text | Markup):
            inside = (any(start <= place < end for start, end in broken) for place in range(at, at + len(event.text)))
            out += "".join(one for one, kept in zip(event.text, inside, strict=True) if kept or isinstance(event, Text))
            at += len(event.text)
    return out


def verdicts(events: Iterable[Event]) -> list[Verdict]:
    return [event for event in events if isinstance(event, Verdict)]


def arguments(events: Iterable[Event]) -> dict[int, str]:
    """The argument text of every call that began, also of one that stayed open."""
    found = {event.index: "" for event in events if isinstance(event, CallStart)}
    for event in events:
        if isinstance(event, CallPiece):
            found[event.index] += event.json
    return found


def meaning(found: Sequence[Call]) -> list[tuple[str, str]]:
    """Names and arguments, with one spelling of each value."""
    return [(call.name, json.dumps(json.loads(call.arguments))) for call in found]


def read_back(text: str, dialect: str, written: Iterable[Call] = ()) -> list[Call]:
    """The calls that a text client reads in what it gets; it declares the tools of those that were `written`."""
    names = {call.name for call in written} - {tool.name for tool in TOOLS}
    tools = (*TOOLS, *map(Tool, sorted(names)))
    reader = Reader(CallPolicy(Route(policy="lenient", dialects=(dialect,)), Request(tools=tools), alone=True))
    return calls_in([*reader.feed(text), *reader.finish(cut=False)])


# --- what holds on every wire -----------------------------------------------------------------------------------------


def assert_as_read(
    events: list[Event],
    exchange: Exchange,
    text: str,
    names: Sequence[str],
    *,
    same: bool,
    calls_come_whole: bool = False,
) -> None:
    """A client got what the reader read: the text and the calls of these names; and no other bytes where nothing went.

    same               whether what left is what came
    calls_come_whole   the API has no place for half a call: one that broke off is text
    """
    whole = calls_in(events)
    if calls_come_whole and (with_broken := shown_with_broken_calls(events)) != shown(events):
        assert text.split() == with_broken.split()  # blanks between two calls are shown beside one that broke off
    else:
        assert text == shown(events)
    assert list(names) == [name for name, _ in whole]
    assert [(record.name, record.arguments) for _, record in exchange.client_calls if record.complete] == whole
    assert [as_read(verdict) for _, verdict in exchange.verdicts] == [as_read(verdict) for verdict in verdicts(events)]
    assert same or any(isinstance(event, Markup) for event in events)


def assert_total(exchange: Exchange, pieces: Sequence[bytes], *, ends: bool = True) -> None:
    """Whatever comes, nothing raises, reasons are known ones, and what nothing was taken from or mended leaves as it
    came.
    """
    out = run(exchange, pieces, ends=ends)
    mended = any(note.rule in get_args(ReplyDefect) for _, note in exchange.notes)
    mended = mended or any(verdict.repairs for _, verdict in exchange.verdicts if verdict.dialect is None)
    if not mended and (not taken(exchange.verdicts) or exchange.decision.kind == "observe"):
        assert out == b"".join(pieces)
    for _, verdict in exchange.verdicts:
        assert verdict.reason is None or verdict.reason in REASONS
