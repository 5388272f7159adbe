r"""Bodies that arrive in pieces, cut into frames that keep every raw byte: SSE events, NDJSON lines, array elements,
messages of AWS event streams.

Strategy. A frame is what is between two ends, with its end, exactly as it came (law 1); the payload beside it is
what a wire decodes. All frames' `raw`, joined, are the bytes fed, whatever they hold. Bytes of an unfinished frame are
kept in one growing buffer and searched once: only the two last bytes of it can be part of an end that was cut.

SSE: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream . Lines end with LF, CRLF or
CR, and a frame ends with a blank line. Line ends that come before a frame's first line mean nothing there; they leave
at once as a frame without data. That also settles a CRLF that is cut: a blank line is taken at its CR, without waiting
for a LF that may never come, and the LF, if it comes, is a frame of its own (`tail`), which leaves where the frame
before it has left. So the cutting of the bytes never changes the data of the frames that have any, nor the joined
bytes, nor what is left where a frame does not leave.
"""

import base64
import binascii
import re
from typing import Literal

import msgspec

from toolcalls.values import rawjson
from toolcalls.wires import eventstream
from toolcalls.wires.eventstream import BrokenMessage, Message

# How a body is cut into frames; "json_array" is an array that grows, "eventstream" is AWS's binary form, and in
# "eventstream_chunks" its events hold another API's payloads; "whole" is one JSON value.
Form = Literal["sse", "ndjson", "json_array", "eventstream", "eventstream_chunks", "whole"]

