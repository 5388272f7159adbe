"""The lanes of one reply: the events of a frame go through theirs, in order, and all lanes end together.

What a reply says as a whole is noted here on the way: reasoning, calls, finish reasons, texts that were fetched.
"""

from collections.abc import Callable, Iterator

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Damage,
    Event,
    Fetched,
    Finish,
    MovedCalls,
    Note,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Place,
    Reasoning,
    Text,
    Verdict,
)
from toolcalls.mending.reply_watch import MessageWatch, ReplyWatch
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.calls import ClientCall
from toolcalls.replies.plan import Plan
from toolcalls.replies.possible_losses import losses_in
from toolcalls.replies.waiting import LaneFrames, WaitingFrame
from toolcalls.replies.waiting_parts import WaitingParts
from toolcalls.wires import Part


class Lanes:
    """The lanes of one reply, by number.

    seed            gives what gives a lane that begins now what tells its reply from all others
    ends_at_once    a finish reason ends its lane: the reply came whole, or its parts follow each other
    verdicts, notes   of the whole reply, each with its lane's number
    frames          the lanes, with the frames in which something of theirs is undecided
    """

    def __init__(
        self,
        plan: Plan,
        call_policy: CallPolicy,
        watch: ReplyWatch,
        seed: Callable[[], Callable[[], bytes]],
        *,
        ends_at_once: bool,
    ) -> None:
        self.verdicts: list[tuple[int, Verdict]] = []
        self.notes: list[tuple[int, Note]] = []
        self.frames: dict[int, LaneFrames] = {}
        self._plan = plan
        self._call_policy = call_policy
        self._watch = watch
        self._seed = seed
        self._ends_at_once = ends_at_once
        self._calls_come_last = call_policy.waits_for_message
        self._waiting = WaitingParts(self.verdicts)
        self._messages: dict[int, MessageWatch] = {}  # by the number of a lane

    @property
    def client_calls(self) -> list[tuple[int, ClientCall]]:
        """The calls that the client is given, each with its lane's number; without those that were kept from it."""
        return [(number, call) for number, one in self.frames.items() for call in one.lane.calls.client_calls]

    @property
    def may_have_call(self) -> bool:
        """Whether the reply has a call already, or what may be one."""
        lanes = self.frames.values()
        return any(one.is_open or one.lane.calls.any_open or one.lane.calls.client_calls for one in lanes)

    def of(self, number: int) -> LaneFrames:
        """The lane with this number, which begins where it is new."""
        known = self.frames.get(number)
        if known is None:
            plan = self._plan
            known = self.frames[number] = LaneFrames(
                plan.lane(number, self._seed()),
                number,
                self.verdicts,
                self.notes,
                keeps_markup=plan.whole_calls,
                broken_is_text=plan.broken_is_text,
                watch=self._message(number),
            )
        return known

    def take(self, waiting: WaitingFrame, parts: list[Part]) -> None:
        """A frame's events go through their lanes."""
        place: Place | None = None
        for number, event in parts:
            if isinstance(event, Place):
                place = event
                continue
            if isinstance(event, Note):
                self.notes.append((number, event))
                continue
            if not isinstance(event, Text | CallPiece | CallEnd):
                self._noted(number, event)
            if isinstance(event, Fetched | OtherContent) or (isinstance(event, Reasoning) and not event.text):
                continue
            lane = self.frames.get(number) or self.of(number)
            if isinstance(event, Reasoning):
                lane.reasons(waiting)
            if isinstance(event, Damage):
                lane.lane.calls.damaged(event.index, event.defect)
                continue
            if isinstance(event, ParagraphEnd):
                lane.lane.end_paragraph()
                continue
            if isinstance(event, MovedCalls):
                lane.lane.calls_moved(here=event.here)
                continue
            opens_next = isinstance(event, Text) and not event.text and lane in self._waiting
            if lane.endings and not isinstance(event, Finish | CallEnd) and not opens_next:
                lane.goes_on()
                self._waiting.go_on(lane)
            if isinstance(event, Text) and not event.text:
                waiting.opens = number
            elif isinstance(event, Text):
                self._text(lane, waiting, event.text, place)
                place = None
            elif isinstance(event, CallStart | CallPiece | CallEnd):
                if isinstance(event, CallStart):
                    self._plan.calls(number)
                if isinstance(event, CallStart) or (isinstance(event, CallPiece) and event.update is not None):
                    event = self._plan.declared(event)  # noqa: PLW2901 - as the tools have it
                lane.native(waiting, event)
            elif isinstance(event, Finish):
                self._finish(lane, waiting, event)
            else:
                waiting.parts.append((number, event))

    def finish(self, waiting: WaitingFrame) -> None:
        """The API's own end mark has come: nothing follows the latest finish reasons."""
        for lane in self.frames.values():
            lane.finish(waiting)

    def release(self, waiting: WaitingFrame) -> None:
        """No more may be held: what waits is decided, and the reply goes on."""
        self._waiting.decide(waiting, "overflow")
        for lane in self.frames.values():
            if lane.ending_waits:
                lane.finish(waiting)
            elif lane.is_open:
                lane.release(waiting)

    def cut(self, waiting: WaitingFrame, *, broken: bool) -> None:
        """The body has ended: a lane that did not end before was cut off.

        `broken`: so was one that did while something in it was still open.
        """
        for lane in self.frames.values():
            if broken and (lane.is_open or lane.lane.calls.any_open):
                lane.goes_on()
            else:
                lane.finish(waiting)
            if lane.is_open or not lane.lane.finished:
                lane.cut(waiting)
        self.notes.extend(self._plan.notes(self.client_calls))
        if not broken:
            self.notes.extend(self._findings())

    def _text(self, lane: LaneFrames, waiting: WaitingFrame, text: str, place: Place | None) -> None:
        shows = lane.text(waiting, text, place)
        unopened = lane.lane.reader.unopened
        if self._waiting and (shows or unopened.closed_nothing):
            self._waiting.decide(waiting, "reasoning" if unopened.closed_first else "not_terminal")

    def _finish(self, lane: LaneFrames, waiting: WaitingFrame, event: Finish) -> None:
        if isinstance(event, PartEnd):
            if self._calls_come_last and self._waiting.keep(lane, waiting, event):
                return
        elif self._waiting:
            follows = lane not in self._waiting and lane.ends_with_text(waiting, event)
            self._waiting.decide(waiting, "not_terminal" if follows else None)
        lane.ends(waiting, event, last=self._ends_at_once)

    def _noted(self, number: int, event: Event) -> None:
        """What an event that is no text says of its message as a whole."""
        message = self._messages.get(number) or self._message(number)
        if isinstance(event, CallStart) or (isinstance(event, Damage) and event.defect.code == "no_name"):
            message.called()
        elif isinstance(event, Reasoning):
            message.thought(event.text or event.said)
            self._plan.reasons_elsewhere(number)
            if (lane := self.frames.get(number)) is not None:
                lane.lane.reasons_elsewhere()
        elif isinstance(event, Fetched | OtherContent):
            message.has_other = True
            if isinstance(event, Fetched):
                self._call_policy.add_quotable(event.text)
        elif isinstance(event, Finish) and not isinstance(event, PartEnd):
            message.ended(event.reason)

    def _message(self, number: int) -> MessageWatch:
        """What is known of the message that a lane is a part of."""
        message = self._messages[number] = self._watch.message(self._plan.reply_of(number))
        return message

    def _findings(self) -> list[tuple[int, Note]]:
        """What leaves the client without a call, of the reply as a whole."""
        for number, verdict in self.verdicts:
            if verdict.dialect is not None and verdict.status in {"lifted", "lowered", "blocked"}:
                self._message(number).lifted += 1
        for number, one in self.frames.items():
            unopened = one.lane.reader.unopened
            if unopened.closed_nothing:
                message = self._message(number)
                message.closed_nothing = True
                message.drafts += [
                    verdict.name or "a tool"
                    for lane, verdict in self.verdicts
                    if lane == number and verdict.status == "lifted" and verdict.start < (unopened.began_inside or 0)
                ]
            if one.lane.reader.removed_marks:
                self._message(number).lost_marks = True
        said = {(number, note.rule) for number, note in self.notes}  # of what was mended
        found = [one for one in self._watch.notes() if (one[0], one[1].rule) not in said]
        return [*found, *self._possible_losses()]

    def _possible_losses(self) -> Iterator[tuple[int, Note]]:
        """What a message without a call may have lost. A verdict about a call that was likely meant says so."""
        texts = [
            (number, ends) for number, one in self.frames.items() if (ends := one.lane.reader.text_ends) is not None
        ]
        for number, ends in texts:
            message = self._message(number)
            if not ends.size or message.natives or message.lifted or not self._watch.may_lose_calls:
                continue
            own = [(place, verdict) for place, (lane, verdict) in enumerate(self.verdicts) if lane == number]
            is_last = not any(lane > number and later.size and self._message(lane) is message for lane, later in texts)
            losses = losses_in(
                ends,
                [verdict for _, verdict in own],
                self._call_policy,
                self._plan.tools,
                is_last=is_last,
                stopped=message.stopped and not message.has_other,
            )
            self.verdicts += [(number, verdict) for verdict in losses.verdicts]
            for place in losses.meant:
                at, verdict = own[place]
                self.verdicts[at] = (number, msgspec.structs.replace(verdict, likely_meant=True))
            yield from ((number, note) for note in losses.notes)
