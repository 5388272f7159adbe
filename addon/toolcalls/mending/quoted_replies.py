"""What an error that quotes the model was going to be: a reply with the call that the server could not parse.

Only where there is one reading: of all that the body quotes, one text alone holds calls, each of them is complete, of a
declared tool, and is where a reply's call may stand; nothing in it begins like a call and is none. Where the model
was cut off nobody knows from an error, so nothing that lacks its end is a call (law 6).
"""

import re
from dataclasses import dataclass, replace
from typing import get_args

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Quotation, Text, Verdict
from toolcalls.mending.error_texts import TOOL_USE, generations_in
from toolcalls.mending.quoted_forms import as_written, calls_of_json
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.text.markdown import Position
from toolcalls.text.quoting_marks import REASONING_TAGS
from toolcalls.values.conversion import is_object
from toolcalls.values.toolbox import Toolbox

_QUOTATIONS = frozenset(get_args(Quotation))
# Repairs of a call of which nobody knows whether all of it came, and of one that did not get all that it holds.
_UNSURE = frozenset({"missing_closer", "missing_brace", "unclosed_value", "left_out"})
_THOUGHT = re.compile(rf"\s*(?:{'|'.join(map(re.escape, REASONING_TAGS))})(.*?)</\w+>\s*", re.DOTALL)
_BRACKETS = re.compile(r"[\s}\]]*")

type _Calls = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class QuotedReply:
    """What the model wrote. `calls`: name and argument JSON of each. `where`: the words or the field that quote it."""

    text: str
    reasoning: str
    calls: tuple[tuple[str, str], ...]
    where: str


def quoted_reply(body: bytes, call_policy: CallPolicy, tools: Toolbox) -> QuotedReply | None:
    """The reply that an error's body quotes; None where it quotes none, or where it can be read in several ways."""
    if not tools or not call_policy.request.carries_calls:
        return None
    call_policy = replace(call_policy, lift=True, first=())  # it is the model's text, and no text client has it
    found: dict[tuple[tuple[str, str], ...], QuotedReply] = {}
    for where, text in generations_in(body):
        reply = _reply(where, text, call_policy, tools)
        if reply is None:
            return None
        if reply.calls:
            found.setdefault(reply.calls, reply)
    return next(iter(found.values())) if len(found) == 1 else None


def _reply(where: str, text: str, call_policy: CallPolicy, tools: Toolbox) -> QuotedReply | None:
    """One text as a reply, without calls where it holds none; None where what it holds is no call for sure."""
    reasoning = ""
    if (thought := _THOUGHT.match(text)) is not None:
        reasoning, text = thought[1].strip(), text[thought.end() :]
    form = as_written(where, text, tools)
    if where == TOOL_USE or not call_policy.request.response_format:
        calls = calls_of_json(form)
        if calls is not None:
            named = tuple((tools.resolve(name), arguments) for name, arguments in calls)
            return QuotedReply("", reasoning, named, where) if _are_sound(named, call_policy, tools) else None
    read = _read(form, call_policy, tools)
    return None if read is None else QuotedReply(read[0].strip(), reasoning, read[1], where)


def _read(text: str, call_policy: CallPolicy, tools: Toolbox) -> tuple[str, _Calls] | None:
    """The text around the calls, and the calls; None where anything in it is no call for sure."""
    reader = Reader(call_policy, tools=tools, may_start_in_reasoning=False, place=Position())
    events: list[Event] = [*reader.feed(text), *reader.finish(cut=False)]
    unsure: set[str] = set()
    for event in events:
        if isinstance(event, Verdict):
            unsure |= _UNSURE.intersection(event.repairs)
            if event.status != "lifted" and event.reason not in _QUOTATIONS:
                return None
    names = {event.index: tools.resolve(event.name) for event in events if isinstance(event, CallStart)}
    pieces: dict[int, list[str]] = {index: [] for index in names}
    for event in events:
        if isinstance(event, CallPiece):
            pieces[event.index].append(event.json)
    if {event.index for event in events if isinstance(event, CallEnd)} != set(names):
        return None
    calls = tuple((name, "".join(pieces[index])) for index, name in names.items())
    if not _are_sound(calls, call_policy, tools):
        return None
    if unsure and not (unsure == {"missing_closer"} and _ends_with(text, calls[-1][1])):
        return None
    return "".join(event.text for event in events if isinstance(event, Text)), calls


def _ends_with(text: str, arguments: str) -> bool:
    """Whether a text ends with these arguments as written: an object of JSON says itself that all of it came."""
    return _BRACKETS.fullmatch(text.rpartition(arguments)[2]) is not None


def _are_sound(calls: _Calls, call_policy: CallPolicy, tools: Toolbox) -> bool:
    """Whether all calls are of declared functions that may be called, and have an object of arguments."""
    return all(
        name in tools and not tools.form(name) and call_policy.declines(name, None) is None and is_object(arguments)
        for name, arguments in calls
    )
