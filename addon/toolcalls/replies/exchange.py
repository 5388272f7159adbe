"""One request and its reply: bytes in, bytes and verdicts out. No mitmproxy in it, no clock, no randomness.

A reply is a row of frames. Each frame is decoded to events, its text and its calls go through a lane, and the frame
then leaves as it came, the same bytes, or is encoded anew if something of it changed. A frame whose text is not
decided yet waits, and everything behind it, so the order never changes and text that turns out to be no call leaves
byte for byte as it came. A reply that comes whole is one frame.

A frame that only opens a place for text (an empty `Text`) leaves with the first frame behind it that does more, so that
a wire need not show a message whose whole text turns out to be calls.

Where processors hold a native call, the frames with it wait like those with undecided text.

A stream's finish reason ends a reply only where nothing follows: some servers say one in every frame. So where it would
decide something, its frame waits for what comes; behind it text goes on as if nothing had been said.

Our own bugs are caught here, in one place: from there on the upstream's bytes pass as they are, `failure` says why.
Only where a rule was written to block nothing passes any more: a fault must not open what was closed.

Past 300 lines, because the short way of the usual frame and the long way of all others share their state and must be
read against each other.
"""

import re
from collections import deque
from collections.abc import Sequence

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Markup, Note, Place, Removed, Text, Verdict
from toolcalls.processors import LoopWatch, Processors, Reply
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.lane import Lane, Outcome, Record, Settled
from toolcalls.requests.evidence import Decision
from toolcalls.values import rawjson
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import STREAM_END, Part, Wire
from toolcalls.wires.envelope import Envelope
from toolcalls.wires.frames import FRAMES, SSE, Form, Frame


class _Typed(msgspec.Struct):
    type: str | None = None


_decode_typed = msgspec.json.Decoder(_Typed).decode

# Calls in a frame; in a text the quotes would be escaped. The second form is Chat Completions', before `tool_calls`.
_CALLS = re.compile(rb'"(?:tool_calls"\s*:\s*\[?|function_call"\s*:)\s*\{')

_OPENERS = 64  # how many frames that only open something may wait


def _type_of(payload: bytes) -> str | None:
    """The type that a payload names. Lone surrogates, which msgspec refuses, may stand in what a model wrote."""
    try:
        return _decode_typed(payload).type
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return rawjson.word(rawjson.fields(payload), "type") or None


def _holds_calls(frame: Frame) -> bool:
    """Whether a frame holds calls, which the wire may not have read: misspelt, in a place of some other form, or
    outside its payload, where some clients look that mind no line's beginning.
    """
    if b'"name"' not in frame.raw:
        return False
    return _CALLS.search(frame.raw) is not None or (frame.data is not None and _CALLS.search(frame.data) is not None)


def _tells_calls(parts: Sequence[Part]) -> bool:
    """Whether a frame's events are about calls."""
    return any(isinstance(event, CallStart | CallPiece | CallEnd) for _, event in parts)


class _Unit:
    """A frame on its way: what has become of its events, and how much of its text is undecided.

    `opens` is the lane in which it only opens a place for text, `leads` the frame that it leaves with then.
    """

    __slots__ = ("can_omit", "changed", "frame", "leads", "opens", "parts", "undecided")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.can_omit = False
        self.parts: list[Part] = []
        self.undecided = 0
        self.changed = False
        self.opens: int | None = None
        self.leads: _Unit | None = None


class _Text:
    """The text of one lane that went in and did not come out yet: which frames it stands in.

    `natives` are the native events that are held, each with its frame, `endings` the finish reasons that are.
    """

    __slots__ = ("cursor", "endings", "lane", "natives", "number", "passes", "waiting")

    def __init__(self, lane: Lane, number: int) -> None:
        self.lane = lane
        self.passes = lane.passes
        self.number = number
        self.waiting: deque[tuple[_Unit, int, Place | None]] = deque()
        self.natives: deque[tuple[_Unit, Event]] = deque()
        self.endings: list[tuple[_Unit, Finish]] = []
        self.cursor: _Unit | None = None


