"""The callable that mitmproxy calls with every piece of a reply (`flow.response.stream`): bytes in, bytes out, and both
kept with their times.

mitmproxy's rules: an empty `bytes` in the middle ends a chunked body, so nothing to send is `[]`. Each item returned is
written separately, so there is only one. If the callable raises, the piece is lost, and at the end the client hangs, so
it never raises. After an abort by the upstream it is not called any more, so the owner of a tap must close or abort it.
A tap holds no reference to its flow: in a cycle both bodies would stay until the garbage collector runs.
"""

from array import array
from collections.abc import Sequence
from time import monotonic_ns

from toolcalls.mitm.content_codings import Decoder
from toolcalls.replies.exchange import Exchange
from toolcalls.wires.frames import Form

# Of one body; a larger one is not kept. A reply has two bodies, so it may keep twice as much.
MAX_KEPT = 16 * 1024 * 1024  # bytes
MAX_PIECES = 500_000
MAX_WHOLE = 64 * 1024 * 1024  # bytes of a reply that is read as a whole; a larger one passes as it comes

AT_ONCE = 128 * 1024  # bytes of a whole body that are read while the host waits: some tens of milliseconds


class TimedBody:
    """The pieces of one body in order, each with its time. Numbers are kept in arrays, so a stream makes no objects.

    since   the moment from which times count, in nanoseconds of the monotonic clock
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._bytes = bytearray()
        self._moments = array("q")
        self._sizes = array("L")
        self._limit = MAX_KEPT
        self._room = MAX_PIECES

    def add(self, piece: bytes, moment: int) -> None:
        """The next piece, and its moment on the monotonic clock, in nanoseconds."""
        self._bytes += piece
        self._moments.append(moment - self._since)
        self._sizes.append(len(piece))
        self._room -= 1
        if len(self._bytes) > self._limit or not self._room:
            self._limit = -1  # from here on nothing is kept
            self._bytes, self._moments, self._sizes = bytearray(), array("q"), array("L")

    def copy(self) -> "TimedBody":
        """A copy, to which other pieces can be added."""
        made = TimedBody(self._since)
        made._bytes, made._limit, made._room = self._bytes[:], self._limit, self._room
        made._moments, made._sizes = self._moments[:], self._sizes[:]
        return made

    @property
    def size(self) -> int:
        """How many bytes of it are kept."""
        return len(self._bytes)

    @property
    def microseconds(self) -> list[int]:
        """When each piece came, in microseconds since the reply's headers."""
        return [moment // 1000 for moment in self._moments]

    @property
    def sizes(self) -> list[int]:
        """The size of each piece, in bytes."""
        return self._sizes.tolist()

    def content(self) -> bytes | None:
        """The body so far; None if it grew too large to be kept."""
        return None if self._limit < 0 else bytes(self._bytes)


class ResponseTap:
    """One reply. The instance is the callable.

    form      as the exchange's
    decoder   decodes the content coding; None when there is none
    changes   False: the pieces leave as they came, and the exchange only reads them
    """

    is_toolcalls_tap = True  # how the addon recognises a tap after a reload, which makes new classes

    def __init__(self, exchange: Exchange, *, form: Form, decoder: Decoder | None, changes: bool) -> None:
        self.exchange = exchange
        self.upstream = TimedBody(monotonic_ns())
        self._client: TimedBody | None = None  # the upstream's, until the first piece that differs
        self.ended = False
        self._decoder = decoder
        self._changes = changes
        self._room = MAX_WHOLE if form == "whole" else None
        self._needs_preparation = decoder is not None or form == "whole"

    @property
    def client(self) -> TimedBody:
        """The body that the client got."""
        return self.upstream if self._client is None else self._client

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
        if self._client is None and out is piece:
            self.upstream.add(piece, monotonic_ns())
        else:
            self._keep(piece, out)
        return out or []

    def _keep(self, came: bytes, left: bytes) -> None:
        if self._client is None and came != left:
            self._client = self.upstream.copy()
        moment = monotonic_ns()
        if came:
            self.upstream.add(came, moment)
        if left and self._client is not None:
            self._client.add(left, moment)

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
        self._keep(b"", out)
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
