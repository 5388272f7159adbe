"""The 36 kinds of faults: what networks, gateways and servers do to a stream, as functions of its bytes and a seed.

Each kind takes a body, cut into its frames, and gives the pieces in which a damaged or oddly cut body arrives, how it
ends, and its content coding. The same body and seed give the same fault. A kind that means nothing to a form (a BOM in
lines of JSON, a terminator that is not there) gives None.

`effect` says what a client may still expect:

same      the body is the same, byte for byte; only its cutting or its coding differs
spelling  other bytes, which mean the same by the specification of server-sent events
cut       the body stops somewhere
damaged   the body says something else, or nothing that can be read

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
"""

import json
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from random import Random
from typing import Literal

from toolcalls.wires.frames import Form

type Effect = Literal["same", "spelling", "cut", "damaged"]

CODINGS = ("gzip", "deflate", "br", "zstd")

_LINE_END = re.compile(rb"\r\n|\n|\r")
_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r|\Z)", re.DOTALL)
_LINE = re.compile(rb"[^\n]*(?:\n|\Z)")
_TERMINATOR = re.compile(rb"(?:\r\n|\n|\r){2,}|\r\n")
_MULTIBYTE = re.compile(rb"[\xc0-\xff][\x80-\xbf]+")
_HTML = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>"
    b"\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


@dataclass(frozen=True)
class Faulted:
    """What arrives. `body` is the whole of it without coding, as far as it can be decoded.

    ends     the body ended; else the connection was reset
    coding   the content-encoding of the pieces
    raw      what comes after `body` and is in no coding that can be read: it can only pass as it is
    """

    body: bytes
    pieces: tuple[bytes, ...]
    ends: bool = True
    coding: str = ""
    raw: bytes = b""


@dataclass(frozen=True)
class Given:
    """A body and its frames, each with its end; joined they are the body."""

    body: bytes
    form: Form
    frames: tuple[bytes, ...]


type Make = Callable[[Given, Random], Faulted | None]


@dataclass(frozen=True)
class Fault:
    """One kind: its number in the list, what it is, what a client may expect."""

    id: str
    title: str
    effect: Effect
    make: Make


def given(body: bytes, form: Form) -> Given:
    """A body with its frames."""
    if form == "sse":
        frames = [frame for frame in _EVENT.findall(body) if frame]
    elif form == "ndjson":
        frames = [line for line in _LINE.findall(body) if line]
    elif form == "json_array":
        frames = _elements(body)
    else:
        frames = [body] if body else []
    return Given(body, form, tuple(frames))


def _elements(body: bytes) -> list[bytes]:
    """The elements of a JSON array, each with what is in front of it; the end of the array is a frame."""
    text = body.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder()
    found: list[str] = []
    start, at = 0, text.find("{")
    while at >= 0:
        try:
            _, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        found.append(text[start:end])
        start, at = end, text.find("{", end)
    found.append(text[start:])
    return [part.encode("utf-8", "surrogateescape") for part in found if part]


def cut_at(body: bytes, places: Sequence[int]) -> tuple[bytes, ...]:
    """A body cut at these places."""
    edges = sorted({0, len(body), *(place for place in places if 0 < place < len(body))})
    return tuple(body[start:end] for start, end in pairwise(edges))


