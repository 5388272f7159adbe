"""Frames that cannot leave yet, and what of them is still open: characters of text, native events, finish reasons.

A frame is in one of four states:

passing   nothing in it can change or be undecided. No book is kept: its bytes leave as they came.
waiting   it is in the `FrameQueue`. Some of its text or of its native events is undecided, it comes after such a
          frame, or it only opens a place for text.
applied   all of its events have become what the client is given, which is `WaitingFrame.parts`. It leaves as soon as no
          frame before it waits.
left      its bytes are out: as they came where nothing changed, else encoded anew.

`LaneFrames` knows in which frames the undecided characters and events of one lane stand, and puts what the lane decides
into them: text where it came from, everything else after what was decided before it. Frames leave in their order, and
a frame waits as a whole, so text that turns out to be no call leaves byte for byte as it came.

A frame that only opens a place for text (an empty `Text`) leaves with the first frame after it that does more, so that
a wire need not show a message whose whole text turns out to be calls.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Finish,
    Markup,
    Note,
    PartEnd,
    Place,
    Reason,
    Removed,
    Text,
    Verdict,
)
from toolcalls.mending.reply_watch import MessageWatch
from toolcalls.replies.lane import Lane
from toolcalls.replies.short_ways import PieceFate
from toolcalls.replies.stages import CUT_REASONS, End, Item, Native
from toolcalls.wires import Part
from toolcalls.wires.frames import Frame

_OPENERS = 64  # how many frames that only open something may wait


class Alike:
    """Frames that differ in nothing but their piece of a native call.

    vanish   nothing is left of one without its piece, as far as is known
    """

    __slots__ = ("vanish",)

    def __init__(self) -> None:
        self.vanish = False


class WaitingFrame:
    """A frame on its way.

    parts      what its events have become
    undecided  how many of its characters and events have not become anything yet
    changed    whether it must be encoded anew
    can_omit   whether nothing of it is left without its text or its calls
    alike      the frames that it is like, where its piece of a native call was known by its bytes
    opens      the lane in which it only opens a place for text; `leads` is the frame that it leaves with then
    """

    __slots__ = ("alike", "can_omit", "changed", "frame", "leads", "opens", "parts", "undecided")

    def __init__(self, frame: Frame, alike: Alike | None = None) -> None:
        self.frame = frame
        self.alike = alike
        self.can_omit = False
        self.parts: list[Part] = []
        self.undecided = 0
        self.changed = False
        self.opens: int | None = None
        self.leads: WaitingFrame | None = None


class FrameQueue:
    """The frames that have not left, in order. `size`: their bytes."""

    def __init__(self) -> None:
        self.frames: deque[WaitingFrame] = deque()
        self.size = 0
        self._openers: list[WaitingFrame] = []

    def append(self, frame: WaitingFrame) -> None:
        self.frames.append(frame)
        self.size += len(frame.frame.raw)

    def drop_latest(self) -> None:
        """Leave the latest frame out."""
        self.size -= len(self.frames.pop().frame.raw)

    def applied(self, frame: WaitingFrame) -> list[WaitingFrame]:
        """All events of a frame went through their lanes; returns the frames that may leave.

        One that only opens something waits for one that does more. A frame without data after such a one says nothing,
        and waits with it.
        """
        opens = frame.opens is not None or (frame.frame.data is None and self._openers)
        if opens:
            self._openers.append(frame)
        if self._openers and not (opens and len(self._openers) <= _OPENERS):
            self.lead(frame)
        return self.leaving()

    def lead(self, frame: WaitingFrame) -> None:
        """What only opened something leaves with this frame."""
        for opener in self._openers:
            opener.leads = frame
        self._openers = []

    def leaving(self) -> list[WaitingFrame]:
        """The first frames, as far as they wait for nothing any more."""
        leaving: list[WaitingFrame] = []
        for frame in self.frames:
            if frame.undecided or ((self._openers or frame.leads is not None) and self._waits(frame)):
                break
            leaving.append(frame)
        return leaving

    def _waits(self, frame: WaitingFrame) -> bool:
        """Whether a frame that is decided waits for others. One that opens something says so only where that stays."""
        if frame.leads is None:
            return frame in self._openers
        if frame.leads.undecided:
            return True
        if frame.opens is not None and frame.leads.changed:
            frame.changed = True
        elif frame.opens is not None:
            frame.parts.append((frame.opens, Text("")))
        return False


@dataclass(frozen=True, slots=True)
class Ending:
    """A finish reason and its frame, until it is known that nothing follows. `waits`: the frame has not left."""

    frame: WaitingFrame
    finish: Finish
    waits: bool


def _shows(items: Iterable[Item]) -> bool:
    """Whether the client is shown more than white space."""
    return any(isinstance(item, Text) and not item.text.isspace() for item in items)


class LaneFrames:
    """One lane and the frames in which its undecided text and events stand.

    Some servers give a finish reason in every frame, some another one after their last text. So a reason ends a lane
    only when nothing follows, but its frame leaves at once where it can: with the reason that holds for all that came
    so far. Text that is held is decided by a reason, unless every frame of the lane has had one. The frame waits where
    a call is open, since what the client is to be given then depends on what follows.

    verdicts, notes  where the lane's are to be added, each with the lane's number
    keeps_markup     whether the codec is given the markup of calls, too
    broken_is_text   a call that broke off is text to the client
    watch            looks at the beginning of the message's text; None once it has seen enough
    endings          the latest finish reasons, after which nothing has come
    reasonless       a frame of the lane had text or a call, and no finish reason
    """

    __slots__ = (
        "_broken_is_text", "_content", "_cursor", "_keeps_markup", "_natives", "_notes", "_text", "_verdicts",
        "endings", "lane", "number", "passes", "reasonless", "watch",
    )  # fmt: skip

    def __init__(
        self,
        lane: Lane,
        number: int,
        verdicts: list[tuple[int, Verdict]],
        notes: list[tuple[int, Note]],
        *,
        keeps_markup: bool,
        broken_is_text: bool,
        watch: MessageWatch | None = None,
    ) -> None:
        self.lane = lane
        self.passes = lane.passes if watch is None else self._passes
        self.watch = watch
        self.number = number
        self.endings: list[Ending] = []
        self.reasonless = False
        self._verdicts = verdicts
        self._notes = notes
        self._keeps_markup = keeps_markup
        self._broken_is_text = broken_is_text
        self._text: deque[tuple[WaitingFrame, int, Place | None]] = deque()
        self._natives: deque[tuple[WaitingFrame, Event]] = deque()
        self._cursor: WaitingFrame | None = None  # the frame of the latest text that was decided
        self._content: WaitingFrame | None = None  # the latest frame with text or a call, until it gives a reason

    @property
    def is_open(self) -> bool:
        """Whether text or native events of the lane are undecided."""
        return bool(self._text or self._natives)

    @property
    def ending_waits(self) -> bool:
        """Whether the frame of a finish reason waits."""
        return any(ending.waits for ending in self.endings)

    @property
    def undecided(self) -> int:
        """How many characters of the lane's text are undecided."""
        return sum(size for _, size, _ in self._text)

    # In

    def watched(self, text: str) -> None:
        """Let the watch see the next text, until it has seen enough."""
        if self.watch is not None and not self.watch.text(text):
            self.watch = None
            self.passes = self.lane.passes

    def _passes(self, text: str) -> bool:
        """`passes` until the watch has seen enough."""
        self.watched(text)
        return self.lane.passes(text)

    def text(self, frame: WaitingFrame, text: str, place: Place | None = None) -> bool:
        """The next text of the lane is in this frame. Returns whether more than white space of it is shown by now."""
        self.watched(text)
        self.expect_text(frame, len(text), place)
        items = self.lane.text(text)
        self.apply(frame, items)
        return _shows(items)

    def expect_text(self, frame: WaitingFrame, size: int, place: Place | None = None) -> None:
        """So many characters of this frame are undecided."""
        self._cursor = None
        self._has_content(frame)
        self._text.append((frame, size, place))
        frame.undecided += size

    def native(self, frame: WaitingFrame, event: CallStart | CallPiece | CallEnd) -> None:
        """The next event of a native call is in this frame."""
        self._cursor = None
        self._has_content(frame)
        self._natives.append((frame, event))
        frame.undecided += 1
        self.apply(frame, self.lane.native(event))

    def passes_piece(self, piece: CallPiece) -> PieceFate | None:
        """What becomes of a piece of a native call, with nothing else in its frame, to which nothing can happen."""
        if self.endings or self.lane.finished or (fate := self.lane.passes_piece(piece)) is None:
            return None
        self._cursor = None
        self.reasonless = True
        return fate

    def ends(self, frame: WaitingFrame, finish: Finish, *, last: bool) -> None:
        """This frame gives the lane's finish reason. `last`: nothing of the lane follows.

        Else the lane ends when `finish` is called, and goes on with `goes_on`.
        """
        self.reasonless = self.reasonless or self._content not in {None, frame}
        self._content = None
        if not last and self.lane.row.end.doubts(finish.reason):  # some servers give a reason in every frame
            self.endings.append(Ending(frame, finish, waits=True))
            frame.undecided += 1
            return
        if not last and self._leaves_at_once(finish):
            reason = self.lane.row.end.reason(finish.reason)
            frame.parts.append((self.number, Finish(reason)))
            frame.changed = frame.changed or reason != finish.reason
            self.endings = [Ending(frame, finish, waits=False)]
            return
        self.endings.append(Ending(frame, finish, waits=True))
        frame.undecided += 1
        if last or self._is_end(finish):
            self.finish(frame)

    def ends_part(self, frame: WaitingFrame, end: Finish) -> bool:
        """A part of the message ends with this frame. Returns whether more than white space of it is shown by that.

        Where its calls wait for what follows in the message, so does its end: `finish` says that nothing does, or
        `decline` that something does.
        """
        self._cursor = None
        self._content = None
        items = self.lane.finish_part()
        self.apply(frame, items)
        if self.lane.reader.waits_for_message:
            self.endings.append(Ending(frame, end, waits=True))
            frame.undecided += 1
        return _shows(items)

    def ends_with_text(self, frame: WaitingFrame, finish: Finish) -> bool:
        """The message ends with this lane. Returns whether more than white space of what is undecided in it is text.

        Where the message broke off, it is said to be.
        """
        if not self.is_open or finish.reason in CUT_REASONS:
            return self.is_open
        self._cursor = None
        items = self.lane.finish_part()
        self.apply(frame, items)
        return _shows(items)

    def decline(self, frame: WaitingFrame, reason: Reason) -> None:
        """Something follows in the message after calls that wait for its end: they are none, and their part ends."""
        self._cursor = None
        self.apply(frame, self.lane.decline_waiting(reason))
        self.finish(frame)

    def goes_on(self) -> None:
        """The lane goes on after a finish reason: it was none. A frame that waits and is encoded anew loses it."""
        for ending in self.endings:
            ending.frame.undecided -= ending.waits
        self.endings.clear()

    def finish(self, frame: WaitingFrame) -> None:
        """Nothing follows the latest finish reasons. `frame` is the one that is being read."""
        endings, self.endings = self.endings, []
        for ending in endings:
            self._cursor = None
            items = self.lane.finish(End(ending.finish.reason, isinstance(ending.finish, PartEnd)))
            if not ending.waits:
                self.apply(frame, items[:-1])
                continue
            self.apply(ending.frame, items)
            ending.frame.undecided -= 1
            ending.frame.changed = ending.frame.changed or items[-1:] != [Finish(ending.finish.reason)]

    def release(self, frame: WaitingFrame) -> None:
        """Put what the lane releases into its frames, since no more may be held."""
        self._cursor = None
        self.apply(frame, self.lane.release())

    def cut(self, frame: WaitingFrame) -> None:
        """Nothing follows, and the lane may not have ended."""
        self._cursor = None
        self.apply(frame, self.lane.finish(End(None)))

    # The end

    def reasons(self, frame: WaitingFrame) -> None:
        """This frame has reasoning, in which the end may find calls."""
        if self.lane.may_call_in_reasoning:
            self._has_content(frame)

    def _has_content(self, frame: WaitingFrame) -> None:
        """This frame has text or a call."""
        if self._content is not frame:
            self.reasonless = self.reasonless or self._content is not None
            self._content = frame

    def _leaves_at_once(self, finish: Finish) -> bool:
        """Whether the frame of this reason leaves, whatever follows: it would hold the same if the lane ended here."""
        lane = self.lane
        if not lane.decides_at_end or self.is_open or self.ending_waits or lane.writes_at_end or lane.adds_at_end:
            return False
        if lane.may_call_in_reasoning:
            return False
        if self._keeps_markup and lane.reader.reads_committed:
            return False  # where a call is shown whole, one that never ends is text, in front of the reason
        if lane.reader.unclosed is not None or lane.calls.native_open:
            return lane.keeps(finish.reason) and not self._keeps_markup and lane.row.act is None
        return True

    def _is_end(self, finish: Finish) -> bool:
        """Whether this reason ends the lane, which may go on after it all the same."""
        lane = self.lane
        if not lane.decides_at_end and not self.is_open:
            return True
        if not self.reasonless and (self.is_open or lane.reader.inside or lane.may_call_in_reasoning):
            return False
        if finish.reason in CUT_REASONS:
            return True
        if lane.calls.native_open or self._holds_part_of_call:
            return False
        # What is held inside a call is mostly its last closer, after which others are missing.
        return bool(self._text) or not lane.text_argument_open

    @property
    def _holds_part_of_call(self) -> bool:
        """Whether the arguments of a native call that is held have begun and not ended."""
        open_ = set()
        for _, event in self._natives:
            if isinstance(event, CallPiece) and event.json and not event.json.isspace():
                open_.add(event.index)
            elif isinstance(event, CallEnd):
                open_.discard(event.index)
        return bool(open_)

    # Out

    def apply_at_once(self, frame: WaitingFrame, items: Sequence[Item]) -> int:
        """`apply` for a frame whose text is the only one that is undecided. Returns how much of it is decided.

        -1 for items that take the long way, such as verdicts: they come once in a call, this with every piece of one.
        """
        decided = 0
        for item in items:
            if isinstance(item, Markup):
                decided += len(item.text)
                frame.changed = True
                if self._keeps_markup:
                    frame.parts.append((self.number, item))
            elif isinstance(item, Text):
                decided += len(item.text)
                frame.parts.append((self.number, item))
            elif isinstance(item, CallPiece):
                frame.parts.append((self.number, item))
            else:
                return -1
        return decided

    def apply(self, frame: WaitingFrame, items: Sequence[Item]) -> None:
        """Put items into the frames that they belong to. `frame` is the one that is being read."""
        for item in items:
            if isinstance(item, Text):
                self._decide(item.text, shown=True)
            elif isinstance(item, Markup | Removed):
                self._decide(item.text, shown=False, markup=isinstance(item, Markup))
            elif isinstance(item, Verdict):
                self._judge(frame, item)
            elif isinstance(item, Native):
                self._answer(item)
            elif isinstance(item, Note):
                self._notes.append((self.number, item))
            elif isinstance(item, str):
                self._place(frame, Text(item), changed=True)
            elif isinstance(item, Finish):
                frame.parts.append((self.number, item))
            else:
                self._place(frame, item, changed=True)

    def _judge(self, frame: WaitingFrame, verdict: Verdict) -> None:
        """Report a verdict. Where calls are shown whole, the markup so far is this one's, and text if it broke."""
        if self._keeps_markup:
            of_text = verdict.index is not None and verdict.dialect is not None
            broken = of_text and verdict.status in {"truncated", "malformed"}
            self._place(frame, Markup(""), changed=broken)
            if broken and self._broken_is_text and verdict.index is not None:
                self.lane.calls.withhold(verdict.index)
                verdict = msgspec.structs.replace(verdict, index=None)
        self._verdicts.append((self.number, verdict))

    def _answer(self, item: Native) -> None:
        """The next native event is decided."""
        frame, event = self._natives.popleft()
        frame.undecided -= 1
        if len(item.parts) != 1 or (item.parts[0] is not event and item.parts[0] != event):
            frame.changed = True
        for part in item.parts:
            frame.parts.append((self.number, Text(part) if isinstance(part, str) else part))

    def _place(self, frame: WaitingFrame, event: Event, *, changed: bool) -> None:
        """Put an event after the text that was decided last, or in front of what is undecided."""
        target = self._cursor or (self._text[0][0] if self._text else frame)
        latest = target.parts[-1] if target.parts else None
        if isinstance(event, CallPiece) and latest is not None and latest[0] == self.number:
            before = latest[1]
            if isinstance(before, CallPiece) and before.index == event.index and before.update is event.update is None:
                target.parts.pop()  # one frame holds one piece of a call
                event = CallPiece(event.index, before.json + event.json)
        target.parts.append((self.number, event))
        target.changed = target.changed or changed

    def _decide(self, text: str, *, shown: bool, markup: bool = True) -> None:
        """The next characters that are undecided are this text: shown, or taken out of their frames."""
        start = 0
        while start < len(text):
            frame, left, place = self._text[0]
            if place is not None:
                frame.parts.append((self.number, place))
            size = min(left, len(text) - start)
            if shown:
                frame.parts.append((self.number, Text(text[start : start + size])))
            else:
                frame.changed = True
                if markup and self._keeps_markup:
                    frame.parts.append((self.number, Markup(text[start : start + size])))
            frame.undecided -= size
            self._cursor = frame
            if size == left:
                self._text.popleft()
            else:
                self._text[0] = (frame, left - size, None)
            start += size
