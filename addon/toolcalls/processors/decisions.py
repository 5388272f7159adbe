"""What becomes of the calls of one lane: decided by the rules, the loop guard, the reactors and the filters.

A call is decided as soon as it can be: by its name, by an argument that became final, by its end. Each one's own look
goes on while it waits behind another. When and where it leaves is the chain's.
"""

import sys

import msgspec

from toolcalls.events import CallPiece, CallStart, CallUpdate, Change, Note
from toolcalls.processors.access import Refusal
from toolcalls.processors.arguments import Arguments
from toolcalls.processors.filters import Filters
from toolcalls.processors.loops import Circle, noted
from toolcalls.processors.pending_call import SHOWN, Held
from toolcalls.processors.reactors import rewritten
from toolcalls.processors.shared import Shared
from toolcalls.processors.steering import notice
from toolcalls.values.conversion import members, to_text

_CROWDED = "max_frame_bytes"  # what a call is blocked by that must not be held any longer


class Fates:
    """The calls of one lane, each with its fate.

    filters  the lane's, None for none
    calls    by whether they are native, and their index
    late     what the client is told behind everything else
    notes    what is said of the lane at its end
    """

    def __init__(self, shared: Shared, filters: Filters | None) -> None:
        of = shared.of
        self._shared = shared
        self._route = of.route
        self._gate = of.gate
        self._reactors = of.reactors
        self._loops = of.loops
        self._acts = of.loops is not None and of.loops.acts
        self._circles = shared.circles
        self._filters = filters
        self._inside = any(filter_.calls for filter_ in of.route.filters)
        self._notices = of.route.steering == "request"
        self.calls: dict[tuple[bool, int], Held] = {}
        self.late: list[str] = []
        self.notes: list[Note] = []
        # The latest look at a piece that `streams` took, and what it made final.
        self._fed: tuple[CallPiece, list[tuple[str, str]]] | None = None

    # What comes of a call

    def begins(self, event: CallStart, *, native: bool) -> Held:
        """The next call."""
        call = self.calls[native, event.index] = Held(event, native=native)
        call.unnamed = bool(event.more) and (event.more == "likely" or self._refuses(event.name))
        if not call.unnamed:
            self._begin(call)
        return call

    def streams(self, piece: CallPiece) -> bool:
        """Whether the next piece of a call in text leaves as it is. If so, it has been seen."""
        call = self.calls[False, piece.index]
        if call.fate != "passed":
            return False
        if call.arguments is not None:
            found = call.arguments.feed(piece.json)
            if found or call.arguments.broken or piece.update is not None:
                self._fed = (piece, found)  # which must not be asked twice
                return False
        if call.collects:
            call.keep(piece.json)
        return True

    def goes_on(self, call: Held, piece: CallPiece) -> None:
        """The next piece of a call."""
        if piece.update is not None:
            self._told(call, piece.update)
        if call.unnamed and piece.json:
            self._begin(call)
        if call.collects:
            call.keep(piece.json)
        if call.arguments is not None:
            fed, self._fed = self._fed, None
            self._look(call, call.arguments, fed[1] if fed and fed[0] is piece else call.arguments.feed(piece.json))

    def ends(self, call: Held) -> None:
        """All of a call is here."""
        if call.unnamed:
            self._begin(call)
        read = call.is_read
        if call.judgement is not None and call.fate in {"open", "passed"}:
            call.judgement.end(whole=read or not call.judgement.watches)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        self._count(call)
        if call.fate == "open":
            self._react(call, readable=read)

    def over(self, call: Held) -> None:
        """A call will not be whole. What needs the whole of it leaves it as it is; a rule that blocks does not."""
        if call.unnamed:
            self._begin(call)
        if call.judgement is not None:
            call.judgement.end(whole=call.is_read)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        if call.fate == "open":
            call.fate = "passed"

    def release(self) -> None:
        """No more can be held: what a rule or a reactor that may block has not decided is blocked, the rest passes."""
        for call in self.calls.values():
            if call.fate == "open" and call.waits and self._reactors is not None:
                self._block(call, Refusal(_CROWDED, "undecided", ""))
            elif call.fate == "open":
                self.over(call)

    def finish(self) -> None:
        """Nothing follows: everything is decided now."""
        for call in self.calls.values():
            if call.fate == "open":
                self.over(call)

    def give_up(self, circle: Circle, *, besides: Held) -> None:
        """The reply was stopped: no call leaves that has not begun to."""
        for other in self.calls.values():
            if other is not besides and not other.left:
                other.fate = "open" if other.fate == "passed" else other.fate
                self._block(other, Refusal(circle.what, "loop", ""))

    def note(self, circle: Circle) -> None:
        """A circle was found."""
        if self._loops is not None:
            self.notes.append(noted(circle, self._loops))

    # How it is decided

    def _refuses(self, name: str) -> bool:
        """Whether the rules refuse a name as it is, which may be only the beginning of one."""
        return self._gate is not None and self._gate.never(name) is not None

    def _told(self, call: Held, told: CallUpdate) -> None:
        """More of a call's name, or what its wire says of it in the end, which a client may take instead."""
        if told.arguments is None:
            call.start = msgspec.structs.replace(call.start, name=told.name)
            call.besides.append(told.piece)
        if call.unnamed or self._gate is None or call.fate not in {"open", "passed"}:
            return
        judgement = self._gate.judge(told.name, [*call.besides, told.piece])
        readable = True
        try:
            for key, raw in members(told.arguments or ""):
                judgement.learn(key, raw)
        except ValueError:
            readable = False
        judgement.end(whole=readable or not judgement.watches)
        if judgement.refusal is not None:
            said = "the end of its call says otherwise than its beginning, so it is never complete"
            self.notes.extend([Note(judgement.refusal.rule, said, True)] if call.fate == "passed" else [])
            self._block(call, judgement.refusal)

    def _begin(self, call: Held) -> None:
        """A call's name is final."""
        name = call.start.name
        call.unnamed = False
        if call.fate != "open":  # the reply was stopped before
            return
        if self._shared.stopped_by:
            self._block(call, Refusal(self._shared.stopped_by, "loop", ""))
            return
        if self._gate is not None:
            call.judgement = self._gate.judge(name, call.besides)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
                return
        circles = self._circles
        counted = circles is not None and circles.watches(name)
        closes = self._acts and circles is not None and circles.may_close(name)
        call.waits = (self._reactors is not None and self._reactors.watches(name)) or self._inside
        call.collects = counted or call.waits or (call.judgement is not None and call.judgement.watches)
        if counted or call.waits:  # the whole of it is needed; what waits is limited by the frames that wait with it
            call.room = sys.maxsize if call.waits else self._route.max_call_chars
        if call.waits or (counted and self._acts) or (call.judgement is not None and call.judgement.watches):
            call.arguments = Arguments()
        if not (call.waits or closes) and (call.judgement is None or call.judgement.decided):
            call.fate = "passed"

    def _look(self, call: Held, arguments: Arguments, found: list[tuple[str, str]]) -> None:
        """A piece of a call that is looked at: what became final in it may decide."""
        judgement = call.judgement
        if arguments.broken and judgement is not None:
            judgement.spoil()
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if not found:
            return
        call.learned.extend(found)
        if judgement is not None:
            for key, raw in found:
                judgement.learn(key, raw)
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if arguments.whole and not arguments.broken:
            self._count(call)
        undecided = call.waits or (judgement is not None and not judgement.decided)
        if call.fate == "open" and not undecided and (call.counted or not self._may_close(call)):
            call.fate = "passed"

    def _may_close(self, call: Held) -> bool:
        circles = self._circles
        return self._acts and circles is not None and circles.may_close(call.start.name, tuple(call.learned))

    def _count(self, call: Held) -> None:
        """A call is whole: the loop guard counts it, once."""
        circles = self._circles
        if circles is None or call.counted or not circles.watches(call.start.name):
            return
        call.counted = True
        if call.outgrown:  # it is not known what it is the same as
            return
        circle = None if call.fate in {"gone", "cut"} else circles.closes(*call.call)
        circles.add(*call.call)
        if circle is not None:
            self.note(circle)
            if self._acts and call.fate == "open":
                self._break(call, circle)

    def _block(self, call: Held, refusal: Refusal) -> None:
        """The call does not leave; one that has begun to is never completed."""
        if call.fate in {"gone", "cut"}:
            return
        call.refusal = refusal
        call.fate = "cut" if call.fate == "passed" else "gone"
        call.collects = True
        # Nothing of it waits any more, so no limit for what waits holds; where nobody counts it, it is only shown.
        only_shown = call.counted or self._circles is None
        call.room = min(call.room, SHOWN if only_shown else self._route.max_call_chars)
        if refusal.text:
            texts = self.late if call.fate == "cut" else call.texts
            texts.append(notice(refusal.rule) if self._notices else refusal.text)

    def _break(self, call: Held, circle: Circle) -> None:
        loops = self._loops
        text = loops.text.replace("{what}", circle.text) if loops else ""
        self._block(call, Refusal(circle.what, "loop", text))
        if loops is not None and loops.action == "stop":
            # In a whole reply the text stands before its native calls.
            self._shared.stop(circle, silence=not (call.native and self._shared.whole))
            for lane in self._shared.lanes:
                lane.give_up(circle, besides=call)

    def _react(self, call: Held, *, readable: bool) -> None:
        """The user's own functions, and the filters that are asked into calls; then the rules once more."""
        before = name, arguments = call.call
        if readable and self._reactors is not None and self._reactors.watches(name):
            reacted = self._reactors.react(name, arguments, call.start.dialect)
            call.texts.extend(reacted.texts)
            self.notes.extend(Note(rule, f"{why}; the call of {name} stays", True) for rule, why in reacted.failures)
            for rule, after in reacted.changes:
                call.changes.append(Change(rule, before, after))
                before = after or before
            if reacted.call is None:
                call.fate = "gone"
                call.refusal = Refusal(reacted.changes[-1][0], "dropped", "")
                return
        if readable and self._inside and self._filters is not None:
            after = before[0], _filtered(before[1], self._filters)
            if after != before:
                call.changes.append(Change("filters", before, after))
                before = after
        call.made = before
        call.fate = "made" if call.changes else "passed"
        if call.changes and self._gate is not None:
            judgement = self._gate.judge(before[0])
            for key, raw in members(before[1]):
                judgement.learn(key, raw)
            judgement.end(whole=True)
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)


def _filtered(arguments: str, filters: Filters) -> str:
    """Argument JSON with the filters' replacements in its strings, of objects and lists only those at the top."""
    values: dict[str, str] = {}
    for key, raw in members(arguments):
        text, is_string = to_text(raw)
        new = filters.rewrite(text) if is_string else text
        if is_string and new != text:
            values[key] = new
    if not values:
        return arguments
    return rewritten(arguments, values, rest=True)