class Exchange:
    """Rewrites one reply. Feed it bytes, then `close` it (the body is whole) or `abort` it (the connection broke).

    form   how the body is cut into frames; "whole" for one JSON body
    seed   tells this exchange from all others and is the same on a replay: a digest of the request
    processors   the route's, None where it has none
    watch  the loop guard that only looks on, None where there is none
    """

    def __init__(
        self,
        wire: Wire,
        call_policy: CallPolicy,
        decision: Decision,
        tools: Toolbox,
        *,
        form: Form,
        seed: bytes = b"",
        processors: Processors | None = None,
        watch: LoopWatch | None = None,
    ) -> None:
        self.verdicts: list[tuple[int, Verdict]] = []
        self.notes: list[tuple[int, Note]] = []
        self.guarded = processors is not None and processors.blocks and decision.kind != "observe"
        self.failure: Exception | None = None
        self.wire = wire
        self.call_policy = call_policy
        self.decision = decision
        self._tools = tools
        self._seed = seed
        self._processors = processors if decision.kind != "observe" else None
        self._watch = watch
        self._streamed = form != "whole"
        # A call that processors stopped in its middle is not for the client, as text neither.
        self._marks = not self._streamed or (wire.calls_are_whole and self._processors is None)
        self._codec = wire.codec(streamed=self._streamed)
        self._frames = FRAMES.get(form, SSE)(call_policy.route.max_frame_bytes)
        self._unread = False  # a frame grew past its limit
        self._envelope = Envelope(self._probe)
        self._body = bytearray()
        self._backlog: deque[Frame] = deque()
        self._queue: deque[_Unit] = deque()
        self._waiting = 0  # bytes of the frames in the queue
        self._openers: list[_Unit] = []
        self._lanes: dict[int, _Text] = {}
        self._replies: dict[int, Reply] = {}
        self._out: list[bytes] = []
        self._back = b""  # what the end gives back of a call that had none
        self._latest: Frame | None = None  # with text or calls, on a wire whose calls are never split
        self._due = b""  # what came and stands neither in the backlog nor in the queue
        self._closed = False

    @property
    def records(self) -> list[tuple[int, Record]]:
        """The calls of the reply, each with its lane's number."""
        return [(number, record) for number, text in self._lanes.items() for record in text.lane.records]

    @property
    def reply_id(self) -> str:
        """The reply's own id, "" while unknown."""
        return self._codec.reply_id

    # Bytes

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the reply; returns what leaves now, b"" when nothing does."""
        if self.failure is not None:
            return b"" if self.guarded else data
        if not self._streamed:
            self._body += data
            return b""
        self._due = data
        try:
            if not self._queue and self._frames.at_boundary and not self._codec.must_encode:
                piece = self._envelope.text_of(data)
                if piece is not None:
                    text = self._lanes[self._envelope.lane]
                    return data if text.passes(piece) else self._bare(text, data, data[6:-2], piece, usual=True)
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
        body = self._due = bytes(self._body)  # b"" for a stream: all that came stands in frames
        try:
            frames = self._frames.flush() if self._streamed else [Frame(body, body)]
            self._due = b"".join([frame.raw for frame in frames])
            out = self._work(frames) + self._cut(broken=broken)
            # An event that the body's end has cut stays the last.
            unread = frames[-1].raw if frames and not frames[-1].complete else b""
            at = len(out) - len(unread) if out.endswith(unread) else len(out)
            return out[:at] + self._back + out[at:]
        except Exception as error:  # noqa: BLE001 - our own bugs are caught here and in `feed`
            return self._fail(error)

    def _fail(self, error: Exception, latest: bytes = b"") -> bytes:
        """Everything owed leaves as it came, and so does all that follows. `latest`: the piece under way."""
        self.failure = error
        if self.guarded:
            out, self._out = b"".join(self._out), []
            return out
        held = self._frames.held  # it came before a piece that is not cut into frames yet, else behind its frames
        owed = [
            *self._out,
            *(unit.frame.raw for unit in self._queue),
            *(frame.raw for frame in self._backlog),
            *((held, latest) if self._due is latest else (self._due, held)),
        ]
        self._out, self._queue, self._backlog = [], deque(), deque()
        return b"".join(owed)

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
        if len(frames) != 1 or self._queue or (payload := frames[0].data) is None:
            return self._work(frames)
        if self.guarded and _holds_calls(frames[0]):
            return self._work(frames)
        parts = self._codec.decode(payload)
        number, happened = parts[0] if self._codec.can_omit and self._frames.can_omit else (0, None)
        if not isinstance(happened, Text):
            return self._work(frames, parts)
        text = self._lanes.get(number) or self._lane(number)
        raw = frames[0].raw
        if self._codec.must_encode:
            return self._bare(text, raw, payload, happened.text)
        self._envelope.learn(raw, number, happened.text)
        return raw if text.passes(happened.text) else self._bare(text, raw, payload, happened.text)

    def _overflow(self) -> None:
        """A frame grew past its limit: it passes unread, and all behind it. Where calls may be blocked nothing does."""
        said = f"a frame is larger than {self.call_policy.route.max_frame_bytes} bytes"
        if self.guarded:
            raise OverflowError(said)
        if not self._unread:
            self._unread = True
            self.notes.append((0, Note("max_frame_bytes", f"{said}; from there on the reply passes unread", True)))

    def _bare(self, text: _Text, raw: bytes, payload: bytes, piece: str, *, usual: bool = False) -> bytes:
        """A frame with nothing but text, and no other that waits. `usual`: `data: `, the payload, a blank line."""
        outcomes = text.lane.text(piece)
        if self._marks:
            self._latest = Frame(raw, payload)
        if len(outcomes) == 2 and isinstance(made := outcomes[1], CallPiece):
            markup = outcomes[0]
            if isinstance(markup, Markup) and len(markup.text) == len(piece):  # the usual frame inside a call
                parts: list[Part] = [(text.number, markup)] if self._marks else []
                for new in self._codec.encode(payload, [*parts, (text.number, made)], can_omit=True):
                    return b"data: %b\n\n" % new if usual else self._made(new, raw, keep=True)
                return b""  # a wire whose calls are never split holds it until it is whole
        unit = _Unit(Frame(raw, payload))
        unit.can_omit = True
        if self._settle(text, unit, outcomes) == len(piece):
            return self._bytes(unit)
        unit.parts, unit.changed = [], False
        self._enqueue(unit)
        self._due = b""
        self._await(text, unit, len(piece))
        self._apply(text, unit, outcomes)
        return self._send()

    def _probe(self, raw: bytes) -> tuple[int, str] | None:
        """A frame decoded in full, for the envelope: its lane and text when it holds nothing else."""
        if not (raw.startswith(b"data: ") and raw.endswith(b"\n\n") and raw.count(b"\n") == 2 and b"\r" not in raw):
            return None
        parts = self._codec.decode(raw[6:-2])
        number, happened = parts[0] if parts and self._codec.can_omit else (0, None)
        return (number, happened.text) if isinstance(happened, Text) else None

    def _settle(self, text: _Text, unit: _Unit, outcomes: Sequence[Outcome]) -> int:
        """`_apply` for a frame whose text is the only one that waits. Returns how much of the text is decided.

        Verdicts make it take the long way (-1): they come once in a call, this comes with every piece of one.
        """
        decided = 0
        for outcome in outcomes:
            if isinstance(outcome, Markup):
                decided += len(outcome.text)
                unit.changed = True
                if self._marks:
                    unit.parts.append((text.number, outcome))
            elif isinstance(outcome, Text):
                decided += len(outcome.text)
                unit.parts.append((text.number, outcome))
            elif isinstance(outcome, CallPiece):
                unit.parts.append((text.number, outcome))
            else:
                return -1
        return decided

    def _work(self, frames: list[Frame], parts: list[Part] | None = None) -> bytes:
        """Take frames through; `parts` are the events of the first one where they are known."""
        self._backlog.extend(frames)
        self._due = b""
        while self._backlog:
            unit = _Unit(self._backlog[0])
            self._enqueue(unit)
            self._backlog.popleft()
            if unit.frame.data is not None and parts is None:
                parts = self._codec.decode(unit.frame.data)
            if self.guarded and _holds_calls(unit.frame) and not _tells_calls(parts or ()):
                said = "a frame with a call that cannot be read was left out, as a rule may block it"
                self.notes.append((0, Note("unread", said, True)))
                self._waiting -= len(self._queue.pop().frame.raw)
                parts = None
                continue
            if unit.frame.data is not None:
                unit.can_omit = self._codec.can_omit and self._frames.can_omit
                if self._marks and parts:
                    self._latest = unit.frame
                self._read(unit, parts or [])
                parts = None
                if unit.frame.data == STREAM_END:
                    for text in self._lanes.values():
                        self._finish(text)
            self._lead(unit)
            self._move()
            if self._streamed and self._waiting > self.call_policy.route.max_frame_bytes:
                self._make_room(unit)
        return self._send()

    def _enqueue(self, unit: _Unit) -> None:
        self._queue.append(unit)
        self._waiting += len(unit.frame.raw)

    def _make_room(self, unit: _Unit) -> None:
        """More bytes wait than one frame may have, however little their text: that is text now, and they leave.

        Else a few characters that may begin a call would hold back all that comes beside them: reasoning, other
        choices, comments that keep the connection alive.
        """
        for text in self._lanes.values():
            if text.endings:
                self._finish(text)
            elif text.waiting or text.natives:
                text.cursor = None
                self._apply(text, unit, text.lane.release())
        self._move()

    def _lead(self, unit: _Unit) -> None:
        """Note what the frames that open something wait for. One without data tells nothing, and waits with them."""
        if unit.opens is not None or (unit.frame.data is None and self._openers):
            self._openers.append(unit)
            if len(self._openers) <= _OPENERS:
                return
        self._release(unit)

    def _release(self, unit: _Unit) -> None:
        """What only opened something leaves with this frame."""
        for opener in self._openers:
            opener.leads = unit
        self._openers = []

    def _waits(self, unit: _Unit) -> bool:
        """Whether a frame cannot leave yet. One that opens something says so only where what it opens stays."""
        if unit.leads is None:
            return unit.undecided > 0 or unit in self._openers
        if unit.undecided or unit.leads.undecided:
            return True
        if unit.opens is not None and unit.leads.changed:
            unit.changed = True
        elif unit.opens is not None:
            unit.parts.append((unit.opens, Text("")))
        return False

    def _cut(self, *, broken: bool) -> bytes:
        """The body has ended: a lane that did not say so itself was cut off.

        `broken`: so was one that said it while something in it was still open.
        """
        unit = _Unit(Frame(b"", None))
        for text in self._lanes.values():
            if broken and (text.waiting or text.natives or not text.lane.whole):
                self._go_on(text)
            else:
                self._finish(text)
            if text.waiting or text.natives or not text.lane.finished:
                text.cursor = None
                self._apply(text, unit, text.lane.cut())
        self._release(_Unit(Frame(b"", None)))
        self.notes.extend((number, note) for number, reply in self._replies.items() for note in reply.notes())
        if self._watch is not None:
            self._look_back(self._watch)
        self._back = self._given_back(unit)
        return self._send()

    def _given_back(self, unit: _Unit) -> bytes:
        """What was decided when no frame came any more, where a call is shown whole: one that had no end is text again.

        It leaves in a frame like the latest. Elsewhere a client has all of a call that it will get.
        """
        if self._latest is None or not self._streamed or not unit.changed or self._latest.data is None:
            return b""
        payloads = self._codec.encode(self._latest.data, unit.parts, can_omit=True)
        return b"".join(self._made(payload, self._latest.raw, keep=False) for payload in payloads)

    def _look_back(self, watch: LoopWatch) -> None:
        """Note what a loop guard that only looks on notices of the calls that the client has."""
        rows: dict[int, list[tuple[str, str]]] = {}
        for lane, record in self.records:
            if record.complete:
                rows.setdefault(0 if self.wire.sequential_lanes else lane, []).append((record.name, record.arguments))
        self.notes.extend((lane, note) for lane, row in rows.items() for note in watch.notes(row))

    def _send(self) -> bytes:
        self._move()
        out, self._out = self._out, []
        return b"".join(out)

    def _move(self) -> None:
        """Let out every frame that is decided, up to the first that is not."""
        while self._queue and not self._waits(self._queue[0]):
            self._out.append(self._bytes(self._queue[0]))
            self._waiting -= len(self._queue.popleft().frame.raw)

    def _bytes(self, unit: _Unit) -> bytes:
        frame = unit.frame
        if frame.data is None or not (unit.changed or self._codec.must_encode):
            return frame.raw
        payloads = self._codec.encode(frame.data, unit.parts, can_omit=unit.can_omit)
        if payloads == [frame.data]:
            return frame.raw
        if not self._streamed:
            return payloads[0]
        made = b"".join(self._made(payload, frame.raw, keep=True) for payload in payloads[:1])
        if len(payloads) > 1:  # the others are spelt like a short frame, so that a long one is looked at once
            like = self._frames.build(b"{}", frame.raw, keep=False, name=None)
            made += b"".join(self._made(payload, like, keep=False) for payload in payloads[1:])
        # A CRLF that was cut: its LF stands behind the frame, and leaves behind it.
        return made[:-1] if frame.raw.endswith(b"\r") and made.endswith(b"\r\n") else made

    def _made(self, payload: bytes, like: bytes, *, keep: bool) -> bytes:
        """A new frame. Where the wire names its events, the name is the payload's type."""
        name = _type_of(payload) if self.wire.has_event_names else None
        return self._frames.build(payload, like, keep=keep, name=name)

    # Events

    def _read(self, unit: _Unit, parts: list[Part]) -> None:
        place: Place | None = None
        for lane, happened in parts:
            if isinstance(happened, Place):
                place = happened
                continue
            text = self._lanes.get(lane) or self._lane(lane)
            text.cursor = None
            if text.endings and not isinstance(happened, Finish | CallEnd):
                self._go_on(text)
            if isinstance(happened, Text) and not happened.text:
                unit.opens = lane
            elif isinstance(happened, Text):
                self._await(text, unit, len(happened.text), place)
                place = None
                self._apply(text, unit, text.lane.text(happened.text))
            elif isinstance(happened, CallStart | CallPiece | CallEnd):
                self._native(text, unit, happened)
            elif isinstance(happened, Finish):
                text.endings.append((unit, happened))
                unit.undecided += 1
                if not self._may_go_on(text):
                    self._finish(text)
            else:
                unit.parts.append((lane, happened))

    def _may_go_on(self, text: _Text) -> bool:
        """Whether it matters if a lane has ended that says so. Parts that follow each other end where they do."""
        if not self._streamed or self.wire.sequential_lanes:
            return False
        return bool(text.waiting or text.natives or not text.lane.idle)

    def _finish(self, text: _Text) -> None:
        """Nothing follows what a lane said of its end."""
        endings, text.endings = text.endings, []
        for unit, happened in endings:
            text.cursor = None
            outcomes = text.lane.finish(happened.reason)
            self._apply(text, unit, outcomes)
            unit.undecided -= 1
            unit.changed = unit.changed or outcomes[-1] != happened

    @staticmethod
    def _go_on(text: _Text) -> None:
        """More follows what a lane said of its end: it was none. A frame that is written anew does not say it."""
        for unit, _ in text.endings:
            unit.undecided -= 1
        text.endings.clear()

    @staticmethod
    def _await(text: _Text, unit: _Unit, size: int, place: Place | None = None) -> None:
        text.cursor = None
        text.waiting.append((unit, size, place))
        unit.undecided += size

    def _lane(self, number: int) -> _Text:
        seed = self._seed or self._codec.reply_id.encode("utf-8", "surrogatepass")
        prefix = self.wire.call_id_prefix
        reply = None if self._processors is None else self._reply(self._processors, number)
        lane = Lane(
            self.call_policy,
            self.decision,
            self._tools,
            number=number,
            seed=seed,
            prefix=prefix,
            processing=None if reply is None else reply.chain(),
            rules=None if reply is None or self.decision.dialect is None else reply.screen(),
        )
        return self._lanes.setdefault(number, _Text(lane, number))

    def _reply(self, processors: Processors, lane: int) -> Reply:
        """What processors know of the reply that a lane is a part of."""
        number = 0 if self.wire.sequential_lanes else lane
        if number not in self._replies:
            as_text = self.decision.kind in {"lower", "roundtrip"}
            self._replies[number] = Reply(processors, whole=not self._streamed, as_text=as_text)
        return self._replies[number]

    def _native(self, text: _Text, unit: _Unit, happened: CallStart | CallPiece | CallEnd) -> None:
        if text.lane.holds(happened):
            text.natives.append((unit, happened))
            unit.undecided += 1
            self._apply(text, unit, text.lane.native(happened))
            return
        outcomes = text.lane.native(happened)
        self._apply(text, unit, outcomes, native=True)
        unit.changed = unit.changed or happened not in outcomes

    def _apply(self, text: _Text, unit: _Unit, outcomes: Sequence[Outcome], *, native: bool = False) -> None:
        """Put outcomes into the frames that they belong to: text where it came from, the rest behind what was read."""
        for outcome in outcomes:
            if isinstance(outcome, Text):
                self._account(text, outcome.text, shown=True)
            elif isinstance(outcome, Markup | Removed):
                self._account(text, outcome.text, shown=False, markup=isinstance(outcome, Markup))
            elif isinstance(outcome, Verdict):
                self.verdicts.append((text.number, outcome))
                if self._marks:  # the markup so far is this candidate's
                    of_text = outcome.index is not None and outcome.dialect is not None
                    broken = of_text and outcome.status in {"truncated", "malformed"}
                    self._place(text, unit, Markup(""), changed=broken)
            elif isinstance(outcome, Settled):
                self._settled(text, outcome)
            elif isinstance(outcome, Note):
                self.notes.append((text.number, outcome))
            elif isinstance(outcome, str):
                self._place(text, unit, Text(outcome), changed=True)
            elif isinstance(outcome, Finish) or native:
                unit.parts.append((text.number, outcome))
            else:
                self._place(text, unit, outcome, changed=True)

    @staticmethod
    def _settled(text: _Text, outcome: Settled) -> None:
        """The next native event that is held is decided."""
        unit, happened = text.natives.popleft()
        unit.undecided -= 1
        unit.changed = unit.changed or outcome.parts != (happened,)
        unit.parts.extend((text.number, Text(part) if isinstance(part, str) else part) for part in outcome.parts)

    def _place(self, text: _Text, unit: _Unit, outcome: Event, *, changed: bool) -> None:
        target = text.cursor or (text.waiting[0][0] if text.waiting else unit)
        target.parts.append((text.number, outcome))
        target.changed = target.changed or changed

    def _account(self, text: _Text, decided: str, *, shown: bool, markup: bool = True) -> None:
        start = 0
        while start < len(decided):
            unit, left, place = text.waiting[0]
            if place is not None:
                unit.parts.append((text.number, place))
            size = min(left, len(decided) - start)
            if shown:
                unit.parts.append((text.number, Text(decided[start : start + size])))
            else:
                unit.changed = True
                if markup and self._marks:
                    unit.parts.append((text.number, Markup(decided[start : start + size])))
            unit.undecided -= size
            text.cursor = unit
            if size == left:
                text.waiting.popleft()
            else:
                text.waiting[0] = (unit, left - size, None)
            start += size
