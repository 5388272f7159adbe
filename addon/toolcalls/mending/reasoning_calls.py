"""Whether reasoning holds a whole call: what the model meant where its reply says nothing else."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Quotation, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.text.markdown import Position
from toolcalls.values.toolbox import Toolbox

_QUOTATIONS = frozenset(get_args(Quotation))
_NOTHING = re.compile(r"(?:\s|</(?:think|thinking|thought|reasoning)>|<\|im_end\|>)*")


def calls_in(text: str, call_policy: CallPolicy, tools: Toolbox) -> list[str]:
    """The tools that a text calls if it is read like a reply's: whole calls of declared tools that nothing quotes."""
    lifted = (event for event in _read(text, call_policy, tools) if _is_lifted(event))
    return [verdict.name for verdict in lifted if isinstance(verdict, Verdict) and verdict.name is not None]


def events_of_calls(text: str, call_policy: CallPolicy, tools: Toolbox) -> list[Event]:
    """The calls that reasoning ends with, and their verdicts; [] where it is not certain that the model meant them.

    It is where whole calls of declared tools are at the very end, each where a reply's call may stand. With anything
    but calls after one it is a draft, and so it is with a call beside it that is none.
    """
    events = _read(text, call_policy, tools)
    begun = False
    for event in events:
        begun = begun or isinstance(event, CallStart)
        if begun and isinstance(event, Text) and _NOTHING.fullmatch(event.text) is None:
            return []
        if isinstance(event, Verdict) and not _is_lifted(event) and event.reason not in _QUOTATIONS:
            return []
    made: list[Event] = []
    for event in events:
        if isinstance(event, CallStart | CallPiece | CallEnd):
            made.append(event)
        elif isinstance(event, Verdict) and _is_lifted(event):
            repairs = (*event.repairs, "call_in_reasoning")
            made.append(msgspec.structs.replace(event, start=0, end=0, repairs=repairs))
    started = {event.index for event in made if isinstance(event, CallStart)}
    ended = {event.index for event in made if isinstance(event, CallEnd)}
    return made if started == ended else []


def _read(text: str, call_policy: CallPolicy, tools: Toolbox) -> Sequence[Event]:
    if not tools:
        return ()
    policy = replace(call_policy, lift=True)
    reader = Reader(policy, tools=tools, may_start_in_reasoning=False, place=Position())
    return [*reader.feed(text), *reader.finish(cut=False)]


def _is_lifted(event: Event) -> bool:
    return isinstance(event, Verdict) and event.status == "lifted"
