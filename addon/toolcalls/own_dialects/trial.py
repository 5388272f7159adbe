"""Whether a dialect fits a pasted text: it reads all of its calls without a repair, and writes them as they stood."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from toolcalls.events import CallStart, Event, Markup, Text, Verdict
from toolcalls.own_dialects.guesses import TAG
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write


class Trial(NamedTuple):
    """What a dialect made of a text.

    block     the part of the text from the first call's beginning to the last call's end
    written   the same calls as the dialect writes them, "" where it refuses
    problems  why it does not fit; none where it does
    """

    calls: tuple[Call, ...]
    block: str
    written: str
    problems: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def fits(self) -> bool:
        return not self.problems

    @property
    def taken(self) -> int:
        """How much of the text became calls: of dialects that do not fit, the one with the most came nearest."""
        return sum(verdict.end - verdict.start for verdict in self.verdicts if verdict.status == "lifted")


def tools_of(calls: Sequence[Call]) -> tuple[Tool, ...]:
    """Tools that calls like these could belong to: each argument with the JSON type of its first value."""
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    properties: dict[str, dict[str, Any]] = {}
    for call in calls:
        for key, value in json.loads(call.arguments).items():
            kind = kinds.get(type(value))
            properties.setdefault(call.name, {}).setdefault(key, {"type": kind} if kind else {})
        properties.setdefault(call.name, {})
    return tuple(Tool(name, {"type": "object", "properties": about}) for name, about in properties.items())


def read(pieces: Sequence[str], tools: tuple[Tool, ...], dialect: str | None, *, cut: bool = False) -> list[Event]:
    """The events of a text that comes in pieces, as a dialect reads it, or all."""
    dialects = None if dialect is None else (dialect,)
    if tools:
        route = Route(client="native", upstream="text", dialects=dialects)
    else:  # nobody knows what is declared: any name counts
        route = Route(client="native", upstream="text", dialects=dialects, policy="lenient")
    reader = Reader(CallPolicy(route, Request(tools=tools)), tools=Toolbox(tools))
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=cut)]


def tried(text: str, tools: tuple[Tool, ...], name: str) -> Trial:
    """A text as the dialect of this name reads it."""
    events = read([text], tools, name)
    verdicts = tuple(event for event in events if isinstance(event, Verdict))
    calls = tuple(calls_in(events))
    block, shown = _block(events)
    problems = []
    if not calls:
        problems.append("it reads no call")
    for verdict in verdicts:
        if verdict.status != "lifted":
            problems.append(f"{verdict.name or 'a candidate'} is {verdict.status} ({verdict.reason})")
        elif verdict.repairs:
            problems.append(f"{verdict.name} needs repairs: {', '.join(verdict.repairs)}")
    for tag in beside(text, block):
        problems.append(f"{tag!r} beside the calls is shown as text")
    problems += [f"{value!r} is shown as text" for value in _values(calls) if len(value) > 3 and value in shown]
    written = ""
    try:
        written = write(name, calls, Toolbox(tools or tools_of(calls)))
    except Unwritable as refusal:
        problems.append(f"it cannot write the calls: {refusal}")
    if not problems and not _same(block, written):
        problems.append(f"it would write the calls as {written!r}")
    return Trial(calls, block, written, tuple(problems), verdicts)


def _block(events: Sequence[Event]) -> tuple[str, str]:
    """The markup with what is between it, and the text around it."""
    texts = [event for event in events if isinstance(event, Text | Markup)]
    places = [place for place, event in enumerate(texts) if isinstance(event, Markup)]
    if not places:
        return "", "".join(event.text for event in texts)
    first, last = places[0], places[-1] + 1
    shown = "".join(event.text for event in texts if isinstance(event, Text))
    return "".join(event.text for event in texts[first:last]).strip(), shown


def _same(block: str, written: str) -> bool:
    """Whether calls are written as they stood, white space aside; tags around all of them may be missing."""
    stood, new = ("".join(text.split()) for text in (block, written))
    return (
        bool(new)
        and re.fullmatch(rf"(?:{TAG})?", stood.partition(new)[0]) is not None
        and new in stood
        and (re.fullmatch(rf"(?:{TAG})?", stood.partition(new)[2]) is not None)
    )


def beside(text: str, block: str) -> Iterator[str]:
    """Tags directly in front of the calls or after them, which must belong to the dialect, too."""
    before, _, behind = text.partition(block) if block else ("", "", "")
    for found in (re.search(rf"{TAG}\s*\Z", before), re.match(rf"\s*{TAG}", behind)):
        if found:
            yield found[0].strip()


def _values(calls: Sequence[Call]) -> Iterator[str]:
    for call in calls:
        yield from (value for value in json.loads(call.arguments).values() if isinstance(value, str))


def starts(events: Sequence[Event]) -> int:
    """How many calls began."""
    return sum(isinstance(event, CallStart) for event in events)
