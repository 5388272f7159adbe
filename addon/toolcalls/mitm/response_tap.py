"""The callable that mitmproxy calls with every piece of a reply (`flow.response.stream`): bytes in, bytes out, and both
kept with their times.

mitmproxy's rules: an empty `bytes` in the middle ends a chunked body, so nothing to send is `[]`. Each item returned is
written separately, so there is only one. If the callable raises, the piece is lost, and at the end the client hangs, so
it never raises. After an abort by the upstream it is not called any more, so the owner of a tap must close or abort it.
A tap holds no reference to its flow: in a cycle both bodies would stay until the garbage collector runs.
"""

from collections.abc import Sequence

from toolcalls.flows.content_codings import Decoder
from toolcalls.flows.timed_bodies import ReplyBodies
from toolcalls.replies.exchange import Exchange
from toolcalls.wires.frames import Form

MAX_WHOLE = 64 * 1024 * 1024  # bytes of a reply that is read as a whole; a larger one passes as it comes

AT_ONCE = 128 * 1024  # bytes of a whole body that are read while the host waits: some tens of milliseconds


class ResponseTap:
    """One reply. The instance is the callable.

    bodies    what came so far, without content coding, and what left
    form      as the exchange's
    decoder   decodes the content coding; None when there is none
    changes   False: the pieces leave as they came, and the exchange only reads them
    """

    is_toolcalls_tap = True  # how the addon recognises a tap after a reload, which makes new classes

    def __init__(self, exchange: Exchange, *, form: Form, decoder: Decoder | None, changes: bool) -> None:
        self.exchange = exchange
        self.bodies = ReplyBodies()
        self.ended = False
        self._decoder = decoder
        self._changes = changes
        self._room = MAX_WHOLE if form == "whole" else None
        self._needs_preparation = decoder is not None or form == "whole"

    @property
    def encoded(self) -> bool:
        """Whether the client got the upstream's content coding."""
        return self._decoder is not None and not self._changes

    @property
    def unread(self) -> int:
        """Bytes of a large whole body that leaves as it comes and is read when the host calls `close`."""
        if self._room is None or self._changes or self.ended or self.exchange.failure is not None:
            return 0
        size = MAX_WHOLE - self._room
        return size if size > AT_ONCE else 0

    def whole(self, body: bytes) -> bytes:
        """What leaves for a body that is here as a whole."""
        return b"".join(
            [bytes(left) if isinstance(left, bytes) else b"".join(left) for left in (self(body), self._end())]
        )

    def __call__(self, data: bytes) -> bytes | Sequence[bytes]:
        """The next piece, b"" for the end; returns what leaves now."""
        if not data:
            return [] if self.unread else self._end() or []
        piece = data
        try:
            if self._needs_preparation:
                piece = self._prepare(data)
            out = self.exchange.feed(piece) if piece else b""
        except Exception as error:  # noqa: BLE001 - the host would drop the piece and go on
            piece, out = data, self._failed(error)
            out += b"" if self.exchange.guarded else data
        if not self._changes:
            out = data
        self.bodies.add(piece, out)
        return out or []

    def _prepare(self, data: bytes) -> bytes:
        """The piece without its content coding. Raises OverflowError for a whole reply that is too large."""
        piece = data if self._decoder is None else self._decoder.feed(data)
        self._reserve_room(piece)
        return piece

    def _reserve_room(self, piece: bytes) -> None:
        """Count a piece of a reply that is read as a whole."""
        if self._room is not None and self.exchange.failure is None:
            self._room -= len(piece)
            if self._room < 0:
                raise OverflowError(f"the reply is larger than {MAX_WHOLE} bytes")

    def _end(self) -> bytes:
        if self.ended:
            return b""
        self.ended = True
        try:
            out = self.exchange.close()
        except Exception as error:  # noqa: BLE001 - the host would never end the client's reply
            out = self._failed(error)
        if not self._changes:
            return b""
        self.bodies.add(b"", out)
        return out

    def _failed(self, error: Exception) -> bytes:
        """From here on bytes pass as they come. Returns the bytes that were held.

        A body that is not in the coding that its header names can only pass raw from there: the headers have left.
        """
        owed = self.exchange.abort()
        self.exchange.failure = error
        if self._decoder is not None:
            self._decoder = None if self._changes else _DiscardingDecoder()
        return owed

    def close(self) -> None:
        """The reply has ended normally. Usually the call with `b""` came before."""
        self._end()

    def abort(self) -> None:
        """The connection broke: no call is completed, and what was held is not sent."""
        if not self.ended:
            self.ended = True
            self.exchange.abort()


class _DiscardingDecoder:
    """Decodes nothing any more: the pieces still pass, encoded, but the exchange does not read them."""

    def feed(self, data: bytes) -> bytes:  # noqa: ARG002 - a Decoder
        return b""
