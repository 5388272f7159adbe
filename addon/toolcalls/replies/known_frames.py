"""Frames known by their bytes: most of a reply. They hold text alone, or a piece of a native call's arguments alone.

Strategy: where a frame was read in full, and the next one's bytes differ from it in nothing but the text or the piece,
that one need not be decoded. Any text will do. A piece must be inside a string of the argument JSON and without quotes,
escapes and control characters: then it can change nothing, not how deep the JSON nests, not what is wrong with it, and
not what a mender would make of it. Whatever else comes is decoded.
"""

from collections.abc import Callable, Mapping, Sequence

from toolcalls.events import CallPiece, Text
from toolcalls.replies.mended_frames import MendedFrames
from toolcalls.replies.stages.mend import Mend
from toolcalls.replies.unread_calls import UnreadCalls
from toolcalls.replies.waiting import Alike, LaneFrames, WaitingFrame
from toolcalls.wires import ArrivingCall, Codec, Part
from toolcalls.wires.envelope import Envelope
from toolcalls.wires.frames import Frame
from toolcalls.wires.mending import Mended


class KnownFrames:
    """Recognizes frames with text of one lane, and with the pieces of one native call at a time.

    lanes     the lanes of the reply, by number
    mended    what mends the reply's calls, None for nothing
    unread    what calls of the reply no rule may see, None where that is no matter
    text      the envelope of frames with text
    lane      that of the pieces which are known, if there are any
    alike     the frames with such pieces
    mend      hands a piece to what mends the call's arguments, None where nothing does
    """

    def __init__(
        self,
        codec: Codec,
        lanes: Mapping[int, LaneFrames],
        mended: MendedFrames | Mend[WaitingFrame] | None,
        unread: UnreadCalls | None,
    ) -> None:
        self._codec = codec
        self._lanes = lanes
        self._unread = unread
        self._mended = mended
        self._holds_calls = mended is not None and mended.may_hold
        self._call: ArrivingCall | None = None
        self._like = CallPiece(0, "")
        self._mended_call: Mended | None = None
        self.text = Envelope(self._text_in, takes_escapes=unread is None)
        self.lane: LaneFrames | None = None
        self.alike = Alike()
        self.mend: Callable[[str], str] | None = None
        self._around_pieces = Envelope(self._piece_in)

    def piece(self, frame: bytes) -> CallPiece | None:
        """The piece that a whole frame holds and nothing else, if its lane has not ended.

        It must go through `lane` then, and through `mend`. None if the frame must be decoded.
        """
        call, lane = self._call, self.lane
        if call is None or not call.in_string or lane is None or lane.endings:
            return None
        if self._mended_call is not None and self._mended_call.arguments.native.whole:
            return None  # it may be the same again
        piece = self._around_pieces.text_of(frame)
        if not piece or (self._unread is not None and self._unread.has_other_lines(frame)):
            return None
        return CallPiece(self._like.index, piece, entry=self._like.entry)

    def learn_text(self, frame: Frame, lane: int, text: str) -> None:
        """Remember a frame that was read in full and holds nothing but text of a lane."""
        if not (self._codec.must_encode or (self._unread is not None and self._unread.may_be_in(frame))):
            self.text.learn(frame.raw, lane, text)

    def learn(self, frame: Frame, parts: Sequence[Part], *, can_omit: bool) -> None:
        """Remember a frame that was read in full, as `parts`, and left as it came, waits as it came, or did not leave.

        can_omit   it holds nothing but text of one lane, or nothing but calls
        """
        if len(parts) != 1:
            return
        lane, event = parts[0]
        if isinstance(event, Text) and can_omit and not (self._mended is not None and self._mended.holds):
            self.learn_text(frame, lane, event.text)
        if not isinstance(event, CallPiece) or event.update is not None or self._holds_calls:
            return
        call = self._codec.arriving(lane, event.index)
        if call is None or not call.in_string:
            return
        if call is not self._call:
            self._call = None
            self._around_pieces.forget()
        mended = None if self._mended is None else self._mended.of_call(lane, event.index)
        if (mended is None) is (self._mended is None) and self._around_pieces.learn(frame.raw, lane, event.json):
            self._call, self._like, self.lane = call, event, self._lanes.get(lane)
            self.alike = Alike()
            self._mended_call = mended
            self.mend = None if mended is None else mended.arguments.feed

    def _text_in(self, raw: bytes) -> tuple[int, str] | None:
        """The lane and the text that a frame holds and nothing else; it is decoded in full."""
        if not _is_usual(raw):
            return None
        parts = self._codec.decode(raw[6:-2])
        number, event = parts[0] if parts and self._codec.can_omit else (0, None)
        return (number, event.text) if isinstance(event, Text) else None

    def _piece_in(self, raw: bytes) -> tuple[int, str] | None:
        """The lane and the piece of arguments that a frame holds and nothing else, read without any effect."""
        return self._codec.argument_piece(raw[6:-2]) if _is_usual(raw) else None


def _is_usual(raw: bytes) -> bool:
    """Whether a frame is `data: `, a payload in one line, and a blank line."""
    return raw.startswith(b"data: ") and raw.endswith(b"\n\n") and raw.count(b"\n") == 2 and b"\r" not in raw
