"""Native calls as they should have come: the first stage, in front of the lanes.

Decoders say what is damaged (`Damage`), here is decided what becomes of it, and encoders write an event that is
`mended` in the place of what its frame says. All lanes of a reply are mended together: no two of its calls may have the
same id.

What the API asks (`protocol`) is mended at once. Names and values may have to wait: then their frame waits, and all
behind it. If nothing turns out to be mended, they leave as the protocol has them, which is mostly as they came.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import NamedTuple

from msgspec.structs import replace

from toolcalls.events import (
    FUNCTION_FORMS,
    CallEnd,
    CallPiece,
    CallStart,
    Damage,
    Event,
    Finish,
    PartEnd,
    Reason,
    Repair,
)
from toolcalls.replies.stages import CUT_REASONS
from toolcalls.values.conversion import is_object, to_text
from toolcalls.wires import STREAM_END, Part
from toolcalls.wires.mending import CallArguments, Ids, Mended, Mending

# The damage that the protocol's mending deals with, and what that is called.
_REPAIRS: dict[Reason, Repair] = {
    "glued_calls": "shared_index",
    "no_index": "no_index",
    "no_id": "no_id",
    "repeated_id": "repeated_id",
    "changed_id": "changed_id",
    "repeated_name": "repeated_name",
    "object_arguments": "object_arguments",
}
# Said of a text where the API has an object.
_OF_TEXT = frozenset({"double_encoded", "empty_arguments", "bad_arguments"})
_OF_ID = frozenset({"no_id", "repeated_id"})  # said of a start that has been given another id
# What ends a stream of the Messages API, the Responses API or Cohere's; the type is at an event's beginning or its end.
_LAST_TYPE = re.compile(rb'"type":\s*"(?:message_stop|response\.(?:completed|incomplete|failed)|message-end)"')
_NEAR = 256  # bytes

type _Key = tuple[int, int]  # a message, and the index of a call in it


class _Both(NamedTuple):
    """The events in the place of one: where nothing but the protocol is mended, and as they are meant."""

    plain: tuple[Event, ...]
    meant: tuple[Event, ...]


def _alike(*events: Event) -> _Both:
    return _Both(events, events)


@dataclass(frozen=True, slots=True)
class Known[Frame]:
    """A frame, and its events as they should have come. `changed`: they are others than it says."""

    frame: Frame
    parts: list[Part]
    changed: bool


@dataclass(frozen=True, slots=True)
class _Waiting[Frame]:
    """A frame that waits, and what it may become."""

    plain: Known[Frame]
    meant: Known[Frame]


class Mend[Frame]:
    """Mends the native calls of one reply.

    mending      what is mended of them
    may_hold     whether frames may wait here
    message_of   the message that a lane is a part of

    calls        the calls by their messages and indices
    latest       whether something of the latest frame was mended
    """

    def __init__(
        self,
        mending: Mending,
        *,
        may_hold: bool,
        message_of: Callable[[int], int],
    ) -> None:
        self.calls: dict[_Key, Mended] = {}
        self.may_hold = may_hold
        self.latest = False
        self.mending = mending
        self._held = mending.held
        self._cut: set[int] = set()  # the messages that this frame cuts off
        self._message_of = message_of
        self._ids: dict[int, Ids] = {}
        self._noticed: dict[_Key, list[Damage]] = {}  # since the latest event of their call
        self._started: set[_Key] = set()  # in this frame
        self._arriving: dict[_Key, Mended] = {}
        self._as_they_came: set[_Key] = set()  # calls whose arguments stay so
        self._objects: set[_Key] = set()  # calls whose arguments come at once
        self._begun_with: dict[_Key, bool] = {}  # calls that began with arguments, and whether these were mended
        self._ended: set[_Key] = set()  # calls whose end was said here
        self._waiting: list[_Waiting[Frame]] = []
        self._mended_before = 0  # how much was mended when the first of those came
        self._over = False  # the stream has ended, so what still comes is no part of any call

    @property
    def holds(self) -> bool:
        """Whether frames wait here."""
        return bool(self._waiting)

    def of_call(self, message: int, index: int) -> Mended | None:
        """What was mended of the native call that came with this index in this message."""
        return self.calls.get((message, index))

    def feed(self, frame: Frame, payload: bytes | None, parts: list[Part]) -> list[Known[Frame]]:
        """A frame with its events; returns the frames whose events are known by now."""
        self.latest = False
        if self._over or (not self._waiting and len(parts) == 1 and self._is_sound(*parts[0])):
            return [Known(frame, parts, changed=False)]
        waiting = self._of(frame, parts)
        self.latest = waiting.plain.changed or waiting.meant.changed
        self._over = payload is not None and ends_stream(payload)
        self._waiting.append(waiting)
        return [] if self._held.open else self._released(meant=self._held.mended > 0)

    def release(self) -> list[Known[Frame]]:
        """No more may wait: what is held of calls leaves as it came."""
        for call in self.calls.values():
            call.arguments.give_up(drops=not self._held.mended)
        return self._released(meant=self._held.mended > 0)

    def finish(self) -> list[Known[Frame]]:
        """Nothing follows."""
        return self._released(meant=self._held.mended > self._mended_before)

    def _released(self, *, meant: bool) -> list[Known[Frame]]:
        waiting, self._waiting = self._waiting, []
        self._mended_before = self._held.mended
        return [one.meant if meant else one.plain for one in waiting]

    # One event

    def _is_sound(self, lane: int, event: Event) -> bool:
        """Whether the only event of a frame is the usual one, a piece that is sound. If so, it has been taken."""
        if not isinstance(event, CallPiece) or event.update is not None or event.entry < 0:
            return False
        key = self._message_of(lane), event.index
        call = self.calls.get(key)
        if call is None or key in self._noticed or key in self._as_they_came:
            return False
        return call.arguments.takes(event.json)

    def _of(self, frame: Frame, parts: list[Part]) -> _Waiting[Frame]:
        self._started.clear()
        ends = [(lane, event) for lane, event in parts if isinstance(event, Finish) and not isinstance(event, PartEnd)]
        cut = self._cut = {self._message_of(lane) for lane, end in ends if end.reason in CUT_REASONS}
        plain: list[Part] = []
        meant: list[Part] = []
        for lane, event in parts:
            both = self._both(self._message_of(lane), event, cut)
            plain += [(lane, one) for one in both.plain]
            meant += [(lane, one) for one in both.meant]
        return _Waiting(Known(frame, plain, _is_mended(plain)), Known(frame, meant, _is_mended(meant)))

    def _both(self, message: int, event: Event, cut: set[int]) -> _Both:
        if isinstance(event, Damage):
            return self._damage((message, event.index), event)
        if isinstance(event, CallStart):
            return self._start((message, event.index), event)
        if isinstance(event, CallPiece):
            return self._piece((message, event.index), event)
        if isinstance(event, CallEnd):
            return self._end((message, event.index), event, cut=message in cut)
        if isinstance(event, Finish) and not isinstance(event, PartEnd):
            return self._finish(message, event, cut=message in cut)
        return _alike(event)

    def _damage(self, key: _Key, event: Damage) -> _Both:
        """What is said here of a start, or of the next event of its call, is dealt with there."""
        code = event.defect.code
        if not self.mending.protocol or code not in _REPAIRS:
            if code == "object_arguments":
                self._as_they_came.add(key)
            if code not in _OF_TEXT:
                return _alike(event)
        if key in self._started and code in _OF_ID:
            return _alike() if key in self.calls else _alike(event)
        self._noticed.setdefault(key, []).append(event)
        return _alike()

    def _start(self, key: _Key, event: CallStart) -> _Both:
        noticed = self._noticed.pop(key, [])
        self._started.add(key)
        self._ended.discard(key)
        nameless = not event.name and event.takes == "text"
        if nameless or event.form not in FUNCTION_FORMS:
            self.calls.pop(key, None)
            return _alike(*noticed, event)
        call = Mended(self.mending).take_name(event.name, goes_on=event.more == "likely")
        self.calls[key] = call
        if event.takes == "object":
            self._objects.add(key)
        else:
            self._arriving[key] = call
            self._objects.discard(key)
        if event.takes == "maybe":
            call.arguments.may_be_empty()
        stay = [damage for damage in noticed if damage.defect.code in _OF_TEXT and not self.mending.protocol]
        noticed = [damage for damage in noticed if damage not in stay]
        for repair in (repair for damage in noticed for repair in _repairs_of(damage)):
            call.repaired(repair)
        id_ = event.id
        needed = event.takes != "object" or any(damage.defect.code == "no_id" for damage in noticed)
        unneeded = not (event.id or needed)
        if not (event.form or unneeded):  # the older form has none
            id_ = self._ids.setdefault(key[0], Ids(self.mending)).of(event.id, *key, call)
        plain = replace(event, id=id_, mended=True) if noticed or id_ != event.id else event
        meant = plain if call.new_name is None else replace(plain, name=call.name, mended=True)
        return _Both((*stay, plain), (*stay, meant))

    def _piece(self, key: _Key, event: CallPiece) -> _Both:
        noticed, call = self._noticed.pop(key, []), self.calls.get(key)
        if call is None:
            return _alike(*noticed, event)
        if event.entry < 0:  # it has left, before its call had a name
            self._as_they_came.add(key)
        if key in self._as_they_came:
            return _alike(*noticed, event)
        if key in self._objects:
            return self._object(call, event, noticed, cut=key[0] in self._cut)
        if key in self._started and event.update is not None and event.update.arguments is not None:
            return self._with_start(key, call, event, noticed)
        if (mended := self._begun_with.pop(key, None)) is not None and event.update is None:
            return _alike(*noticed) if mended else _alike(*noticed, event)
        stay = [damage for damage in noticed if damage.defect.code == "repeated_name" and self._goes_on(call)]
        noticed = [damage for damage in noticed if damage not in stay]
        for damage in sorted(noticed, key=_is_of_id):
            call.repaired(_REPAIRS[damage.defect.code])
        if stay and not call.arguments.begun:
            call.goes_on(call.came_name)
        meant = event
        if event.update is not None and event.update.arguments is None and not call.arguments.begun:
            call.goes_on(event.update.piece)
            meant = event if call.new_name is None else replace(event, update=replace(event.update, name=call.name))
        left = call.arguments.feed(event.json)
        return _Both(
            (*stay, _left(event, call.arguments.plain, mended=bool(noticed))),
            (*stay, _left(meant, left, mended=bool(noticed))),
        )

    def _object(self, call: Mended, event: CallPiece, noticed: list[Damage], *, cut: bool) -> _Both:
        """All arguments of a call, where the API has an object for them."""
        text = "" if any(damage.defect.code == "empty_arguments" for damage in noticed) else event.json
        if noticed:  # a text that is no object may be given as the JSON string that it came as
            text = to_text(text)[0]
        is_text = bool(noticed) or not is_object(event.json)
        plain = _as_object(replaced(self.mending, values=None), call, text, is_text=is_text, cut=cut)
        meant = plain
        if self.mending.values is not None:
            meant = _as_object(self.mending, call, text, is_text=is_text, cut=cut)
        if (made := meant or plain) is not None:
            call.arguments = made[1]
            if text and is_text:
                call.repaired("string_arguments")

        def left(made: tuple[str, CallArguments] | None) -> tuple[Event, ...]:
            return (*noticed, event) if made is None else (replace(event, json=made[0], mended=True),)

        return _Both(left(plain), left(meant))

    def _with_start(self, key: _Key, call: Mended, event: CallPiece, noticed: list[Damage]) -> _Both:
        """Arguments that an event repeats at the call's end are mended where the call begins."""
        told = event.update.arguments if event.update is not None else None
        both = self._object(call, CallPiece(event.index, told or "", entry=event.entry), noticed, cut=False)
        is_mended = self._begun_with[key] = _is_mended((0, one) for one in both.meant)
        return both if is_mended else _alike(*noticed)

    def _goes_on(self, call: Mended) -> bool:
        """Whether a name that came twice is one name in two pieces."""
        declared = self.mending.declared
        return declared(2 * call.came_name) and not declared(call.came_name)

    def _end(self, key: _Key, event: CallEnd, *, cut: bool) -> _Both:
        self._noticed.pop(key, None)
        if key in self._ended:
            return _alike()
        tail = self._tail(key, cut=cut)
        return _Both((*tail.plain, event), (*tail.meant, event))

    def _finish(self, message: int, event: Finish, *, cut: bool) -> _Both:
        """The calls of a message end with it, but for those that go on all the same."""
        plain: list[Event] = []
        meant: list[Event] = []
        for key in [key for key in self._arriving if key[0] == message]:
            arguments = self._arriving[key].arguments
            whole = arguments.whole
            tail = self._tail(key, cut=cut)
            end = [CallEnd(key[1])] if arguments.whole and not whole else []
            self._ended |= {key for _ in end}
            plain += [*tail.plain, *end]
            meant += [*tail.meant, *end]
        return _Both((*plain, event), (*meant, event))

    def _tail(self, key: _Key, *, cut: bool) -> _Both:
        """What still leaves of a call's arguments at its end."""
        call = self._arriving.pop(key, None)
        if call is None or key in self._as_they_came:
            return _alike()
        left = call.arguments.end(cut=cut)
        plain, meant = ((CallPiece(key[1], one, mended=True),) if one else () for one in (call.arguments.plain, left))
        return _Both(plain, meant)


