"""Content codings, decoded piece by piece: gzip, deflate, br and zstd, with the libraries that mitmproxy depends on.

Every piece gives all bytes that it completes, so an event leaves as soon as its last byte came, if the sender flushed.
Growth is bounded: what one piece of a body decodes to must not be larger than a limit, `MAX_PIECE` if none is given.

https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1 (gzip, deflate), RFC 7932 (br), RFC 8878 (zstd).
"""

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

MAX_PIECE = 64 * 1024 * 1024  # bytes
_SLICE = 1024  # bytes that are decoded between two looks at the size


class CodingError(ValueError):
    """The bytes are not what their content-encoding says, or they grow without measure."""


class Decoder(Protocol):
    """One body that arrives in pieces."""

    def feed(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises CodingError; there is no way on after that."""


def decoder_of(coding: str, limit: int = MAX_PIECE) -> Decoder | None:
    """A decoder for a content-encoding header's value. None for no coding; LookupError for one that is not known.

    limit   how many bytes one piece may decode to
    """
    wanted = coding.strip().lower()
    if wanted in {"", "identity", "none"}:
        return None
    if wanted not in _CODINGS:
        raise LookupError(f"content-encoding {wanted!r}")
    return _Bounded(*_CODINGS[wanted](), limit)


def decoded(body: bytes, coding: str) -> bytes:
    """A whole body without its coding. Raises CodingError or LookupError."""
    decoder = decoder_of(coding)
    return body if decoder is None else decoder.feed(body)


class _Bounded:
    """A decoder whose faults all look alike, and whose output is bounded."""

    def __init__(self, feed: Callable[[bytes], bytes], fault: type[Exception], limit: int) -> None:
        self._feed = feed
        self._fault = fault
        self._limit = limit

    def feed(self, data: bytes) -> bytes:
        out: list[bytes] = []
        size = 0
        for start in range(0, len(data), _SLICE):
            try:
                out.append(self._feed(data[start : start + _SLICE]))
            except self._fault as error:
                raise CodingError(str(error)) from error
            size += len(out[-1])
            if size > self._limit:
                raise CodingError(f"a piece of the body decodes to more than {self._limit} bytes")
        return b"".join(out)


class _Members:
    """Codings whose bodies may consist of several members (gzip) or frames (zstd), one behind the other."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._member = make()

    def __call__(self, data: bytes) -> bytes:
        out: list[bytes] = []
        while data:
            if self._member.eof:
                self._member = self._make()
            out.append(self._member.decompress(data))
            data = self._member.unused_data if self._member.eof else b""
        return b"".join(out)


class _Deflate:
    """`deflate` is zlib's format, but some senders leave its header away; the first two bytes tell (RFC 1950, 2.2)."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: Any = None

    def __call__(self, data: bytes) -> bytes:
        if self._stream is None:
            self._head += data
            if len(self._head) < 2:
                return b""
            headed = self._head[0] & 0x0F == 8 and int.from_bytes(self._head[:2]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
            data = self._head
        return bytes(self._stream.decompress(data))


# What decodes, and what it raises.
type _Coding = tuple[Callable[[bytes], bytes], type[Exception]]


def _gzip() -> _Coding:
    return _Members(lambda: zlib.decompressobj(zlib.MAX_WBITS | 16)), zlib.error


def _deflate() -> _Coding:
    return _Deflate(), zlib.error


def _brotli() -> _Coding:
    brotli = import_module("brotli")
    return brotli.Decompressor().process, brotli.error


def _zstd() -> _Coding:
    # Which library is there depends on mitmproxy's version (12.3 changed it) and on Python's.
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = import_module(name)
        except ImportError:
            continue
        return _Members(zstd.ZstdDecompressor), zstd.ZstdError
    zstandard = import_module("zstandard")
    return _Members(lambda: zstandard.ZstdDecompressor().decompressobj()), zstandard.ZstdError


_CODINGS: dict[str, Callable[[], _Coding]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
