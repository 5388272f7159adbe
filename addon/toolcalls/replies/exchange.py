"""One request and its reply: bytes in, bytes and verdicts out. No mitmproxy in it, no clock, no randomness.

A reply is a row of frames. Each frame is decoded to events, its text and its calls go through a lane, and the frame
then leaves as it came, the same bytes, or is encoded anew if something of it changed. Frames with anything undecided
wait, and everything after them (`waiting.py` has the states of a frame). A reply that comes whole is one frame.

That is the one long way, `_take`. Most frames of a stream come alone and need less: one that is known by its bytes is
not decoded (`known_frames.py`), its text or its piece may just pass (`short_ways.py`), and where nothing waits and all
of its text is decided at once, it needs no queue (`_text_alone`).

A stream's finish reason ends a reply only where nothing follows: some servers send one in every frame. Its frame leaves
at once all the same, except inside a call (`LaneFrames`); if more text follows, the reply goes on.

Our own bugs are caught here, in one place: from there on the upstream's bytes pass as they are, `failure` says why.
Only where a rule was written to block nothing passes any more: a fault must not open what was closed.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from toolcalls.events import CallPiece, Markup, Note, Text, Unplaced
from toolcalls.mending.reasoning_calls import calls_in
from toolcalls.mending.reply_watch import ReplyWatch
from toolcalls.processors import LoopWatch, Processors
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.answered_errors import AnsweredErrors
from toolcalls.replies.body_encoding import as_utf8, encoding_of
from toolcalls.replies.calls import ClientCall
from toolcalls.replies.frame_writing import FrameWriter
from toolcalls.replies.known_frames import KnownFrames
from toolcalls.replies.lanes import Lanes
from toolcalls.replies.mended_frames import MendedFrames
from toolcalls.replies.plan import Plan
from toolcalls.replies.reply_mending import reply_mending
from toolcalls.replies.stages.mend import Known, Mend
from toolcalls.replies.unread_calls import UNREAD_CALL, UNREAD_WHOLE, UnreadCalls, unread_body
from toolcalls.replies.waiting import FrameQueue, LaneFrames, WaitingFrame
from toolcalls.requests.evidence import Decision
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import STREAM_END, Part, Wire
from toolcalls.wires.frames import FRAMES, SSE, Form, Frame

_CR = ord("\r")


class Exchange:
    """Rewrites one reply. Feed it bytes, then `close` it (the body is whole) or `abort` it (the connection broke).

    form   how the body is cut into frames; "whole" for one JSON body
    seed   tells this exchange from all others and is the same on a replay: a digest of the request, or what gives it
    processors   the route's, None where it has none
    watch  the loop guard that only looks on, None where there is none
    is_error   the reply's status is that of an error: it is no message that could be empty or end wrongly
    moment     when the reply came: seconds since 1970, and the same as ISO 8601 has it; None where nobody knows
    """

    def __init__(
        self,
        wire: Wire,
        call_policy: CallPolicy,
        decision: Decision,
        tools: Toolbox,
        *,
        form: Form,
        seed: bytes | Callable[[], bytes] = b"",
        processors: Processors | None = None,
        watch: LoopWatch | None = None,
        is_error: bool = False,
        moment: tuple[int, str] | None = None,
    ) -> None:
        self.failure: Exception | None = None
        self.wire = wire
        self.call_policy = call_policy = replace(call_policy)  # of this reply alone, since it learns what was fetched
        self.decision = decision
        self._seed = seed
        self._streamed = streamed = form != "whole"
        self._most_waits = call_policy.route.max_frame_bytes if streamed else None  # bytes
        self._codec = wire.codec(streamed=streamed)
        self._frames = FRAMES.get(form, SSE)(call_policy.route.max_frame_bytes)
        self._writer = FrameWriter(self._codec, self._frames.build, event_name=wire.event_name, streamed=streamed)
        self._reply_watch = ReplyWatch(
            lambda text: calls_in(text, self.call_policy, tools),
            says_calls=wire.says_calls,
            stop_answers=wire.stop_names_choice and call_policy.request.names_tool,
            carries_calls=call_policy.request.carries_calls,
            is_error=is_error,
        )
        mending = reply_mending(
            wire,
            call_policy,
            tools,
            streamed=streamed,
            moment=moment,
            seed=self._known_seed,
            built=lambda payload, like, keep: self._writer.built(payload, like, keep=keep),
            message=self._reply_watch.message,
        )
        self._mended, self._mend_calls, self._answers = mending.frames, mending.calls, mending.errors
        self._plan = plan = Plan(
            wire, call_policy, decision, tools, processors, watch, streamed=streamed, mending=mending
        )
        self.guarded = plan.guarded  # where a rule may block, nothing passes after a fault
        self._unread = UnreadCalls(form) if self.guarded else None
        if self.guarded:
            self._codec.guard(reads_text=plan.reads_text)
        self._keeps_markup = plan.whole_calls
        at_once = not streamed or wire.sequential_lanes
        self._lanes = Lanes(plan, call_policy, self._reply_watch, self._lane_seed, ends_at_once=at_once)
        self.verdicts, self.notes = self._lanes.verdicts, self._lanes.notes
        self._known = KnownFrames(self._codec, self._lanes.frames, self._mended or self._mend_calls, self._unread)
        if self._mend_calls is not None:
            self._codec.mends(self._mend_calls.mending)
        self._overflow_noted = False
        self._body = bytearray()
        self._backlog: deque[Frame] = deque()
        self._queue = FrameQueue()
        self._waiting = self._queue.frames
        self._out: list[bytes] = []
        self._given_back = b""  # what the end gives back of a call that had none
        self._latest: Frame | None = None  # with text or calls, on a wire whose calls are never split
        self._due = b""  # what came and stands neither in the backlog nor in the queue
        self._left_out = False  # the latest frame, as a rule may block what cannot be read in it
        self._closed = False

    @property
    def client_calls(self) -> list[tuple[int, ClientCall]]:
        return self._lanes.client_calls

    @property
    def reply_id(self) -> str:
        return self._codec.reply_id

    def _known_seed(self) -> bytes:
        """What new ids are made of; the reply's own id where no seed was given."""
        seed = self._seed() if callable(self._seed) else self._seed
        return seed or self.reply_id.encode("utf-8", "surrogatepass")

    def _lane_seed(self) -> Callable[[], bytes]:
        """What gives a lane that begins now the same."""
        if callable(self._seed):
            return self._seed
        known = self._known_seed()
        return lambda: known

    # Bytes

    def answer(self, error: bytes, form: Form, status: int) -> bytes | None:
        """The body of the reply that the client is given instead of an error with this body and status, which is all
        that the upstream sent; None where the error stays.
        """
        made = None if self._answers is None else self._answers.body_for(error, form, status)
        if made is None or self._answers is None or self._answers.note is None:
            return None
        self.notes.append((0, self._answers.note))
        out = self.feed(made) + self.close()
        return out if self.failure is None else None

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the reply; returns what leaves now, b"" when nothing does."""
        if self.failure is not None:
            return b"" if self.guarded else data
        if not self._streamed:
            self._body += data
            return b""
        self._due = data
        try:
            if self._frames.at_boundary and not self._codec.must_encode:
                known = self._known
                if (text := known.text.text_of(data)) is not None:
                    lane = self._lanes.frames[known.text.lane]
                    if not self._waiting and lane.passes(text):
                        return data
                    if text and not self._waiting:  # one without text is decoded: inside a call it leaves all the same
                        return self._text_alone(lane, Frame(data, data[6:-2]), text, usual=True)
                    if text and not lane.endings:
                        return self._behind(lane, data, text)
                elif known.lane is not None and (piece := known.piece(data)) is not None:
                    return self._piece_alone(known.lane, data, piece)
            return self._stream(data)
        except Exception as error:  # noqa: BLE001 - our own bugs are caught here and in `_end`
            return self._fail(error, data)

    def close(self) -> bytes:
        """The body has ended as it should; returns its last bytes."""
        return self._end()

    def abort(self) -> bytes:
        """The connection broke: no call is completed. Returns what was held and can reach nobody any more."""
        if not self._streamed:
            self._closed = True
            return b"" if self.guarded else bytes(self._body)
        return self._end(broken=True)

    def _end(self, *, broken: bool = False) -> bytes:
        if self._closed or self.failure is not None:
            return b""
        self._closed = True
        body = self._due = bytes(self._body)  # b"" for a stream: all that came is in frames
        try:
            frames = self._frames.flush() if self._streamed else self._whole(body)
            self._due = b"".join([frame.raw for frame in frames])
            if self._mended is not None and self._streamed:
                frames = self._mend(self._mended, frames)
                self._due += self._mended.held
                frames += self._mended.rest()
            out = self._take(frames)
            self._mended_events([] if self._mend_calls is None else self._mend_calls.finish())
            out += self._cut(broken=broken)
            # An event that the body's end has cut stays the last.
            unread = frames[-1].raw if frames and not frames[-1].complete else b""
            at = len(out) - len(unread) if out.endswith(unread) else len(out)
            return out[:at] + self._given_back + out[at:]
        except Exception as error:  # noqa: BLE001 - our own bugs are caught here and in `feed`
            return self._fail(error)

    def _whole(self, body: bytes) -> list[Frame]:
        """A reply that comes whole; nothing where a client may read in it what no rule that may block would see."""
        frame = Frame(body, as_utf8(body, encoding_of(body)))
        if self.guarded and (why := unread_body(frame.data or b"")) is not None:
            self.notes.append(
                (0, Note("unread", f"{why}; nothing of it passed, as a rule may block a call in it", True))
            )
            return []
        return [frame] if self._mended is None else self._mended.all_of([frame])

    def _fail(self, error: Exception, latest: bytes = b"") -> bytes:
        """Everything owed leaves as it came, and so does all that follows. `latest`: the piece under way."""
        self.failure = error
        if self.guarded:
            out, self._out = b"".join(self._out), []
            return out
        held = self._frames.held  # it came before a piece that is not cut into frames yet, else after its frames
        mended = b"" if self._mended is None else self._mended.held
        owed = [
            *self._out,
            *(waiting.frame.raw for waiting in self._waiting),
            *(frame.raw for frame in self._backlog),
            *((mended, held, latest) if self._due is latest else (self._due, mended, held)),
        ]
        self._out, self._backlog = [], deque()
        self._waiting.clear()
        return b"".join(owed)

    @property
    def held(self) -> int:
        """How many bytes have come and not left. Where a fault was, nothing is held."""
        if self._closed or self.failure is not None:
            return 0
        mended = b"" if self._mended is None else self._mended.held
        return len(self._body) + len(self._frames.held) + self._queue.size + len(mended)

    # Frames that come alone

    def _stream(self, data: bytes) -> bytes:
        """One piece of the stream. Usually it is one frame; those that follow it may be known by its bytes."""
        frames = self._frames.feed(data)
        self._due = frames[0].raw if len(frames) == 1 else b"".join([frame.raw for frame in frames])
        if self._frames.overflowed:
            self._overflow()
        if self._mended is not None:
            frames = self._mend(self._mended, frames)
        frame = frames[0] if len(frames) == 1 else None
        if frame is None or (payload := frame.data) is None or frame.raw[-1] == _CR:
            return self._take(frames)
        if self._waiting and frame.raw != data:
            return self._take(frames)
        if self._answers is not None and self._answers.waits_for(payload):
            return self._take(frames)
        parts = self._codec.decode(payload)
        can_omit = self._codec.can_omit and self._frames.can_omit
        number, event = parts[0] if can_omit else (0, None)
        if not self._waiting and isinstance(event, Text) and not (self._unread and self._unread.may_be_in(frame)):
            lane = self._lanes.of(number)
            lane.reasonless = True
            if self._codec.must_encode:
                lane.watched(event.text)
                return self._text_alone(lane, frame, event.text)
            self._known.learn_text(frame, number, event.text)
            return frame.raw if lane.passes(event.text) else self._text_alone(lane, frame, event.text)
        self._take_through(frames, parts)
        waits = bool(self._waiting) and self._waiting[-1].frame is frame
        is_gone = not (any(self._out) or self._waiting or self._left_out)
        mended = self._mend_calls and self._mend_calls.latest
        if frame.raw == data and not mended and (waits or is_gone or self._out == [data]):
            self._known.learn(frame, parts, can_omit=can_omit)
        return self._send()

    def _text_alone(self, lane: LaneFrames, frame: Frame, text: str, *, usual: bool = False) -> bytes:
        """A frame with nothing but text, and no other that waits. `usual`: `data: `, the payload, a blank line."""
        items = lane.lane.text(text)
        if self._keeps_markup:
            self._latest = frame
        if 0 < len(items) <= 2 and isinstance(markup := items[0], Markup) and len(markup.text) == len(text):
            made = items[-1]
            if (made is markup and usual) or isinstance(made, CallPiece):  # the usual frames inside a call
                parts: list[Part] = [(lane.number, markup)] if self._keeps_markup else []
                if made is not markup:
                    parts.append((lane.number, made))
                for new in self._codec.encode(frame.data or b"", parts, can_omit=True):
                    return b"data: %b\n\n" % new if usual else self._writer.built(new, frame.raw, keep=True)
                return b""  # its call is held, or the wire never splits calls
        waiting = WaitingFrame(frame)
        waiting.can_omit = True
        if lane.apply_at_once(waiting, items) == len(text):
            return self._writer.written(waiting)
        waiting.parts, waiting.changed = [], False
        self._queue.append(waiting)
        self._due = b""
        lane.expect_text(waiting, len(text))
        lane.apply(waiting, items)
        return self._applied(waiting)

    def _piece_alone(self, lane: LaneFrames, data: bytes, piece: CallPiece) -> bytes:
        """A known frame with nothing but a piece of a native call."""
        mend = self._known.mend
        fate = None if self._waiting else lane.passes_piece(piece)
        if fate is None and not self._waiting:
            return self._stream(data)
        if mend is not None and mend(piece.json) != piece.json:
            raise AssertionError("the inside of a string was mended")
        if fate == "leaves":
            return data
        if fate is None:
            return self._behind(lane, data, piece)
        waiting = WaitingFrame(Frame(data, data[6:-2]), self._known.alike)
        waiting.changed = True
        return self._writer.written(waiting)

    def _behind(self, lane: LaneFrames, data: bytes, what: str | CallPiece) -> bytes:
        """A known frame with text or a piece of a native call, which comes while others wait."""
        waiting = WaitingFrame(Frame(data, data[6:-2]), None if isinstance(what, str) else self._known.alike)
        self._queue.append(waiting)
        self._due = b""
        if isinstance(what, str):
            waiting.can_omit = True
            lane.text(waiting, what)
        else:
            lane.native(waiting, what)
        return self._applied(waiting)

    # All others

    def _take(self, frames: list[Frame], parts: list[Part] | None = None) -> bytes:
        """What leaves with frames; `parts` are the events of the first one where they are known."""
        self._take_through(frames, parts)
        return self._send()

    def _take_through(self, frames: list[Frame], parts: list[Part] | None) -> None:
        self._backlog.extend(frames)
        self._due = b""
        self._left_out = False
        while self._backlog:
            if self._answers is not None and self._answered(self._answers, self._backlog[0]):
                parts = None
            waiting = WaitingFrame(self._backlog[0])
            self._queue.append(waiting)
            self._backlog.popleft()
            payload = waiting.frame.data
            if payload is not None and parts is None:
                parts = self._codec.decode(payload)
            waiting.can_omit = payload is not None and self._codec.can_omit and self._frames.can_omit
            why = None if self._unread is None else self._unread.why_left_out(waiting.frame, parts or ())
            if self._unread is not None and parts is not None:
                parts = self._unread.without_left_out(parts)
            parts = [part for part in parts or () if not isinstance(part[1], Unplaced)]
            if payload is not None:
                self._reply_watch.payload(payload, known=bool(parts))
            if why is None and payload is not None and self.guarded and self._codec.left_unread:
                why = UNREAD_CALL
            if why is not None:
                self._leave_out(why, decoded=payload is not None)
            elif self._mend_calls is None:
                self._take_events(waiting, parts)
            else:
                self._mend_events(self._mend_calls, waiting, parts)
            parts = None

    def _mend_events(self, mend: Mend[WaitingFrame], waiting: WaitingFrame, parts: list[Part]) -> None:
        """The latest frame with its events, which may have to wait for others."""
        waiting.undecided += 1
        self._mended_events(mend.feed(waiting, waiting.frame.data, parts))
        if mend.holds:
            self._known.text.forget()  # the next frame goes behind it
        if mend.holds and self._most_waits is not None and self._queue.size > self._most_waits:
            self._mended_events(mend.release())

    def _mended_events(self, known: list[Known[WaitingFrame]]) -> None:
        """Frames with their events, as they should have come."""
        for one in known:
            one.frame.undecided -= 1
            one.frame.changed = one.frame.changed or one.changed
            self._take_events(one.frame, one.parts)

    def _take_events(self, waiting: WaitingFrame, parts: list[Part]) -> None:
        """The latest frame with its events."""
        payload = waiting.frame.data
        if payload is not None:
            if self._keeps_markup and parts:
                self._latest = waiting.frame
            if not self._streamed:
                self._plan.read_ahead(parts)
            self._lanes.take(waiting, parts)
            if payload == STREAM_END:
                self._lanes.finish(waiting)
        self._move(waiting)

    def _mend(self, mended: MendedFrames, frames: list[Frame]) -> list[Frame]:
        """The frames that may be read now, as they should have come."""
        if not mended.may_hold:
            return mended.all_of(frames)
        mended.take(frames)
        self._due = b""  # they are in `mended`
        ready, self._due = mended.ready()
        if mended.holds:
            self._known.text.forget()  # the next frame may not leave before those that wait
        return ready

    def _answered(self, answers: AnsweredErrors, frame: Frame) -> bool:
        """Whether the next frame was an error that quotes a call, and has become frames with that call."""
        if frame.data is None or not frame.complete or not answers.waits_for(frame.data):
            return False
        if self._lanes.may_have_call:
            return False
        made = answers.instead_of(frame)
        if made is None or answers.note is None:
            return False
        self._backlog.popleft()
        self._backlog.extendleft(reversed(made))
        self.notes.append((0, answers.note))
        return True

    def _leave_out(self, why: str, *, decoded: bool) -> None:
        """The latest frame does not leave. Each reason is noted once, however many pieces it is about."""
        note = (0, Note("unread", why if self._streamed else UNREAD_WHOLE, True))
        if note not in self.notes:
            self.notes.append(note)
        self._left_out = True
        self._reply_watch.passed_over()
        self._queue.drop_latest()
        if decoded:
            self._codec.leave_out()
        self._writer.ends_in_return = False

    def _overflow(self) -> None:
        """A frame grew past its limit, or is broken: from it on the reply is forwarded unparsed. Where calls may be
        blocked, nothing is forwarded.
        """
        broken = self._frames.broken
        said = broken or f"a frame is larger than {self.call_policy.route.max_frame_bytes} bytes"
        if self.guarded:
            raise OverflowError(said)
        if not self._overflow_noted:
            self._overflow_noted = True
            self._reply_watch.passed_over()
            rule = "unread" if broken else "max_frame_bytes"
            self.notes.append((0, Note(rule, f"{said}; from there on the reply is forwarded unparsed", True)))

    # Out

    def _applied(self, waiting: WaitingFrame) -> bytes:
        """What leaves now that all events of the latest frame went through their lanes."""
        self._move(waiting)
        return self._send()

    def _move(self, waiting: WaitingFrame) -> None:
        """The same, without sending it.

        Where more bytes wait than one frame may have, however little their text, that is text now, and they leave. Else
        a few characters that may begin a call would hold back all that comes beside them: reasoning, other choices,
        comments that keep the connection alive.
        """
        self._write(self._queue.applied(waiting))
        if self._most_waits is not None and self._queue.size > self._most_waits:
            self._lanes.release(waiting)
            self._write(self._queue.leaving())

    def _write(self, leaving: list[WaitingFrame]) -> None:
        """Write the first frames of the queue, which may leave."""
        for waiting in leaving:
            self._out.append(self._writer.written(waiting))
            self._queue.size -= len(self._waiting.popleft().frame.raw)  # no call between: a fault must not repeat it

    def _send(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)

    def _cut(self, *, broken: bool) -> bytes:
        """The body has ended; what was decided by that leaves. `broken`: as in `Lanes.cut`."""
        waiting = WaitingFrame(Frame(b"", None))
        self._lanes.cut(waiting, broken=broken)
        self._queue.lead(WaitingFrame(Frame(b"", None)))
        latest = self._latest
        if latest is not None and latest.data is not None and self._streamed and waiting.changed:
            # Where a call is shown whole, one that had no end is text again, in a frame like the latest. Elsewhere a
            # client has all of a call that it will get.
            self._given_back = self._writer.behind(latest, latest.data, waiting.parts)
        self._write(self._queue.leaving())
        return self._send()