def _as_object(
    mending: Mending, call: Mended, text: str, *, is_text: bool, cut: bool
) -> tuple[str, CallArguments] | None:
    """Arguments as the object that they were meant to be; None where they stay as they came, whatever they are.

    is_text   they came as a text
    """
    if (is_text and not mending.protocol) or not (is_text or mending.values is not None):
        return None
    left, arguments = mending.whole(call, text, cut=cut)
    if not is_object(left) or (not is_text and left == text):
        return None
    return left, arguments


def _repairs_of(damage: Damage) -> tuple[Repair, ...]:
    code = damage.defect.code
    return ("empty_arguments", "string_arguments") if code in _OF_TEXT else (_REPAIRS[code],)


def _is_of_id(damage: Damage) -> bool:
    """What is said of the name is said first."""
    return damage.defect.code in {"changed_id", "repeated_id"}


def _left(event: CallPiece, json: str, *, mended: bool) -> CallPiece:
    """A piece as what is left of it."""
    return replace(event, json=json, mended=True) if mended or json != event.json else event


def _is_mended(parts: Iterable[Part]) -> bool:
    return any(isinstance(event, CallStart | CallPiece) and event.mended for _, event in parts)


def ends_stream(payload: bytes) -> bool:
    """Whether nothing after a frame with this payload is part of the reply."""
    return payload == STREAM_END or _LAST_TYPE.search(payload[:_NEAR] + payload[-_NEAR:]) is not None
