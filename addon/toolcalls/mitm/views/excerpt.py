"""The frames of a body, of a long one only those at its two ends: as much as a view may look at.

A view is made in the proxy's loop. So the work is bounded by numbers of bytes and of frames, and the rest is only
counted. The beginning is cut from the first byte on; the end at the first frame that starts in it.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from toolcalls.wires.eventstream import BrokenMessage, size_of
from toolcalls.wires.frames import FRAMES, Form, Frame

MAX_BYTES = 256 * 1024  # at either end
MAX_FRAMES = 700  # at either end, where nobody wants fewer
MAX_WHOLE = 1024 * 1024  # bytes of a reply that is one JSON value; a larger one is not read
_SLICE = 2 * 1024
_FIRST_KEY = re.compile(rb'\{\s*"[^"\\]*"')


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Frames of a body from its beginning and from its end, and how many bytes between them were not looked at.

    `starts` are the offsets of all frames, of the beginning and then of the end.
    """

    head: tuple[Frame, ...]
    tail: tuple[Frame, ...] = ()
    left_out: int = 0
    starts: tuple[int, ...] = ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The first frames, then the last ones."""
        return self.head + self.tail


def excerpt(body: bytes, form: Form, most: int = MAX_FRAMES) -> Excerpt:
    """The frames of a body, all of them where it is short enough; else `most` of either end."""
    if form not in FRAMES:
        readable = len(body) <= MAX_WHOLE
        return Excerpt((Frame(body, body if readable else None),), starts=(0,))
    is_array = form == "json_array"
    reach = MAX_BYTES // 4 if is_array else MAX_BYTES  # an array takes several times longer to cut
    limit = 2 * reach if len(body) <= 2 * reach else reach
    head, used = _cut(body, form, limit, 2 * most)
    if used == len(body):
        return Excerpt(tuple(head), starts=_starts(head, 0))
    while len(head) > most:
        used -= len(head.pop().raw)
    from_end = max(used, len(body) - min(reach, _tail_size(body, most)))
    if is_array:
        from_end = _element(body, head, from_end)
    elif form in {"eventstream", "eventstream_chunks"}:
        from_end = _message(body, from_end)
    tail, size = _cut(body[from_end:], form, MAX_BYTES, MAX_BYTES, whole=True)
    is_cut = not (is_array or form in {"eventstream", "eventstream_chunks"})
    if from_end > used and len(tail) > 1 and is_cut:  # the first one began before
        size -= len(tail[0].raw)
        tail = tail[1:]
    dropped = max(0, len(tail) - most)
    size -= sum(len(frame.raw) for frame in tail[:dropped])
    tail = tail[dropped:]
    starts = _starts(head, 0) + _starts(tail, len(body) - size)
    return Excerpt(tuple(head), tuple(tail), len(body) - used - size, starts)


def _element(body: bytes, head: list[Frame], start: int) -> int:
    """Where in an array the first element at or after `start` begins; its end where none is found.

    In the middle of an element nobody knows what is a string. Elements begin alike, up to the quote after their first
    key, and in no string stand such bytes: there the quotes would bear backslashes.
    """
    first = next((frame.raw for frame in head if frame.data is not None), b"")
    begins = _FIRST_KEY.match(first)
    found = begins and re.compile(rb"(?<=[,\s])" + re.escape(begins[0])).search(body, start)
    return found.start() if found else len(body)


def _message(body: bytes, start: int) -> int:
    """Where in an event stream of AWS's the first message at or after `start` begins: lengths with their checksum."""
    for at in range(start, min(len(body), start + MAX_BYTES)):
        with suppress(BrokenMessage):
            if size_of(body, at):
                return at
    return len(body)


def _tail_size(body: bytes, most: int) -> int:
    """How many bytes of the end are cut: fewer where they hold more line ends than the frames that are wanted."""
    size = MAX_BYTES
    while size > _SLICE:
        start = max(0, len(body) - size)
        if body.count(b"\n", start) + body.count(b"\r", start) <= 4 * most:
            break
        size //= 2
    return size


def _cut(body: bytes, form: Form, limit: int, most: int, *, whole: bool = False) -> tuple[list[Frame], int]:
    """Frames from a body's beginning, up to the limits, and the bytes that they take. `whole`: and what is left."""
    cutter = FRAMES[form]()
    frames: list[Frame] = []
    end = min(limit, len(body))
    for start in range(0, end, _SLICE):
        frames += cutter.feed(body[start : min(start + _SLICE, end)])
        if len(frames) >= most:
            frames = frames[:most]
            return frames, sum(len(frame.raw) for frame in frames)
    if whole or end == len(body) or not frames:
        frames += cutter.flush()
    return frames, sum(len(frame.raw) for frame in frames)


def _starts(frames: list[Frame], at: int) -> tuple[int, ...]:
    return tuple(_offsets(frames, at))


def _offsets(frames: list[Frame], at: int) -> Iterator[int]:
    for frame in frames:
        yield at
        at += len(frame.raw)
