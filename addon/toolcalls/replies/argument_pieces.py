"""Pieces of a native call's arguments, known by their bytes: most frames of a reply with native calls.

Strategy: inside a string of the argument JSON, a piece without quotes, escapes and control characters can change
nothing: not how deep the JSON nests, not what is wrong with it, and not what a mender would make of it. So where a
frame was read in full, and the next one's bytes differ from it in nothing but such a piece, that one need not be
decoded. It is written down and leaves, or it waits with its call until processors have decided that. Whatever else
comes (a quote, another envelope) takes the long way.
"""

from collections.abc import Callable, Mapping, Sequence

from toolcalls.events import CallPiece
from toolcalls.replies.mended_frames import MendedFrames
from toolcalls.replies.unread_calls import UnreadCalls
from toolcalls.replies.waiting import LaneFrames
from toolcalls.wires import ArrivingCall, Codec, Part
from toolcalls.wires.envelope import Envelope


class ArgumentPieces:
    """Recognizes the pieces of one native call at a time.

    lanes    the lanes of the reply, by number
    mended   what mends the reply's frames, None for nothing
    unread   what calls of the reply no rule may see, None where that is no matter
    lane     that of the pieces which are known, if there are any
    can_omit   whether nothing is left of such a frame without its piece
    mend     hands a piece to what mends the call's arguments, None where nothing does
    """

    def __init__(
        self,
        codec: Codec,
        lanes: Mapping[int, LaneFrames],
        mended: MendedFrames | None,
        unread: UnreadCalls | None,
    ) -> None:
        self._codec = codec
        self._lanes = lanes
        self._unread = unread
        self._mended = mended
        self._never = mended is not None and mended.may_hold
        self._call: ArrivingCall | None = None
        self._index = 0
        self.lane: LaneFrames | None = None
        self.can_omit = False
        self.mend: Callable[[str], str] | None = None
        self._envelope = Envelope(self._probe)

    def known(self, frame: bytes) -> CallPiece | None:
        """The piece that a whole frame holds and nothing else, if its lane has not ended.

        It must go through `lane` then, and through `mend`. None if the frame must be decoded.
        """
        call, lane = self._call, self.lane
        if call is None or not call.in_string or lane is None or lane.endings:
            return None
        piece = self._envelope.text_of(frame)
        if not piece or (self._unread is not None and self._unread.has_other_lines(frame)):
            return None
        return CallPiece(self._index, piece)

    def learn(self, frame: bytes, parts: Sequence[Part], *, can_omit: bool) -> None:
        """Remember a frame that was read in full, as `parts`, and left as it came, or waits as it came."""
        if self._never or len(parts) != 1:
            return
        lane, piece = parts[0]
        if not isinstance(piece, CallPiece) or piece.update is not None:
            return
        call = self._codec.arriving(lane, piece.index)
        if call is None or not call.in_string:
            return
        if call is not self._call:
            self._call = None
            self._envelope = Envelope(self._probe)
        mended = None if self._mended is None else self._mended.of_call(lane, piece.index)
        if (mended is None) is (self._mended is None) and self._envelope.learn(frame, lane, piece.json):
            self._call, self._index, self.lane = call, piece.index, self._lanes.get(lane)
            self.can_omit = can_omit
            self.mend = None if mended is None else mended.arguments.feed

    def _probe(self, raw: bytes) -> tuple[int, str] | None:
        """The lane and the piece of arguments that a frame holds and nothing else, read without any effect."""
        if not (raw.startswith(b"data: ") and raw.endswith(b"\n\n") and raw.count(b"\n") == 2 and b"\r" not in raw):
            return None
        return self._codec.argument_piece(raw[6:-2])
