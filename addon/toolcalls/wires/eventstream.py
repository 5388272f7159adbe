"""Messages of AWS event streams (`application/vnd.amazon.eventstream`), read and written.

https://smithy.io/2.0/aws/amazon-eventstream.html. A message is a prelude, headers, a payload and a checksum:

    4 bytes  length of the whole message      }
    4 bytes  length of the headers            }  the prelude, big-endian
    4 bytes  CRC32 of these eight bytes       }
    headers  each a name, a type and a value
    payload
    4 bytes  CRC32 of all bytes before it

Three headers say what a message is: `:message-type` (`event`, `exception` or `error`), and `:event-type` or
`:exception-type` its name. Headers are kept as bytes, so that a message with another payload has the same ones.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

PRELUDE = 12  # bytes
_CHECKSUM = 4  # bytes
_MAX_HEADERS = 128 * 1024  # bytes; all readers refuse more
_prelude = struct.Struct("!III")
_checksum = struct.Struct("!I")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # bytes of a value by its type
_BYTES, _STRING = 6, 7  # types whose values say their length in two bytes
_EVENT_TYPE, _EXCEPTION_TYPE, _MESSAGE_TYPE = ":event-type", ":exception-type", ":message-type"


class BrokenMessage(ValueError):
    """The bytes are no message; readers stop there."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `headers` are the bytes of all of them; `type` and `name` are "" where they say none."""

    headers: bytes
    payload: bytes

    @property
    def type(self) -> str:
        return _texts(self.headers).get(_MESSAGE_TYPE, "")

    @property
    def name(self) -> str:
        """Which event or exception it is."""
        said = _texts(self.headers)
        return said.get(_EXCEPTION_TYPE if self.type == "exception" else _EVENT_TYPE, "")


def size_of(body: bytes | bytearray, start: int = 0) -> int:
    """The size in bytes of the message that begins at `start`, 0 while too few bytes of it have come to know.

    Raises BrokenMessage where none begins there.
    """
    if len(body) - start < PRELUDE:
        return 0
    size, headers, checksum = _prelude.unpack_from(body, start)
    if crc32(body[start : start + 8]) != checksum:
        raise BrokenMessage("the checksum of a prelude is wrong")
    if headers > _MAX_HEADERS or size < PRELUDE + headers + _CHECKSUM:
        raise BrokenMessage("the lengths in a prelude are impossible")
    return int(size)


def begins_stream(head: bytes) -> bool:
    """Whether a body that begins so is an event stream."""
    try:
        return size_of(head) > 0
    except BrokenMessage:
        return False


def read(raw: bytes) -> Message:
    """The message that these bytes are, whose size `size_of` gave. Raises BrokenMessage."""
    _, headers, _ = _prelude.unpack_from(raw)
    end = len(raw) - _CHECKSUM
    if (crc32(raw[:end]),) != _checksum.unpack_from(raw, end):
        raise BrokenMessage("the checksum of a message is wrong")
    message = Message(raw[PRELUDE : PRELUDE + headers], raw[PRELUDE + headers : end])
    _texts(message.headers)
    return message


def written(message: Message) -> bytes:
    """A message as bytes, with its lengths and checksums."""
    size = PRELUDE + len(message.headers) + len(message.payload) + _CHECKSUM
    lengths = struct.pack("!II", size, len(message.headers))
    body = b"".join((lengths, _checksum.pack(crc32(lengths)), message.headers, message.payload))
    return body + _checksum.pack(crc32(body))


def event_headers(name: str, like: bytes = b"") -> bytes:
    """The headers of an event, spelt like those of another message where that one is an event, too."""
    said = _texts(like) if like else {}
    if said.get(_MESSAGE_TYPE) != "event" or _EVENT_TYPE not in said:
        return _headers((_EVENT_TYPE, name), (":content-type", "application/json"), (_MESSAGE_TYPE, "event"))
    if said[_EVENT_TYPE] == name:
        return like
    start, end = next((start, end) for key, start, end in _places(like) if key == _EVENT_TYPE)
    return like[:start] + _headers((_EVENT_TYPE, name)) + like[end:]


def exception_headers(name: str) -> bytes:
    """The headers of an exception, with which a service ends a stream that has failed."""
    return _headers((_EXCEPTION_TYPE, name), (":content-type", "application/json"), (_MESSAGE_TYPE, "exception"))


def _headers(*headers: tuple[str, str]) -> bytes:
    made = bytearray()
    for name, text in headers:
        key, value = name.encode(), text.encode()
        made += struct.pack("!B", len(key)) + key + struct.pack("!BH", _STRING, len(value)) + value
    return bytes(made)


@lru_cache(maxsize=64)  # a stream repeats a handful of them
def _texts(headers: bytes) -> dict[str, str]:
    """The headers that are strings. Raises BrokenMessage for what are no headers, as all readers do."""
    found: dict[str, str] = {}
    names: set[str] = set()
    try:
        for name, start, end in _places(headers):
            if name in names:
                raise BrokenMessage("a header comes twice")
            names.add(name)
            at = start + 1 + headers[start]
            if headers[at] == _STRING:
                found[name] = headers[at + 3 : end].decode()
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise BrokenMessage("the headers of a message cannot be read") from error
    return found


def _places(headers: bytes) -> Iterator[tuple[str, int, int]]:
    """Each header's name, and where the header begins and ends."""
    start = 0
    while start < len(headers):
        at = start + 1 + headers[start]
        kind = headers[at]
        if kind in {_BYTES, _STRING}:
            end = at + 3 + struct.unpack_from("!H", headers, at + 1)[0]
        elif kind in _SIZES:
            end = at + 1 + _SIZES[kind]
        else:
            raise BrokenMessage("a header has a type that nobody knows")
        if end > len(headers):
            raise BrokenMessage("a header is longer than its message")
        yield headers[start + 1 : at].decode(), start, end
        start = end
