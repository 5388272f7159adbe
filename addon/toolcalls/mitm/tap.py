"""What mitmproxy calls with every piece of a reply: bytes in, bytes out, and both kept with their times.

mitmproxy's rules, each learned the hard way: an empty `bytes` in the middle ends a chunked body, so nothing to send is
`[]`; each item returned is a write of its own, so everything goes into one; what raises loses the piece, and at the end
hangs the client, so nothing raises; and after an upstream's abort nothing is called any more, so whoever owns the tap
must close or abort it. A tap holds no reference to its flow, else both bodies live until the collector's next round.
"""

import time
from collections.abc import Sequence

from toolcalls.exchange import Exchange
from toolcalls.mitm.codings import Decoder

MAX_KEPT = 64 * 1024 * 1024  # bytes of one body that are kept for the flow; a larger one is kept nowhere


class Body:
    """The pieces of one body in order. `times` has [milliseconds since the reply's headers, bytes] for each."""

    def __init__(self) -> None:
        self.times: list[list[float]] = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._since = time.monotonic()

    def add(self, piece: bytes) -> None:
        """The next piece. One that is kept in two bodies is the same object in both."""
        if not piece:
            return
        self._size += len(piece)
        if self._size > MAX_KEPT:
            self._pieces.clear()
            self.times.clear()
            return
        self._pieces.append(piece)
        self.times.append([round((time.monotonic() - self._since) * 1000, 1), len(piece)])

    def whole(self) -> bytes | None:
        """The body as far as it came; None when it grew too large to be kept."""
        return None if self._size > MAX_KEPT else b"".join(self._pieces)


class Tap:
    """One reply on its way through.

    decoder   takes a content coding off; None when there is none
    changes   False: the pieces leave as they came, and the exchange reads a copy
    """

    is_toolcalls_tap = True  # how the addon knows a tap again after a reload has made all classes anew

    def __init__(self, exchange: Exchange, *, decoder: Decoder | None, changes: bool) -> None:
        self.exchange = exchange
        self.upstream = Body()
        self.client = Body()
        self.ended = False
        self._decoder = decoder
        self._changes = changes

    @property
    def encoded(self) -> bool:
        """Whether the client got the upstream's content coding."""
        return self._decoder is not None and not self._changes

    def __call__(self, data: bytes) -> bytes | Sequence[bytes]:
        """The next piece, b"" for the end; returns what leaves now."""
        out = self._feed(data) if data else self._end()
        return out or []

    def _feed(self, data: bytes) -> bytes:
        piece = data
        try:
            if self._decoder is not None:
                piece = self._decoder.feed(data)
            out = self.exchange.feed(piece) if piece else b""
        except Exception as error:  # noqa: BLE001 - the host would drop the piece and go on
            piece, out = data, self._failed(error) + data
        if not self._changes:
            out = data
        self.upstream.add(piece)
        self.client.add(out)
        return out

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
        self.client.add(out)
        return out

    def _failed(self, error: Exception) -> bytes:
        """From here on bytes pass as they come. Returns what is owed from before.

        A body that is not in the coding that its header names can only pass raw from there: the headers are gone.
        """
        owed = self.exchange.abort()
        self.exchange.failure = error
        if self._changes:
            self._decoder = None
        else:
            self._decoder = _Nothing()
        return owed

    def close(self) -> None:
        """The reply has ended as it should. Usually `b""` has said so already."""
        self._end()

    def abort(self) -> None:
        """The connection broke: no call is completed, and nobody gets what was held."""
        if not self.ended:
            self.ended = True
            self.exchange.abort()


class _Nothing:
    """Reads no further: the pieces still pass, encoded as they are, but nobody can read them."""

    def feed(self, data: bytes) -> bytes:  # noqa: ARG002 - a Decoder
        return b""
