"""Content codings, decoded piece by piece: gzip, deflate, br and zstd, with the libraries that mitmproxy depends on.

Each piece returns all bytes that it completes, so an event leaves as soon as its last byte came, if the sender flushed.
What one piece decodes to is limited, to `MAX_PIECE` by default. The limit is exact, and no more than two megabytes are
decoded past it, whatever the body.

https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1 (gzip, deflate), RFC 7932 (br), RFC 8878 (zstd).
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, Protocol

MAX_PIECE = 64 * 1024 * 1024  # bytes
_STEP = 1024 * 1024  # bytes that are decoded between two looks at the size
_SLICE = 64  # bytes that are given at once to a library that knows no bound


class CodingError(ValueError):
    """The bytes are not in the coding that their content-encoding names, or decode to more than the limit."""


class Decoder(Protocol):
    """One body that arrives in pieces."""

    def feed(self, data: bytes) -> bytes:
        """What the next piece decodes to. After a CodingError the decoder cannot be used any more."""


class UnknownCoding:
    """A body in a coding that is not known."""

    def __init__(self, why: str) -> None:
        self._why = why

    def feed(self, data: bytes) -> bytes:  # noqa: ARG002 - a Decoder
        raise CodingError(self._why)


def decoder_of(coding: str, limit: int = MAX_PIECE) -> Decoder | None:
    """A decoder for a content-encoding header's value. None for no coding; LookupError for one that is not known.

    limit   how many bytes one piece may decode to
    """
    wanted = coding.strip().lower()
    if wanted in {"", "identity", "none"}:
        return None
    if wanted not in _CODINGS:
        raise LookupError(f"content-encoding {wanted!r}")
    return _BoundedDecoder(*_CODINGS[wanted](), limit)


def decoded(body: bytes, coding: str) -> bytes:
    """A whole body without its coding. Raises CodingError or LookupError."""
    decoder = decoder_of(coding)
    return body if decoder is None else decoder.feed(body)


class _BoundedDecoder:
    """A decoder that raises CodingError for every fault, and whose output is limited."""

    def __init__(self, pieces: "_Pieces", fault: type[Exception], limit: int) -> None:
        self._pieces = pieces
        self._fault = fault
        self._limit = limit

    def feed(self, data: bytes) -> bytes:
        out: list[bytes] = []
        size = 0
        try:
            for piece in self._pieces(data):
                out.append(piece)
                size += len(piece)
                if size > self._limit:
                    raise CodingError(f"a piece of the body decodes to more than {self._limit} bytes")
        except self._fault as error:
            raise CodingError(str(error)) from error
        return b"".join(out)


# What the next data decodes to, in pieces of about _STEP bytes at most.
type _Pieces = Callable[[bytes], Iterator[bytes]]


class _Zlib:
    """One member of zlib's, which keeps the data that it has no room for."""

    def __init__(self, window: int) -> None:
        self._stream = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        piece = self._stream.decompress(data, _STEP)
        yield piece
        while not self._stream.eof and (self._stream.unconsumed_tail or len(piece) == _STEP):
            piece = self._stream.decompress(self._stream.unconsumed_tail, _STEP)
            yield piece


class _Zstd:
    """One frame of the standard library's, which keeps the data that it has no room for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._stream.unused_data)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.decompress(data, _STEP)
        while not (self._stream.eof or self._stream.needs_input):
            yield self._stream.decompress(b"", _STEP)


def _standard_zstd(library: Any) -> _Zstd:
    return _Zstd(library.ZstdDecompressor())


class _Zstandard:
    """One frame of `zstandard`'s, which knows no bound: a block of 4 bytes makes 128 kB (RFC 8878, 3.1.1.2), so little
    is given at once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _SLICE):
            yield self._stream.decompress(data[start : start + _SLICE])
            if self._stream.eof:
                self.unused_data = self._stream.unused_data + data[start + _SLICE :]
                return


class _Members:
    """Codings whose bodies may consist of several members (gzip) or frames (zstd), one after the other."""

    def __init__(self, make: Callable[[], "_Zlib | _Zstd | _Zstandard"]) -> None:
        self._make = make
        self._member = make()

    def __call__(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member.eof:
                self._member = self._make()
            yield from self._member.pieces(data)
            data = self._member.unused_data if self._member.eof else b""


class _Deflate:
    """`deflate` is zlib's format, but some senders leave its header away; the first two bytes tell (RFC 1950, 2.2)."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: _Zlib | None = None

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._head += data
            if len(self._head) < 2:
                return
            headed = self._head[0] & 0x0F == 8 and int.from_bytes(self._head[:2]) % 31 == 0
            self._stream = _Zlib(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
            data = self._head
        if not self._stream.eof:
            yield from self._stream.pieces(data)


class _Brotli:
    """Brotli, with a bound where its library knows one (1.2 and later); else little is given at once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if not hasattr(self._stream, "can_accept_more_data"):
            for start in range(0, len(data), _SLICE):
                yield self._stream.process(data[start : start + _SLICE])
            return
        piece = self._stream.process(data, output_buffer_limit=_STEP)
        yield piece
        # What came may be read to its end, and what it makes still be in there, also where it says that it takes more.
        while piece or not self._stream.can_accept_more_data():
            piece = self._stream.process(b"", output_buffer_limit=_STEP)
            yield piece


# What decodes, and what it raises.
type _Coding = tuple[_Pieces, type[Exception]]


def _gzip() -> _Coding:
    return _Members(lambda: _Zlib(zlib.MAX_WBITS | 16)), zlib.error


def _deflate() -> _Coding:
    return _Deflate(), zlib.error


def _brotli() -> _Coding:
    brotli = import_module("brotli")
    return _Brotli(brotli.Decompressor()), brotli.error


def _zstd() -> _Coding:
    # Which library is there depends on mitmproxy's version (12.3 changed it) and on Python's.
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = import_module(name)
        except ImportError:
            continue
        return _Members(partial(_standard_zstd, zstd)), zstd.ZstdError
    zstandard = import_module("zstandard")
    return _Members(lambda: _Zstandard(zstandard.ZstdDecompressor().decompressobj())), zstandard.ZstdError


_CODINGS: dict[str, Callable[[], _Coding]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
