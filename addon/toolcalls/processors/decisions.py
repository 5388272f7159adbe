"""Decides what becomes of each call of one lane, by the rules, the loop guard, the reactors and the filters.

A call is decided as soon as it can be: by its name, by an argument that became final, or at its end. That goes on while
the call waits after another one. The chain says when and where it is sent.
"""

import sys

import msgspec

from toolcalls.events import CallPiece, CallStart, CallUpdate, Change, Note
from toolcalls.processors.access import Refusal
from toolcalls.processors.arguments import Arguments
from toolcalls.processors.filters import Filters
from toolcalls.processors.loops import Loop, note_of
from toolcalls.processors.pending_call import SHOWN, PendingCall
from toolcalls.processors.reactors import with_values
from toolcalls.processors.reply_state import ReplyState
from toolcalls.processors.steering import notice
from toolcalls.values.conversion import members, to_text

_NAME_PIECES = 64  # of one name, each of which is a name to a client that takes the latest; no server sends so many
_HELD_TOO_LONG = "max_frame_bytes"  # the rule of a call that was blocked because it could not be held any longer


class CallDecisions:
    """The calls of one lane and their states.

    filters     the lane's, None for none
    calls       by whether they are native, and their index
    late_texts  texts for the client, after everything else
    notes       of the lane, for the report
    """

    def __init__(self, state: ReplyState, filters: Filters | None) -> None:
        of = state.processors
        self._state = state
        self._route = of.route
        self._gate = of.gate
        self._reactors = of.reactors
        self._loops = of.loops
        self._loops_act = of.loops is not None and of.loops.acts
        self._call_loops = state.call_loops
        self._filters = filters
        self._filters_calls = any(filter_.calls for filter_ in of.route.filters)
        self._notices = of.route.steering == "request"
        self.calls: dict[tuple[bool, int], PendingCall] = {}
        self.late_texts: list[str] = []
        self.notes: list[Note] = []
        # The latest look at a piece that `streams` took, and what it made final.
        self._fed: tuple[CallPiece, list[tuple[str, str]]] | None = None

    # The events of a call

    def begin(self, event: CallStart, *, native: bool) -> PendingCall:
        """The next call."""
        call = self.calls[native, event.index] = PendingCall(event, native=native)
        call.name_open = bool(event.more) and (event.more == "likely" or self._refuses_name(event.name))
        if not call.name_open:
            self._decide_by_name(call)
        return call

    def streams(self, piece: CallPiece, *, native: bool) -> bool:
        """Whether the next piece of a call is sent as it is. If so, it is taken; else `add_piece` takes it."""
        call = self.calls.get((native, piece.index))
        if call is None or call.state != "passed":
            return False
        if call.arguments is not None:
            found = call.arguments.feed(piece.json)
            if found or call.arguments.broken or piece.update is not None:
                self._fed = (piece, found)  # which must not be asked twice
                return False
        if call.keeps_pieces:
            call.keep(piece.json)
        return True

    def add_piece(self, call: PendingCall, piece: CallPiece) -> None:
        """The next piece of a call."""
        if piece.update is not None:
            self._update(call, piece.update)
        if call.name_open and piece.json:
            self._decide_by_name(call)
        if call.keeps_pieces:
            call.keep(piece.json)
        if call.arguments is not None:
            fed, self._fed = self._fed, None
            found = fed[1] if fed and fed[0] is piece else call.arguments.feed(piece.json)
            self._decide_by_arguments(call, call.arguments, found)

    def end(self, call: PendingCall) -> None:
        """The call is complete."""
        if call.name_open:
            self._decide_by_name(call)
        read = call.is_valid
        if call.judgement is not None and call.state in {"undecided", "passed"}:
            call.judgement.end(whole=read or not call.judgement.watches)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        self._count(call)
        if call.state == "undecided":
            self._react(call, readable=read)

    def break_off(self, call: PendingCall) -> None:
        """The call broke off. What needs the whole call lets it pass; a rule that blocks does not."""
        if call.name_open:
            self._decide_by_name(call)
        if call.judgement is not None:
            call.judgement.end(whole=call.is_valid)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
        if call.state == "undecided":
            call.state = "passed"

    def release(self) -> None:
        """Hold no call any longer: block those that a rule or reactor may still block, let the others pass."""
        for call in self.calls.values():
            if call.state == "undecided" and call.needs_whole and self._reactors is not None:
                self._block(call, Refusal(_HELD_TOO_LONG, "undecided", ""))
            elif call.state == "undecided":
                self.break_off(call)

    def finish(self, *, cut: bool) -> None:
        """The lane has ended: decide what is undecided."""
        for call in self.calls.values():
            if call.state == "undecided":
                self.break_off(call)
            if not cut and call.arguments is not None and not call.is_valid:
                call.unreadable = True

    def block_unsent(self, loop: Loop, *, but: PendingCall) -> None:
        """The reply was stopped: block each call of which nothing was sent yet, except one."""
        for other in self.calls.values():
            if other is not but and not other.begun:
                other.state = "undecided" if other.state == "passed" else other.state
                self._block(other, Refusal(loop.what, "loop", ""))

    def note(self, loop: Loop) -> None:
        """Report a loop."""
        if self._loops is not None:
            self.notes.append(note_of(loop, self._loops))

    # How it is decided

    def _refuses_name(self, name: str) -> bool:
        """Whether the rules refuse a name as it is, which may be only the beginning of one."""
        return self._gate is not None and self._gate.refuses_always(name) is not None

    def _update(self, call: PendingCall, update: CallUpdate) -> None:
        """More of a call's name, or what its wire says of it in the end, which a client may take instead."""
        if update.arguments is None:
            call.start = msgspec.structs.replace(call.start, name=update.name)
            call.name_pieces.append(update.piece)
        if self._gate is None or call.state not in {"undecided", "passed"}:
            return
        if len(call.name_pieces) > _NAME_PIECES and (refusal := self._gate.refuses_unread()) is not None:
            self._block(call, refusal)
            return
        if call.name_open:
            return
        judgement = self._gate.judge(update.name, [*call.name_pieces, update.piece])
        readable = True
        try:
            for key, raw in members(update.arguments or ""):
                judgement.learn(key, raw)
        except ValueError:
            readable = False
        judgement.end(whole=readable or not judgement.watches)
        if judgement.refusal is not None:
            said = "the end of its call says otherwise than its beginning, so it is never complete"
            self.notes.extend([Note(judgement.refusal.rule, said, True)] if call.state == "passed" else [])
            self._block(call, judgement.refusal)

    def _decide_by_name(self, call: PendingCall) -> None:
        """A call's name is final."""
        name = call.start.name
        call.name_open = False
        if call.state != "undecided":  # the reply was stopped before
            return
        if self._state.stopped_by:
            self._block(call, Refusal(self._state.stopped_by, "loop", ""))
            return
        if self._gate is not None:
            call.judgement = self._gate.judge(name, call.name_pieces)
            if call.judgement.refusal is not None:
                self._block(call, call.judgement.refusal)
                return
        call_loops = self._call_loops
        counted = call_loops is not None and call_loops.watches(name)
        may_loop = self._loops_act and call_loops is not None and call_loops.may_loop(name)
        call.needs_whole = (self._reactors is not None and self._reactors.watches(name)) or self._filters_calls
        call.keeps_pieces = counted or call.needs_whole or (call.judgement is not None and call.judgement.watches)
        if counted or call.needs_whole:  # a call that waits is limited by the frames that wait with it
            call.room = sys.maxsize if call.needs_whole else self._route.max_call_chars
        if call.needs_whole or (counted and self._loops_act) or (call.judgement is not None and call.judgement.watches):
            call.arguments = Arguments()
        if not (call.needs_whole or may_loop) and (call.judgement is None or call.judgement.decided):
            call.state = "passed"

    def _decide_by_arguments(self, call: PendingCall, arguments: Arguments, found: list[tuple[str, str]]) -> None:
        """A piece of a call that is looked at: what became final in it may decide."""
        judgement = call.judgement
        if arguments.broken and judgement is not None:
            call.unreadable = True
            judgement.mark_invalid()
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if not found:
            return
        call.known_arguments.extend(found)
        if judgement is not None:
            for key, raw in found:
                judgement.learn(key, raw)
            if judgement.refusal is not None:
                self._block(call, judgement.refusal)
                return
        if arguments.whole and not arguments.broken:
            self._count(call)
        undecided = call.needs_whole or (judgement is not None and not judgement.decided)
        if call.state == "undecided" and not undecided and (call.counted or not self._may_loop(call)):
            call.state = "passed"

    def _may_loop(self, call: PendingCall) -> bool:
        if self._call_loops is None or not self._loops_act:
            return False
        return self._call_loops.may_loop(call.start.name, tuple(call.known_arguments))

    def _count(self, call: PendingCall) -> None:
        """A call is whole: the loop guard counts it, once."""
        call_loops = self._call_loops
        if call_loops is None or call.counted or not call_loops.watches(call.start.name):
            return
        call.counted = True
        if call.too_long:  # it is not known what it is the same as
            return
        loop = None if call.state in {"dropped", "broken_off"} else call_loops.detect(*call.call)
        call_loops.add(*call.call)
        if loop is not None:
            self.note(loop)
            if self._loops_act and call.state == "undecided":
                self._break_loop(call, loop)

    def _block(self, call: PendingCall, refusal: Refusal) -> None:
        """The call does not leave; one that has begun to is never completed."""
        if call.state in {"dropped", "broken_off"}:
            return
        call.refusal = refusal
        call.state = "broken_off" if call.state == "passed" else "dropped"
        call.keeps_pieces = True
        # Nothing of it waits any more, so no limit for what waits holds; where nobody counts it, it is only shown.
        only_shown = call.counted or self._call_loops is None
        call.room = min(call.room, SHOWN if only_shown else self._route.max_call_chars)
        if refusal.text:
            texts = self.late_texts if call.state == "broken_off" else call.texts
            texts.append(notice(refusal.rule) if self._notices else refusal.text)

    def _break_loop(self, call: PendingCall, loop: Loop) -> None:
        loops = self._loops
        text = loops.text.replace("{what}", loop.text) if loops else ""
        self._block(call, Refusal(loop.what, "loop", text))
        if loops is not None and loops.action == "stop":
            # In a whole reply the text comes before its native calls.
            self._state.stop(loop, silence=not (call.native and self._state.whole))
            for lane in self._state.lanes:
                lane.block_unsent(loop, but=call)

    def _react(self, call: PendingCall, *, readable: bool) -> None:
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
                call.state = "dropped"
                call.refusal = Refusal(reacted.changes[-1][0], "dropped", "")
                return
        if readable and self._filters_calls and self._filters is not None:
            after = before[0], _filtered(before[1], self._filters)
            if after != before:
                call.changes.append(Change("filters", before, after))
                before = after
        call.replacement = before
        call.state = "replaced" if call.changes else "passed"
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
    return with_values(arguments, values, keep_others=True)