_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = re.compile(rb"[\r\n]+")
_LINE_END = re.compile(rb"\r\n?|\n")
# A line end and a blank line after it; the CR of a CRLF is no line end of its own.
_BLANK_LINE = re.compile(rb"(?:\r\n|\r(?!\n)|\n)(?:\r\n?|\n)")
_DATA_LINE = re.compile(rb"data(?<![^\r\n]data)(?::\x20?([^\r\n]*+)|(?=[\r\n]|\Z))")
_OUTSIDE = re.compile(rb'["{}]')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_TO_BRACE = re.compile(rb'(?:[^"{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)  # and over whole strings
_OPEN, _QUOTE = b'{"'
_LF, _CR = b"\n\r"
_LARGE = 64 * 1024  # bytes of a frame from which on its lines are not all made at once


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame of a body.

    raw        exactly what was on the wire, with its end (SSE: the blank line)
    data       the payload (SSE: the `data` lines joined by LF); None when there is none
    complete   False for what was after the last end when the body ended; SSE readers ignore such an event
    tail       the LF of a CRLF that was cut, whose CR the frame before it ends with
    """

    raw: bytes
    data: bytes | None
    complete: bool = True
    tail: bool = False


class _Frames:
    """What SSE and NDJSON share: the held bytes of an unfinished frame, and the limit on them.

    `overflowed`: a frame grew past `max_bytes`; it and all that follows come out as frames without data, unsearched.
    So it is where `broken` says why no frame can begin in what came.
    `at_boundary`: everything so far came out in frames, so the next piece begins one.
    """

    can_omit = True  # whether a frame may be left out, so that those around it still make a body

    def __init__(self, max_bytes: int = 8 * 1024 * 1024) -> None:
        self.overflowed = False
        self.broken = ""
        self.at_boundary = True
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._begun = False  # whether a frame has come

    @property
    def held(self) -> bytes:
        """The bytes that have come out in no frame, but for a piece on which `feed` raised."""
        return bytes(self._held)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this piece of the body completes, in order."""
        if self.overflowed:
            return [Frame(chunk, None)] if chunk else []
        held = self._held
        size = len(held)
        if not size:
            return self._cut(chunk, 0)
        # What was held lacks an end, so one can only start in its last two bytes (CR and LF, or one of them).
        searched = max(0, size - 2)
        held += chunk
        try:
            if self._end(held, searched) < 0 and len(held) <= self._max_bytes:
                return []
            return self._cut(bytes(held), searched)
        except Exception:
            del held[size:]
            raise

    def flush(self) -> list[Frame]:
        """What is left when the body has ended: nothing, or one frame that is not complete."""
        raw = bytes(self._held)
        frames = [Frame(raw, self._data(raw), complete=False)] if raw else []
        self._held.clear()
        return frames

    def _cut(self, body: bytes, searched: int) -> list[Frame]:
        """All frames of a body that starts where a frame does; the rest is held. `searched` bytes hold no end."""
        frames: list[Frame] = []
        start = 0
        while start < len(body):
            if body[start] in b"\r\n" and (stray := _LINE_ENDS.match(body, start)):
                frames.append(Frame(stray[0], None))
                start = stray.end()
                self._begun = True
                continue
            end = self._end(body, max(start, searched))
            # The LF of a closing CRLF does not count: cut off, it would not have been waited for.
            if end < 0 or end - start - body.endswith(b"\r\n", start, end) > self._max_bytes:
                break
            raw = body[start:end]
            frames.append(Frame(raw, self._data(raw)))
            start = end
            self._begun = True
        if len(body) - start > self._max_bytes:
            self.overflowed = True
            frames.append(Frame(body[start:], None))
            start = len(body)
        self._held[:] = body[start:]
        self.at_boundary = not (self._held or self.overflowed)
        return frames

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:
        """A new frame with this payload, spelt as the raw frame `like` is.

        keep   what else the frame holds stays; a frame's own new payloads but the first come without it
        name   the event's name, where the wire names its events
        """
        raise NotImplementedError

    def _end(self, body: bytes | bytearray, searched: int) -> int:
        """The offset after the first frame that ends in or after `searched`; -1 when none does."""
        raise NotImplementedError

    def _data(self, raw: bytes) -> bytes | None:
        raise NotImplementedError


class SSE(_Frames):
    """Server-sent events. A BOM is skipped at the start of the body only; comments and other fields stay in `raw`."""

    def __init__(self, max_bytes: int = 8 * 1024 * 1024) -> None:
        super().__init__(max_bytes)
        self._carriage = False  # whether a CR has come: then a blank line has more than one form
        self._tail_may_come = False  # the latest piece ended a frame with a CR

    def feed(self, chunk: bytes) -> list[Frame]:
        # The usual chunk is one event of one line: no buffer, no search, one slice. Everything else goes the long way.
        if 13 in chunk:
            self._carriage = True
        elif (
            chunk[:6] == b"data: "
            and chunk[-1] == 10
            and chunk.find(b"\n") == len(chunk) - 2
            and not (self._held or self.overflowed or len(chunk) > self._max_bytes)
        ):
            self._begun, self._tail_may_come = True, False
            return [Frame(chunk, chunk[6:-2])]
        if not self._carriage or not chunk:
            return super().feed(chunk)
        tail = self._tail_may_come and chunk[0] == _LF
        frames = [Frame(b"\n", None, tail=True)] if tail else []
        frames += super().feed(chunk[1:] if tail else chunk)
        self._tail_may_come = self.at_boundary and chunk[-1] == _CR
        return frames

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:
        """A new event, see `event`."""
        return event(data, like, keep=keep, name=name)

    def _end(self, body: bytes | bytearray, searched: int) -> int:
        if self._carriage:
            found = _BLANK_LINE.search(body, searched)
            return found.end() if found else -1
        start = body.find(b"\n\n", searched)
        return start if start < 0 else start + 2

    def _data(self, raw: bytes) -> bytes | None:
        if not self._begun:
            raw = raw.removeprefix(_BOM)
        if len(raw) < _LARGE:
            values = [value for line in raw.splitlines() if (value := _data_value(line)) is not None]
        else:  # several times slower on a short frame, but megabytes of short lines take no memory each
            values = _DATA_LINE.findall(raw)
        return b"\n".join(values) if values else None


def _data_value(line: bytes) -> bytes | None:
    """The value of a `data` line; None for every other line."""
    if line.startswith(b"data:"):
        return line[6:] if line.startswith(b" ", 5) else line[5:]
    return b"" if line == b"data" else None


class NDJSON(_Frames):
    """One JSON value a line, as on Ollama's own API. `data` is the line without its end; None for blank lines.

    A line ends with LF; a CR before it belongs to the end (https://github.com/ndjson/ndjson-spec).
    """

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:  # noqa: ARG002 - a line has neither
        """A new line, with the line end of `like`. JSON holds no raw line ends, so the payload is one line."""
        return data + (like[len(like.rstrip(b"\r\n")) :] or b"\n")

    def _end(self, body: bytes | bytearray, searched: int) -> int:
        return body.find(b"\n", searched) + 1 or -1

    def _data(self, raw: bytes) -> bytes | None:
        return raw.strip(b"\r\n") or None


def event(data: bytes, like: bytes, *, keep: bool = False, name: str | None = None) -> bytes:
    """A new SSE event with this payload, spelt as the raw frame `like` is: its line end, `data:` or `data: `.

    keep   its other lines (event, id, retry, comments) stay, in their places; without it the event is data only
    name   the event's name, in the place of the one that `like` has

    Always ends with a blank line. A payload that holds line ends becomes several `data` lines, so that it can never
    end the event or add a field. A BOM of `like` is left out: the new event need not be at the start of the body.
    """
    bare = not keep or like.find(b"\n") == len(like) - 2
    if bare and name is None and like[:6] == b"data: " and not (13 in like or 10 in data or 13 in data):
        return b"data: %b\n\n" % data  # the usual one
    found = _LINE_END.search(like)  # the first, as the last one may be half a CRLF that was cut
    line_end = b"\n" if found is None else found[0]
    lines = [line for line in like.removeprefix(_BOM).splitlines() if line]
    places = [place for place, line in enumerate(lines) if _data_value(line) is not None]
    tight = bool(places) and lines[places[0]].startswith(b"data:") and not lines[places[0]].startswith(b"data: ")
    payload = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    # A reader drops one space after the colon, so a value that starts with one needs another.
    written = [(b"data:" if tight and not line.startswith(b" ") else b"data: ") + line for line in payload]
    if keep:
        first = places[0] if places else len(lines)
        rest = [line for line in lines[first:] if _data_value(line) is None]
        written = [*lines[:first], *written, *rest]
    if name is not None:
        written = [b"event: " + name.encode(), *(line for line in written if line.partition(b":")[0] != b"event")]
    return line_end.join(written) + line_end * 2


class _Measured(_Frames):
    """Base of forms whose frames say where they end, so that no end has to be searched for."""

    def feed(self, chunk: bytes) -> list[Frame]:
        if self.overflowed or not chunk:
            return [Frame(chunk, None)] if chunk else []
        size = len(self._held)
        self._held += chunk
        try:
            return self._taken(self._held)
        except Exception:
            del self._held[size:]
            raise

    def _taken(self, held: bytearray) -> list[Frame]:
        """The frames at the beginning of what is held, which are taken from it in the end."""
        raise NotImplementedError


class JSONArray(_Measured):
    """A JSON array that is sent element by element, as Gemini does without `alt=sse`; each object in it is a frame.

    What is between the elements leaves as it comes, as frames without data, and no element is ever left out: so the
    commas stay right. A body that is one object (an error) is one frame. Braces in strings count for nothing.
    """

    can_omit = False

    def __init__(self, max_bytes: int = 8 * 1024 * 1024) -> None:
        super().__init__(max_bytes)
        self._depth = 0  # objects that are open
        self._searched = 0  # bytes of what is held that have been read
        self._in_string = False  # whether they end inside a string

    def _taken(self, held: bytearray) -> list[Frame]:
        frames: list[Frame] = []
        start, at = 0, self._searched
        while (mark := self._mark(held, at)) >= 0:
            at = mark + 1
            if held[mark] == _OPEN:
                if self._depth == 0 and mark > start:
                    frames.append(Frame(bytes(held[start:mark]), None))
                    start = mark
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if self._depth == 0:
                    element = bytes(held[start:at])
                    frames.append(Frame(element, element))
                    start = at
        if self._depth == 0 and start < self._searched:
            frames.append(Frame(bytes(held[start : self._searched]), None))
            start = self._searched
        del held[:start]
        self._searched -= start
        if len(held) > self._max_bytes:
            self.overflowed = True
            frames.append(Frame(bytes(held), None))
            held.clear()
        self.at_boundary = not (held or self.overflowed)
        return frames

    def _mark(self, held: bytearray, at: int) -> int:
        """The offset of the next brace that is in no string; -1 when there is none."""
        while True:
            if self._in_string:
                at = _end_of(_IN_STRING.match(held, at), at)
                if at == len(held) or held[at] != _QUOTE:  # a backslash that is cut off is read again
                    self._searched = at
                    return -1
                self._in_string = False
                at += 1
            at = _end_of(_TO_BRACE.match(held, at), at)  # nearly always all there is to do
            found = _OUTSIDE.search(held, at)
            at = len(held) if found is None else found.start()
            if found is None or held[at] != _QUOTE:
                self._searched = at
                return at if found is not None else -1
            self._in_string = True
            at += 1

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:  # noqa: ARG002 - it has neither
        """A new array element; siblings are separated by commas."""
        return data if keep else b",\r\n" + data

    def _data(self, raw: bytes) -> bytes | None:
        return raw


def _end_of(found: re.Match[bytes] | None, at: int) -> int:
    return at if found is None else found.end()


# The name of an event and what comes before its payload; what ends in Exception is one.
_NAMED = re.compile(rb'\s*\{\s*"([\w.:-]{1,255})"\s*:\s*')
_EXCEPTION = "Exception"
_CHUNK = "chunk"


class EventStream(_Measured):
    """Messages of an AWS event stream. `data` is `{"NAME": PAYLOAD}` with the event's name, or the exception's.

    Where a message is broken, all that follows comes out as one frame without data: its readers stop there.
    """

    def flush(self) -> list[Frame]:
        """What is left when the body has ended: nothing, or a message that is not complete."""
        raw = bytes(self._held)
        self._held.clear()
        return [Frame(raw, None, complete=False)] if raw else []

    def _taken(self, held: bytearray) -> list[Frame]:
        frames: list[Frame] = []
        start = 0
        try:
            while (size := eventstream.size_of(held, start)) and not self.overflowed:
                if size > self._max_bytes:
                    self.overflowed = True
                elif len(held) - start < size:
                    break
                else:
                    raw = bytes(held[start : start + size])
                    frames.append(Frame(raw, self._data(raw)))
                    start += size
        except BrokenMessage as error:
            self.overflowed, self.broken = True, str(error)
        if self.overflowed:
            frames.append(Frame(bytes(held[start:]), None))
            start = len(held)
        del held[:start]
        self.at_boundary = not (held or self.overflowed)
        return frames

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:  # noqa: ARG002 - it has its own
        """A new message. `data` names its event, as the data of frames does."""
        found = _NAMED.match(data)
        event, payload = ("", data) if found is None else (found[1].decode(), data[found.end() :])
        payload = payload if found is None else payload.rstrip().removesuffix(b"}")
        if event.endswith(_EXCEPTION):
            return eventstream.written(Message(eventstream.exception_headers(event), payload))
        headers = eventstream.read(like).headers if like else b""
        return eventstream.written(Message(eventstream.event_headers(event, headers), payload))

    def _data(self, raw: bytes) -> bytes | None:
        message = eventstream.read(raw)
        named = b'{"%b":%b}' % (message.name.encode(), message.payload)
        return named if message.payload and _NAMED.match(named) else None


class EventStreamChunks(EventStream):
    """An event stream whose events are named `chunk` and hold payloads of another API in base64, which are the `data`.

    Everything else of it, exceptions above all, is as in any event stream.
    """

    def build(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:
        """A new chunk with this payload. `keep`: the padding that is beside it in `like` stays."""
        found = _NAMED.match(data)
        if found is not None and found[1].endswith(_EXCEPTION.encode()):
            return super().build(data, like, keep=keep, name=name)
        was = eventstream.read(like) if like else Message(b"", b"")
        rest = rawjson.fields(was.payload) if keep and was.name == _CHUNK else {}
        payload = rawjson.written({**rest, "bytes": base64.b64encode(data).decode()})
        return eventstream.written(Message(eventstream.event_headers(_CHUNK, was.headers), payload))

    def _data(self, raw: bytes) -> bytes | None:
        message = eventstream.read(raw)
        if message.name != _CHUNK:
            return super()._data(raw)
        try:
            return base64.b64decode(rawjson.word(rawjson.fields(message.payload), "bytes"), validate=True) or None
        except (binascii.Error, ValueError):
            return None


FRAMES: dict[Form, type[_Frames]] = {
    "sse": SSE,
    "ndjson": NDJSON,
    "json_array": JSONArray,
    "eventstream": EventStream,
    "eventstream_chunks": EventStreamChunks,
}
"""What cuts the bodies of a form; a whole one is not cut."""
