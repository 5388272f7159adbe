"""One request and its reply: bytes in, bytes and verdicts out. No mitmproxy in it, no clock, no randomness.

A reply is a row of frames. Each frame is decoded to events, its text and its calls go through a lane, and the frame
then leaves as it came, the same bytes, or is encoded anew if something of it changed. Frames with anything undecided
wait, and everything after them (`waiting.py` has the states of a frame). A reply that comes whole is one frame.

A stream's finish reason ends a reply only where nothing follows: some servers send one in every frame. Its frame leaves
at once all the same, except inside a call (`LaneFrames`); if more text follows, the reply goes on.

Our own bugs are caught here, in one place: from there on the upstream's bytes pass as they are, `failure` says why.
Only where a rule was written to block nothing passes any more: a fault must not open what was closed.

Past 300 lines, because the short way of the usual frame and the long way of all others share their state and must be
read against each other.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Damage,
    Event,
    Fetched,
    Finish,
    Markup,
    Note,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Place,
    Reasoning,
    Text,
    Verdict,
)
from toolcalls.mending.reasoning_calls import calls_in
from toolcalls.mending.reply_watch import MessageWatch, ReplyWatch
from toolcalls.processors import LoopWatch, Processors
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.answered_errors import AnsweredErrors
from toolcalls.replies.argument_pieces import ArgumentPieces
from toolcalls.replies.body_encoding import as_utf8, encoding_of, from_utf8
from toolcalls.replies.calls import ClientCall
from toolcalls.replies.mended_frames import MendedFrames, uncut
from toolcalls.replies.plan import Plan
from toolcalls.replies.reply_mending import reply_mending
from toolcalls.replies.unread_calls import UNREAD_CALL, UNREAD_WHOLE, UnreadCalls, is_unplaced, unread_body
from toolcalls.replies.waiting import FrameQueue, LaneFrames, WaitingFrame
from toolcalls.replies.waiting_parts import WaitingParts
from toolcalls.requests.evidence import Decision
from toolcalls.values import rawjson
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import STREAM_END, Part, Wire
from toolcalls.wires.envelope import Envelope
from toolcalls.wires.frames import FRAMES, SSE, Form, Frame


class _Named(msgspec.Struct):
    type: str | None = None
    event_type: str | None = None


_CR = ord("\r")
_decode_named = msgspec.json.Decoder(_Named).decode


def _name_of(payload: bytes, member: str) -> str | None:
    """The name of an event, which a member of its payload says, one of `_Named`.

    Lone surrogates, which msgspec refuses, may be in what a model wrote.
    """
    try:
        named = _decode_named(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return rawjson.word(rawjson.fields(payload), member) or None
    return named.type if member == "type" else named.event_type


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
        self.verdicts: list[tuple[int, Verdict]] = []
        self.notes: list[tuple[int, Note]] = []
        self.failure: Exception | None = None
        self.wire = wire
        self.call_policy = call_policy = replace(call_policy)  # of this reply alone, since it learns what was fetched
        self.decision = decision
        self._seed = seed
        self._streamed = form != "whole"
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
            streamed=self._streamed,
            moment=moment,
            seed=self._known_seed,
            built=lambda payload, like, keep: self._built(payload, like, keep=keep),
            message=self._reply_watch.message,
        )
        self._mended, self._answers = mending.frames, mending.errors
        self._plan = Plan(
            wire,
            call_policy,
            decision,
            tools,
            processors,
            watch,
            streamed=self._streamed,
            mending=mending,
        )
        self.guarded = self._plan.guarded  # where a rule may block, nothing passes after a fault
        self._unread = UnreadCalls(form) if self.guarded else None
        self._keeps_markup = self._plan.whole_calls
        self._codec = wire.codec(streamed=self._streamed)
        if self.guarded:
            self._codec.guard(reads_text=self._plan.reads_text)
        self._frames = FRAMES.get(form, SSE)(call_policy.route.max_frame_bytes)
        self._overflow_noted = False
        self._envelope = Envelope(self._probe)
        self._body = bytearray()
        self._backlog: deque[Frame] = deque()
        self._queue = FrameQueue()
        self._waiting = self._queue.frames
        self._lanes: dict[int, LaneFrames] = {}
        self._calls_come_last = call_policy.waits_for_message
        self._pieces = ArgumentPieces(self._codec, self._lanes, self._mended, self._unread)
        self._parts_waiting = WaitingParts(self.verdicts)
        self._out: list[bytes] = []
        self._given_back = b""  # what the end gives back of a call that had none
        self._latest: Frame | None = None  # with text or calls, on a wire whose calls are never split
        self._ends_in_return = False  # the latest frame that passed through the queue left with a CR at its end
        self._due = b""  # what came and stands neither in the backlog nor in the queue
        self._closed = False

    @property
    def client_calls(self) -> list[tuple[int, ClientCall]]:
        """The calls that the client is given, each with its lane's number; without those that were kept from it."""
        return [(number, call) for number, frames in self._lanes.items() for call in frames.lane.calls.client_calls]

    @property
    def reply_id(self) -> str:
        """The reply's own id, "" while unknown."""
        return self._codec.reply_id

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
                if (text := self._envelope.text_of(data)) is not None:
                    lane = self._lanes[self._envelope.lane]
                    if not self._waiting and lane.passes(text):
                        return data
                    if text and not self._waiting:  # one without text is decoded: inside a call it leaves all the same
                        return self._text_alone(lane, data, data[6:-2], text, usual=True)
                    if text and not lane.endings:
                        return self._text_behind(lane, data, text)
                pieces = self._pieces
                if pieces.lane is not None and (piece := pieces.known(data)) is not None:
                    fate = None if self._waiting else pieces.lane.passes_piece(piece)
                    if fate is not None or self._waiting:
                        if pieces.mend is not None and pieces.mend(piece.json) != piece.json:
                            raise AssertionError("the inside of a string was mended")
                        if fate == "leaves":
                            return data
                        return self._behind(pieces.lane, data, piece) if fate is None else self._without_piece(data)
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
            out = self._take(frames) + self._cut(broken=broken)
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

    # Frames

    def _stream(self, data: bytes) -> bytes:
        """One piece of the stream. Usually it is one frame with nothing but text, and all of it is decided at once.

        Then there is no book-keeping; and where the next frame's bytes differ from it in nothing but the text, `feed`
        needs not even decode it.
        """
        frames = self._frames.feed(data)
        self._due = frames[0].raw if len(frames) == 1 else b"".join([frame.raw for frame in frames])
        if self._frames.overflowed:
            self._overflow()
        if self._mended is not None:
            frames = self._mend(self._mended, frames)
        if len(frames) == 1 and self._waiting and frames[0].raw == data and frames[0].data is not None:
            return self._take_behind(frames[0], frames[0].data)
        if len(frames) != 1 or self._waiting or (payload := frames[0].data) is None or frames[0].raw[-1] == _CR:
            return self._take(frames)
        if self._answers is not None and self._answers.waits_for(payload):
            return self._take(frames)
        parts = self._codec.decode(payload)
        number, event = parts[0] if self._codec.can_omit and self._frames.can_omit else (0, None)
        if not isinstance(event, Text) or (self._unread is not None and self._unread.may_be_in(frames[0])):
            out = self._take(frames, parts)
            if out == data:
                self._pieces.learn(data, parts, can_omit=self._codec.can_omit and self._frames.can_omit)
            return out
        lane = self._lanes.get(number) or self._lane(number)
        lane.reasonless = True
        raw = frames[0].raw
        if self._codec.must_encode:
            lane.watched(event.text)
            return self._text_alone(lane, raw, payload, event.text)
        self._envelope.learn(raw, number, event.text)
        return raw if lane.passes(event.text) else self._text_alone(lane, raw, payload, event.text)

    def _take_behind(self, frame: Frame, payload: bytes) -> bytes:
        """A whole frame that comes while others wait."""
        if self._answers is not None and self._answers.waits_for(payload):
            return self._take([frame])
        parts = self._codec.decode(payload)
        out = self._take([frame], parts)
        if self._waiting and self._waiting[-1].frame is frame:
            self._pieces.learn(frame.raw, parts, can_omit=self._codec.can_omit and self._frames.can_omit)
            self._learn_behind(frame, parts)
        return out

    def _learn_behind(self, frame: Frame, parts: list[Part]) -> None:
        """A frame that was decoded and waits may have been one with nothing but text, and the next ones are like it."""
        number, event = parts[0] if parts and self._codec.can_omit and self._frames.can_omit else (0, None)
        if not isinstance(event, Text) or self._codec.must_encode:
            return
        if (self._mended is not None and self._mended.holds) or (self._unread and self._unread.may_be_in(frame)):
            return
        self._envelope.learn(frame.raw, number, event.text)

    def _behind(self, lane: LaneFrames, data: bytes, piece: CallPiece) -> bytes:
        """What leaves with a whole frame that holds a piece of a native call and comes while others wait."""
        waiting = WaitingFrame(Frame(data, data[6:-2]))
        self._queue.append(waiting)
        self._due = b""
        lane.native(waiting, piece)
        self._queue.applied(waiting)
        if self._queue.size > self.call_policy.route.max_frame_bytes:
            self._move()
            self._make_room(waiting)
        return self._send()

    def _without_piece(self, data: bytes) -> bytes:
        """What is left of a known frame without the piece of a native call in it."""
        waiting = WaitingFrame(Frame(data, data[6:-2]))
        waiting.changed, waiting.can_omit = True, self._pieces.can_omit
        return self._bytes(waiting)

    def _mend(self, mended: MendedFrames, frames: list[Frame]) -> list[Frame]:
        """The frames that may be read now, as they should have come."""
        if not mended.may_hold:
            return mended.all_of(frames)
        mended.take(frames)
        self._due = b""  # they are in `mended`
        ready, self._due = mended.ready()
        if mended.holds:
            self._envelope = Envelope(self._probe)  # the next frame may not leave before those that wait
        return ready

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

    def _text_alone(self, lane: LaneFrames, raw: bytes, payload: bytes, piece: str, *, usual: bool = False) -> bytes:
        """A frame with nothing but text, and no other that waits. `usual`: `data: `, the payload, a blank line."""
        items = lane.lane.text(piece)
        if self._keeps_markup:
            self._latest = Frame(raw, payload)
        if 0 < len(items) <= 2 and isinstance(markup := items[0], Markup) and len(markup.text) == len(piece):
            made = items[-1]
            if (made is markup and usual) or isinstance(made, CallPiece):  # the usual frames inside a call
                parts: list[Part] = [(lane.number, markup)] if self._keeps_markup else []
                if made is not markup:
                    parts.append((lane.number, made))
                for new in self._codec.encode(payload, parts, can_omit=True):
                    return b"data: %b\n\n" % new if usual else self._built(new, raw, keep=True)
                return b""  # its call is held, or the wire never splits calls
        waiting = WaitingFrame(Frame(raw, payload))
        waiting.can_omit = True
        if lane.apply_at_once(waiting, items) == len(piece):
            return self._bytes(waiting)
        waiting.parts, waiting.changed = [], False
        self._queue.append(waiting)
        self._due = b""
        lane.expect_text(waiting, len(piece))
        lane.apply(waiting, items)
        return self._send()

    def _text_behind(self, lane: LaneFrames, data: bytes, text: str) -> bytes:
        """What leaves with a known frame that comes while others wait. No wire with parts in its messages has such."""
        waiting = WaitingFrame(Frame(data, data[6:-2]))
        waiting.can_omit = True
        self._queue.append(waiting)
        self._due = b""
        lane.text(waiting, text)
        self._queue.applied(waiting)
        self._move()
        if self._queue.size > self.call_policy.route.max_frame_bytes:
            self._make_room(waiting)
        return self._send()

    def _probe(self, raw: bytes) -> tuple[int, str] | None:
        """A frame decoded in full, for the envelope: its lane and text when it holds nothing else."""
        if not (raw.startswith(b"data: ") and raw.endswith(b"\n\n") and raw.count(b"\n") == 2 and b"\r" not in raw):
            return None
        parts = self._codec.decode(raw[6:-2])
        number, event = parts[0] if parts and self._codec.can_omit else (0, None)
        return (number, event.text) if isinstance(event, Text) else None

    def _take(self, frames: list[Frame], parts: list[Part] | None = None) -> bytes:
        """Take frames through; `parts` are the events of the first one where they are known."""
        self._backlog.extend(frames)
        self._due = b""
        while self._backlog:
            if self._answers is not None and self._answered(self._answers, self._backlog[0]):
                parts = None
            waiting = WaitingFrame(self._backlog[0])
            self._queue.append(waiting)
            self._backlog.popleft()
            payload = waiting.frame.data
            if payload is not None and parts is None:
                parts = self._codec.decode(payload)
            why = None if self._unread is None else self._unread.why_left_out(waiting.frame, parts or ())
            parts = None if parts is None else self._known(parts)
            if payload is not None:
                self._reply_watch.payload(payload, known=bool(parts))
            if why is None and payload is not None and self.guarded and self._codec.left_unread:
                why = UNREAD_CALL
            if why is not None:
                self._leave_out(why, decoded=payload is not None)
                parts = None
                continue
            if payload is not None:
                waiting.can_omit = self._codec.can_omit and self._frames.can_omit
                if self._keeps_markup and parts:
                    self._latest = waiting.frame
                if not self._streamed:
                    self._plan.read_ahead(parts or ())
                self._apply(waiting, parts or [])
                parts = None
                if payload == STREAM_END:
                    for lane in self._lanes.values():
                        lane.finish(waiting)
            self._queue.applied(waiting)
            self._move()
            if self._streamed and self._queue.size > self.call_policy.route.max_frame_bytes:
                self._make_room(waiting)
        return self._send()

    def _known(self, parts: list[Part]) -> list[Part]:
        """The events that lanes are asked about."""
        if self._unread is not None:
            parts = self._unread.without_left_out(parts)
        return [part for part in parts if not is_unplaced(part[1])]

    def _leave_out(self, why: str, *, decoded: bool) -> None:
        """The latest frame does not leave. Each reason is noted once, however many pieces it is about."""
        note = (0, Note("unread", why if self._streamed else UNREAD_WHOLE, True))
        if note not in self.notes:
            self.notes.append(note)
        self._reply_watch.passed_over()
        self._queue.drop_latest()
        if decoded:
            self._codec.leave_out()
        self._ends_in_return = False

    def _answered(self, answers: AnsweredErrors, frame: Frame) -> bool:
        """Whether the next frame was an error that quotes a call, and has become frames with that call."""
        if frame.data is None or not frame.complete or not answers.waits_for(frame.data):
            return False
        if any(
            lane.is_open or lane.lane.calls.any_open or lane.lane.calls.client_calls for lane in self._lanes.values()
        ):
            return False  # the reply has a call already, or what may be one
        made = answers.instead_of(frame)
        if made is None or answers.note is None:
            return False
        self._backlog.popleft()
        self._backlog.extendleft(reversed(made))
        self.notes.append((0, answers.note))
        return True

    def _apply(self, waiting: WaitingFrame, parts: list[Part]) -> None:
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
                self._watch(self._reply_watch.message(self._plan.reply_of(number)), event)
            if isinstance(event, Fetched):
                self.call_policy.add_quotable(event.text)
                continue
            if isinstance(event, OtherContent):
                continue
            if isinstance(event, Reasoning):
                self._reasons(number)
                if not event.text:
                    continue
            lane = self._lanes.get(number) or self._lane(number)
            if isinstance(event, Reasoning):
                lane.reasons(waiting)
            if isinstance(event, Damage):
                lane.lane.calls.damaged(event.index, event.defect)
                continue
            if isinstance(event, ParagraphEnd):
                lane.lane.end_paragraph()
                continue
            opens_next = isinstance(event, Text) and not event.text and lane in self._parts_waiting
            if lane.endings and not isinstance(event, Finish | CallEnd) and not opens_next:
                lane.goes_on()
                self._parts_waiting.go_on(lane)
            if isinstance(event, Text) and not event.text:
                waiting.opens = number
            elif isinstance(event, Text):
                shows = lane.text(waiting, event.text, place)
                place = None
                if self._parts_waiting and (shows or lane.lane.reader.unopened.closed_nothing):
                    self._parts_waiting.decide(
                        waiting, "reasoning" if lane.lane.reader.unopened.closed_first else "not_terminal"
                    )
            elif isinstance(event, CallStart | CallPiece | CallEnd):
                if isinstance(event, CallStart):
                    self._plan.calls(number)
                if isinstance(event, CallStart) or (isinstance(event, CallPiece) and event.update is not None):
                    event = self._plan.declared(event)  # noqa: PLW2901 - as the tools have it
                lane.native(waiting, event)
            elif isinstance(event, Finish):
                if (
                    isinstance(event, PartEnd)
                    and self._calls_come_last
                    and self._parts_waiting.keep(lane, waiting, event)
                ):
                    continue
                if self._parts_waiting and not isinstance(event, PartEnd):
                    follows = lane not in self._parts_waiting and lane.ends_with_text(waiting, event)
                    self._parts_waiting.decide(waiting, "not_terminal" if follows else None)
                # Parts that follow each other end where they do.
                lane.ends(waiting, event, last=not self._streamed or self.wire.sequential_lanes)
            else:
                waiting.parts.append((number, event))

    @staticmethod
    def _watch(message: MessageWatch, event: Event) -> None:
        """What an event that is no text says of its message as a whole."""
        if isinstance(event, CallStart) or (isinstance(event, Damage) and event.defect.code == "no_name"):
            message.called()
        elif isinstance(event, Reasoning):
            message.thought(event.text or event.said)
        elif isinstance(event, Fetched | OtherContent):
            message.has_other = True
        elif isinstance(event, Finish) and not isinstance(event, PartEnd):
            message.ended(event.reason)

    def _reasons(self, number: int) -> None:
        """The upstream has reasoning in a field of its own."""
        self._plan.reasons_elsewhere(number)
        if (lane := self._lanes.get(number)) is not None:
            lane.lane.reasons_elsewhere()

    def _known_seed(self) -> bytes:
        """What new ids are made of; the reply's own id where no seed was given."""
        seed = self._seed() if callable(self._seed) else self._seed
        return seed or self.reply_id.encode("utf-8", "surrogatepass")

    def _lane(self, number: int) -> LaneFrames:
        known = b"" if callable(self._seed) else self._known_seed()
        lane = self._plan.lane(number, self._seed if callable(self._seed) else lambda: known)
        return self._lanes.setdefault(
            number,
            LaneFrames(
                lane,
                number,
                self.verdicts,
                self.notes,
                keeps_markup=self._keeps_markup,
                broken_is_text=self._plan.broken_is_text,
                watch=self._reply_watch.message(self._plan.reply_of(number)),
            ),
        )

    def _make_room(self, waiting: WaitingFrame) -> None:
        """More bytes wait than one frame may have, however little their text: that is text now, and they leave.

        Else a few characters that may begin a call would hold back all that comes beside them: reasoning, other
        choices, comments that keep the connection alive.
        """
        self._parts_waiting.decide(waiting, "overflow")
        for lane in self._lanes.values():
            if lane.ending_waits:
                lane.finish(waiting)
            elif lane.is_open:
                lane.release(waiting)
        self._move()

    def _cut(self, *, broken: bool) -> bytes:
        """The body has ended: a lane that did not end before was cut off.

        `broken`: so was one that did while something in it was still open.
        """
        waiting = WaitingFrame(Frame(b"", None))
        for lane in self._lanes.values():
            if broken and (lane.is_open or lane.lane.calls.any_open):
                lane.goes_on()
            else:
                lane.finish(waiting)
            if lane.is_open or not lane.lane.finished:
                lane.cut(waiting)
        self._queue.lead(WaitingFrame(Frame(b"", None)))
        self.notes.extend(self._plan.notes(self.client_calls))
        if not broken:
            self.notes.extend(self._findings())
        self._given_back = self._bytes_behind(waiting)
        return self._send()

    def _findings(self) -> list[tuple[int, Note]]:
        """What leaves the client without a call, of the reply as a whole."""
        for number, verdict in self.verdicts:
            if verdict.dialect is not None and verdict.status in {"lifted", "lowered", "blocked"}:
                self._reply_watch.message(self._plan.reply_of(number)).lifted += 1
        for number, frames in self._lanes.items():
            if frames.lane.reader.unopened.closed_nothing:
                self._reply_watch.message(self._plan.reply_of(number)).closed_nothing = True
        said = {(number, note.rule) for number, note in self.notes}  # of what was mended
        return [found for found in self._reply_watch.notes() if (found[0], found[1].rule) not in said]

    def _bytes_behind(self, waiting: WaitingFrame) -> bytes:
        """What was decided when no frame came any more, where a call is shown whole: one that had no end is text again.

        It leaves in a frame like the latest. Elsewhere a client has all of a call that it will get.
        """
        if self._latest is None or not self._streamed or not waiting.changed or self._latest.data is None:
            return b""
        payloads = self._codec.encode(self._latest.data, waiting.parts, can_omit=True)
        return b"".join(self._built(payload, self._latest.raw, keep=False) for payload in payloads)

    def _send(self) -> bytes:
        self._move()
        out, self._out = self._out, []
        return b"".join(out)

    def _move(self) -> None:
        """Write every frame that may leave."""
        queue = self._waiting
        while queue and not self._queue.waits(queue[0]):
            out = self._bytes(queue[0])
            self._out.append(out)
            self._ends_in_return = out.endswith(b"\r")
            self._queue.size -= len(queue.popleft().frame.raw)  # no call between the two: a fault must not repeat it

    def _bytes(self, waiting: WaitingFrame) -> bytes:
        frame = waiting.frame
        if frame.tail and not self._ends_in_return:  # the frame whose line end it goes on with did not leave
            return b""
        if frame.data is None or not (waiting.changed or self._codec.must_encode):
            return frame.raw
        payloads = self._codec.encode(frame.data, waiting.parts, can_omit=waiting.can_omit)
        if payloads == [frame.data]:
            return frame.raw
        if not self._streamed:
            return from_utf8(payloads[0], encoding_of(frame.raw))
        built = b"".join(self._built(payload, frame.raw, keep=True) for payload in payloads[:1])
        if len(payloads) > 1:  # the others are spelt like a short frame, so that a long one is looked at once
            like = self._frames.build(b"{}", frame.raw, keep=False, name=None)
            built += b"".join(self._built(payload, like, keep=False) for payload in payloads[1:])
        return uncut(built, frame.raw)

    def _built(self, payload: bytes, like: bytes, *, keep: bool) -> bytes:
        """A new frame, with the event's name where the wire has names."""
        name = _name_of(payload, self.wire.event_name) if self.wire.event_name else None
        return self._frames.build(payload, like, keep=keep, name=name)
