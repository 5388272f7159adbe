"""The beginning of a reply's body, where nothing beside it says how it is framed: an event stream shows by its first
line, one of AWS's by the checksum of its first bytes, lines of JSON by a second one, an array by its bracket.
"""

import json
from collections.abc import Iterator
from typing import BinaryIO

from toolcalls.wires import EVENT_STREAM
from toolcalls.wires.eventstream import PRELUDE, begins_stream

_ENOUGH = PRELUDE  # bytes that tell event streams, of text and of AWS's messages, from JSON
_EVENT_STREAM = (b"data", b"event", b"id", b"retry", b":")


def pieces_of(source: BinaryIO, chunk: int | None) -> Iterator[bytes]:
    """The input in pieces of `chunk` bytes; without it, in pieces as they arrive."""
    take = getattr(source, "read1", source.read)
    while piece := source.read(chunk) if chunk else take(65536):
        yield piece


def head_of(pieces: Iterator[bytes]) -> bytes:
    """The first pieces, joined: enough bytes to know the form of the body."""
    head = b""
    while not _shows_form(head) and (piece := next(pieces, b"")):
        head += piece
    return head


def _shows_form(head: bytes) -> bool:
    """Whether the beginning of a body shows its form. For JSON that takes a line and the bytes after it."""
    start = head.lstrip()
    if start.startswith(b"{"):
        return bool(start.partition(b"\n")[2].strip())
    return len(start) >= _ENOUGH


def type_of(head: bytes) -> str:
    """The content type of a body that begins like this."""
    if begins_stream(head):
        return EVENT_STREAM
    if head.lstrip(b"\xef\xbb\xbf\r\n").startswith(_EVENT_STREAM):
        return "text/event-stream"
    line, _, behind = head.lstrip().partition(b"\n")
    return "application/x-ndjson" if line.startswith(b"{") and behind.strip() and _is_json(line) else "application/json"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