def some_cut(body: bytes, random: Random) -> tuple[bytes, ...]:
    """A body cut anywhere, in pieces of some hundred bytes on average."""
    return cut_at(body, [random.randrange(1, max(2, len(body))) for _ in range(1 + len(body) // 300)])


def _arrives(body: bytes, random: Random) -> Faulted:
    """A body in pieces of any size, and a whole one now and then."""
    return Faulted(body, (body,) if random.random() < 0.3 else some_cut(body, random))


def _joined(frames: Sequence[bytes], random: Random) -> Faulted:
    """These frames as a body: a frame each, or in pieces of any size."""
    body = b"".join(frames)
    return Faulted(body, tuple(frames)) if random.random() < 0.3 else _arrives(body, random)


# --- the same bytes, cut otherwise ------------------------------------------------------------------------------------


def _one_chunk(given: Given, _: Random) -> Faulted:
    return Faulted(given.body, (given.body,))


def _one_byte(given: Given, _: Random) -> Faulted:
    return Faulted(given.body, tuple(given.body[at : at + 1] for at in range(len(given.body))))


def _anywhere(given: Given, random: Random) -> Faulted:
    return Faulted(given.body, some_cut(given.body, random))


def _in_terminators(given: Given, _: Random) -> Faulted | None:
    places = [at for found in _TERMINATOR.finditer(given.body) for at in range(found.start() + 1, found.end())]
    return Faulted(given.body, cut_at(given.body, places)) if places else None


def _in_characters(given: Given, _: Random) -> Faulted | None:
    places = [at for found in _MULTIBYTE.finditer(given.body) for at in range(found.start() + 1, found.end())]
    return Faulted(given.body, cut_at(given.body, places)) if places else None


# --- an end that comes too early --------------------------------------------------------------------------------------


def _stops(given: Given, random: Random, *, inside: bool, ends: bool) -> Faulted | None:
    if len(given.frames) < 2:
        return None
    number = random.randrange(len(given.frames))
    size = len(b"".join(given.frames[:number]))
    if inside:
        if len(given.frames[number]) < 2:
            return None
        size += random.randrange(1, len(given.frames[number]))
    else:
        size += len(given.frames[number])
    body = given.body[:size]
    return Faulted(body, some_cut(body, random), ends)


def _reset_inside(given: Given, random: Random) -> Faulted | None:
    return _stops(given, random, inside=True, ends=False)


def _end_inside(given: Given, random: Random) -> Faulted | None:
    return _stops(given, random, inside=True, ends=True)


def _reset_behind(given: Given, random: Random) -> Faulted | None:
    return _stops(given, random, inside=False, ends=False)


def _end_behind(given: Given, random: Random) -> Faulted | None:
    return _stops(given, random, inside=False, ends=True)


def _empty(_given: Given, _: Random) -> Faulted:
    return Faulted(b"", ())


def _reset_first(_given: Given, _: Random) -> Faulted:
    return Faulted(b"", (), ends=False)


def _no_blank_line(given: Given, random: Random) -> Faulted | None:
    """One line end is left of the two that close the last event, or of lines of JSON none."""
    body = given.body.rstrip(b"\r\n")
    if body == given.body or given.form not in {"sse", "ndjson"}:
        return None
    end = _LINE_END.match(given.body, len(body))
    left = end[0] if end and given.form == "sse" else b""
    return _arrives(body + left, random)


def _no_line_end(given: Given, random: Random) -> Faulted | None:
    body = given.body.rstrip(b"\r\n")
    return None if body == given.body else _arrives(body, random)


# --- frames that say something else -----------------------------------------------------------------------------------


def _place(given: Given, random: Random) -> int:
    return random.randrange(len(given.frames) + 1)


def _spelt(given: Given, payload: bytes) -> bytes | None:
    """A payload as a frame of this form; None where it would break the form itself."""
    if given.form == "sse":
        return b"".join(b"data: " + line + b"\n" for line in payload.split(b"\n")) + b"\n"
    return payload + b"\n" if given.form == "ndjson" else None


def _inserted(given: Given, random: Random, frame: bytes | None) -> Faulted | None:
    if frame is None:
        return None
    place = _place(given, random)
    return _joined([*given.frames[:place], frame, *given.frames[place:]], random)


def _malformed(given: Given, random: Random) -> Faulted | None:
    """The JSON of one frame stops in the middle, as a server writes it that dies."""
    places = [at for at, frame in enumerate(given.frames) if b"{" in frame and len(frame) > 20]
    if not places or given.form not in {"sse", "ndjson"}:
        return None
    at = random.choice(places)
    frame = given.frames[at]
    start = frame.index(b"{")
    kept = frame[: random.randrange(start + 1, len(frame.rstrip()))]
    end = frame[len(frame.rstrip(b"\r\n")) :]
    return _joined([*given.frames[:at], kept + end, *given.frames[at + 1 :]], random)


_OTHERS = (
    b"[1, 2]",
    b'"text"',
    b"17",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'{"choices": 1}',
    b'{"type": 7}',
    b"[[[[",
    b"-0",
)


def _no_object(given: Given, random: Random) -> Faulted | None:
    return _inserted(given, random, _spelt(given, random.choice(_OTHERS)))


_UNKNOWN = (
    b'{"type":"response.sparkle.delta","delta":"x","item_id":"nope","output_index":99}',
    b'{"type":"content_block_delta","index":77,"delta":{"type":"sparkle_delta","sparkle":"x"}}',
    b'{"object":"chat.completion.sparkle","choices":[]}',
    b'{"sparkle":{"text":"<invoke name=\\"x\\">"}}',
)


def _unknown_type(given: Given, random: Random) -> Faulted | None:
    return _inserted(given, random, _spelt(given, random.choice(_UNKNOWN)))


def _comments(given: Given, random: Random) -> Faulted | None:
    if given.form != "sse":
        return None
    frames: list[bytes] = []
    for frame in given.frames:
        if random.random() < 0.3:
            frames.append(random.choice((b": ping\n\n", b":\n\n", b": OPENROUTER PROCESSING\n\n", b":data: x\n\n")))
        frames.append(b": a comment\n" + frame if random.random() < 0.1 else frame)
    return _joined(frames, random)


def _error_event(given: Given, random: Random) -> Faulted | None:
    error = b'{"error":{"message":"The server had an error","type":"server_error","code":null}}'
    if given.form == "sse":
        return _inserted(given, random, b"event: error\ndata: " + error + b"\n\n")
    return _inserted(given, random, _spelt(given, error))


def _invalid_utf8(given: Given, random: Random) -> Faulted | None:
    """Bytes that are no UTF-8, in one frame."""
    places = [at for at, frame in enumerate(given.frames) if len(frame) > 12]
    if not places:
        return None
    at = random.choice(places)
    frame = given.frames[at]
    place = random.randrange(8, len(frame.rstrip()))
    bad = random.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\xaf"))
    return _joined([*given.frames[:at], frame[:place] + bad + frame[place:], *given.frames[at + 1 :]], random)


def _duplicate(given: Given, random: Random) -> Faulted | None:
    if given.form not in {"sse", "ndjson"} or not given.frames:
        return None
    at = random.randrange(len(given.frames))
    return _joined([*given.frames[: at + 1], *given.frames[at:]], random)


def _swapped(given: Given, random: Random) -> Faulted | None:
    if given.form not in {"sse", "ndjson"} or len(given.frames) < 2:
        return None
    at = random.randrange(len(given.frames) - 1)
    frames = list(given.frames)
    frames[at], frames[at + 1] = frames[at + 1], frames[at]
    return _joined(frames, random)


# --- the same, spelt otherwise ----------------------------------------------------------------------------------------


def _bom(given: Given, random: Random) -> Faulted | None:
    return _arrives(b"\xef\xbb\xbf" + given.body, random) if given.form == "sse" else None


def _line_ends(given: Given, random: Random, end: bytes) -> Faulted | None:
    if given.form != "sse" and not (given.form == "ndjson" and end == b"\r\n"):
        return None
    return _arrives(_LINE_END.sub(lambda _: end, given.body), random)


def _crlf(given: Given, random: Random) -> Faulted | None:
    return _line_ends(given, random, b"\r\n")


def _cr(given: Given, random: Random) -> Faulted | None:
    return _line_ends(given, random, b"\r")


def _id_and_retry(given: Given, random: Random) -> Faulted | None:
    if given.form != "sse":
        return None
    frames = [b"id: %d\nretry: 1000\n" % at + frame for at, frame in enumerate(given.frames)]
    return _joined(frames, random)


def _no_space(given: Given, random: Random) -> Faulted | None:
    if given.form != "sse":
        return None
    return _arrives(re.sub(rb"(?m)^(data|event|id): ", rb"\1:", given.body), random)


def _behind_the_end(given: Given, random: Random) -> Faulted | None:
    """More comes when all has been said: events of before, and another end."""
    if len(given.frames) < 3 or given.form not in {"sse", "ndjson"}:
        return None
    more = [given.frames[random.randrange(len(given.frames))] for _ in range(2)]
    return _joined([*given.frames, *more], random)


def _no_end(given: Given, random: Random) -> Faulted | None:
    """The last event is missing: `[DONE]`, `message_stop`, the terminal event, the line with `done`."""
    if len(given.frames) < 2:
        return None
    return _joined(given.frames[:-1], random)


def _many_lines(given: Given, random: Random) -> Faulted | None:
    """The JSON of each event over two `data` lines: a line end after its first brace means nothing in JSON."""
    if given.form != "sse":
        return None
    return _arrives(re.sub(rb"(?m)^(data: ?)\{", rb"\1{\ndata: ", given.body), random)


def _empty_data(given: Given, random: Random) -> Faulted | None:
    if given.form != "sse":
        return None
    return _inserted(given, random, random.choice((b"data\n\n", b"data:\n\n", b"data: \n\n", b"event: x\n\n", b"\n\n")))


def _large_comment(given: Given, random: Random) -> Faulted | None:
    return _inserted(given, random, b":" + b" x" * 32_768 + b"\n\n") if given.form == "sse" else None


def _html(given: Given, random: Random) -> Faulted | None:
    """A gateway's error page in the middle."""
    if not given.frames:
        return None
    place = _place(given, random)
    return _joined([*given.frames[:place], _HTML, *given.frames[place:]], random)


# --- content codings --------------------------------------------------------------------------------------------------


def packed(pieces: Sequence[bytes], coding: str) -> list[bytes]:
    """Pieces in a content coding, flushed after each; the last one ends it."""
    if coding == "br":
        brotli = import_module("brotli").Compressor(quality=1)
        return [*(brotli.process(piece) + brotli.flush() for piece in pieces), brotli.finish()]
    if coding == "zstd":
        zstd = import_module("zstandard")
        packer = zstd.ZstdCompressor(level=1).compressobj()
        flush = zstd.COMPRESSOBJ_FLUSH_BLOCK
        return [*(packer.compress(piece) + packer.flush(flush) for piece in pieces), packer.flush()]
    zipper = zlib.compressobj(level=1, wbits=31 if coding == "gzip" else 15)
    return [*(zipper.compress(piece) + zipper.flush(zlib.Z_SYNC_FLUSH) for piece in pieces), zipper.flush()]


def _coded(given: Given, random: Random) -> Faulted | None:
    coding = random.choice(CODINGS)
    return Faulted(given.body, some_cut(b"".join(packed([given.body], coding)), random), coding=coding)


def _coded_truncated(given: Given, random: Random) -> Faulted | None:
    """The coded body stops at the end of one of its pieces or in it, and the connection is closed."""
    if len(given.frames) < 2:
        return None
    coding = random.choice(CODINGS)
    parts = packed(given.frames, coding)
    whole = random.randrange(1, len(given.frames))
    pieces = parts[:whole]
    body = b"".join(given.frames[:whole])
    return Faulted(body, tuple(pieces), coding=coding)


def _coded_corrupt(given: Given, random: Random) -> Faulted | None:
    """After one of its pieces the body is not in its coding any more. What comes then can only pass as it is."""
    if len(given.frames) < 2:
        return None
    coding = random.choice(CODINGS)
    parts = packed(given.frames, coding)
    whole = random.randrange(1, len(given.frames))
    raw = b"\xff\xfe\xfd\xfc" * 8 + b"".join(parts[whole:])
    return Faulted(b"".join(given.frames[:whole]), (*parts[:whole], raw), coding=coding, raw=raw)


def _coded_flushed(given: Given, random: Random) -> Faulted | None:
    coding = random.choice(CODINGS)
    return Faulted(given.body, tuple(packed(given.frames, coding)), coding=coding)


FAULTS = (
    Fault("F01", "one chunk", "same", _one_chunk),
    Fault("F02", "chunks of one byte", "same", _one_byte),
    Fault("F03", "cut anywhere", "same", _anywhere),
    Fault("F04", "cut inside every terminator", "same", _in_terminators),
    Fault("F05", "cut inside every character", "same", _in_characters),
    Fault("F06", "reset inside an event", "cut", _reset_inside),
    Fault("F07", "end inside an event", "cut", _end_inside),
    Fault("F08", "reset behind an event", "cut", _reset_behind),
    Fault("F09", "end behind an event", "cut", _end_behind),
    Fault("F10", "empty body", "cut", _empty),
    Fault("F11", "reset before the first byte", "cut", _reset_first),
    Fault("F12", "no final blank line", "spelling", _no_blank_line),
    Fault("F13", "no final line end", "spelling", _no_line_end),
    Fault("F14", "malformed JSON", "damaged", _malformed),
    Fault("F15", "data that is no object", "damaged", _no_object),
    Fault("F16", "unknown type", "damaged", _unknown_type),
    Fault("F17", "comments", "spelling", _comments),
    Fault("F18", "error event", "damaged", _error_event),
    Fault("F19", "invalid UTF-8", "damaged", _invalid_utf8),
    Fault("F20", "duplicate event", "damaged", _duplicate),
    Fault("F21", "events out of order", "damaged", _swapped),
    Fault("F22", "BOM", "spelling", _bom),
    Fault("F23", "CRLF", "spelling", _crlf),
    Fault("F24", "CR only", "spelling", _cr),
    Fault("F25", "id and retry", "spelling", _id_and_retry),
    Fault("F26", "no space behind the colon", "spelling", _no_space),
    Fault("F27", "data behind the end", "damaged", _behind_the_end),
    Fault("F28", "no last event", "cut", _no_end),
    Fault("F29", "data over several lines", "spelling", _many_lines),
    Fault("F30", "empty data", "spelling", _empty_data),
    Fault("F31", "comment of 64 kB", "spelling", _large_comment),
    Fault("F32", "HTML in the middle", "damaged", _html),
    Fault("F33", "content coding", "same", _coded),
    Fault("F34", "content coding, truncated", "cut", _coded_truncated),
    Fault("F35", "content coding, corrupt", "cut", _coded_corrupt),
    Fault("F36", "content coding, flushed per event", "same", _coded_flushed),
)
