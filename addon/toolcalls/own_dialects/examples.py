"""Whether a form reads its examples as they say: whole, character by character, and written.

A form that reads something else, or begins a call with what it must not, is not used at all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.dialects import OwnName
from toolcalls.events import Text, Verdict
from toolcalls.own_dialects.trial import read, tools_of
from toolcalls.request import Tool
from toolcalls.shapes import Call
from toolcalls.writing.writer import calls_in


@dataclass(frozen=True)
class Example:
    """A text, and what must come of it.

    calls   in order: the names with their arguments; () where none may be read
    shown   the text that is left, white space at its edges aside; None where nobody said
    line    where it is in its file
    """

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    shown: str | None
    line: int


def tools_for(examples: Sequence[Example]) -> tuple[Tool, ...]:
    """The tools that examples call, with types by the looks of their values."""
    return tools_of([Call(name, json.dumps(values)) for one in examples for name, values in one.calls])


def contradicts(name: OwnName, example: Example, tools: tuple[Tool, ...]) -> str | None:
    """What comes of an example instead of what it says; None where it comes as it says."""
    try:
        whole = _outcome(name, [example.text], tools)
        pieces = _outcome(name, list(example.text), tools)
    except Exception as error:  # noqa: BLE001 - data that an engine cannot work with may end in any error
        return f"the engine cannot read it: {error!r}"
    calls, shown, why = whole
    expected = [(name, _canonical(values)) for name, values in example.calls]
    if [(name, _canonical(json.loads(arguments))) for name, arguments in calls] != expected:
        return f"expected {_said(example.calls)}; it reads {_read(calls)}{why}"
    if example.shown is not None and shown.strip() != example.shown.strip():
        return f"expected the text {_short(example.shown)} beside the calls; it shows {_short(shown)}"
    if pieces[:2] != whole[:2]:
        return "it is read otherwise where it comes character by character; expected the same"
    return None


def _outcome(name: OwnName, pieces: Sequence[str], tools: tuple[Tool, ...]) -> tuple[list[Call], str, str]:
    """The calls, the text that is left, and why the first candidate is no call."""
    events = read(pieces, tools, name)
    shown = "".join(event.text for event in events if isinstance(event, Text))
    reasons = [event for event in events if isinstance(event, Verdict) and event.status != "lifted"]
    why = f" ({reasons[0].status}: {reasons[0].reason})" if reasons else ""
    return calls_in(events), shown, why


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True)


def _said(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    return _read([Call(name, json.dumps(values, ensure_ascii=False)) for name, values in calls])


def _read(calls: Sequence[Call]) -> str:
    return _short(", ".join(f"{name} {arguments}" for name, arguments in calls), quoted=False) or "no call"


def _short(text: str, *, quoted: bool = True) -> str:
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return json.dumps(shown, ensure_ascii=False) if quoted else shown
