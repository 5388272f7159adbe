"""AWS event streams: cut into messages and written again. botocore's own reader says what a client makes of them."""

import base64
import json
import struct
from itertools import takewhile
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import example, given
from hypothesis import strategies as st

from support.exchanges import of_request, run
from support.splitting import cut, one_byte, read
from toolcalls.request import Request
from toolcalls.wires import all_wires, eventstream
from toolcalls.wires.eventstream import BrokenMessage, Message
from toolcalls.wires.frames import EventStream, EventStreamChunks, Frame

EVENT = eventstream.event_headers("contentBlockDelta")


def message(payload: bytes, headers: bytes = EVENT) -> bytes:
    return eventstream.written(Message(headers, payload))


def as_client(body: bytes) -> tuple[list[tuple[dict[str, Any], bytes]], bool]:
    """What botocore reads, and whether it refuses what follows."""
    buffer = EventStreamBuffer()
    found: list[tuple[dict[str, Any], bytes]] = []
    buffer.add_data(body)
    try:
        while (one := next(buffer, None)) is not None:
            found.append((one.headers, one.payload))
    except (ParserError, struct.error, UnicodeDecodeError, KeyError):
        return found, True
    return found, False


def payloads(frames: list[Frame]) -> list[bytes]:
    return [frame.data for frame in frames if frame.data is not None]


# --- messages ---------------------------------------------------------------------------------------------------------

texts = st.text(max_size=20)
_KINDS: dict[int, st.SearchStrategy[bytes]] = {
    0: st.just(b""),
    1: st.just(b""),
    2: st.binary(min_size=1, max_size=1),
    3: st.binary(min_size=2, max_size=2),
    4: st.binary(min_size=4, max_size=4),
    5: st.binary(min_size=8, max_size=8),
    6: st.binary(max_size=20).map(lambda value: struct.pack("!H", len(value)) + value),
    7: texts.map(lambda value: struct.pack("!H", len(value.encode())) + value.encode()),
    8: st.binary(min_size=8, max_size=8),
    9: st.binary(min_size=16, max_size=16),
}
header = st.one_of(*(st.tuples(texts.map(str.encode), st.just(kind), value) for kind, value in _KINDS.items()))
any_headers = st.lists(header, max_size=6, unique_by=lambda one: one[0]).map(
    lambda rows: b"".join(bytes([len(name)]) + name + bytes([kind]) + value for name, kind, value in rows)
)
named_headers = st.builds(eventstream.event_headers, st.from_regex(r"[a-zA-Z]{1,20}", fullmatch=True))
json_payloads = st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=3)), max_size=4).map(
    lambda value: json.dumps(value).encode()
)
messages = st.builds(message, st.one_of(json_payloads, st.binary(max_size=60)), st.one_of(any_headers, named_headers))
bodies = st.lists(messages, max_size=5).map(b"".join)
places = st.lists(st.integers(0, 500), max_size=8)


@given(any_headers, st.binary(max_size=200))
def test_what_is_written_is_what_botocore_reads(headers: bytes, payload: bytes) -> None:
    raw = message(payload, headers)
    (one,), refused = as_client(raw)
    assert not refused
    assert one[1] == payload
    made = eventstream.read(raw)
    assert (made.headers, made.payload) == (headers, payload)
    assert made.type == (one[0].get(":message-type") or "")


@given(bodies, places)
def test_frames_are_botocores_messages_wherever_they_are_cut(body: bytes, edges: list[int]) -> None:
    found, refused = as_client(body)
    assert not refused
    for chunks in ([body], cut(body, edges), one_byte(body)):
        frames = read(EventStream(), chunks)
        assert [eventstream.read(frame.raw).payload for frame in frames] == [payload for _, payload in found]
        for frame, (headers, payload) in zip(frames, found, strict=True):
            name = headers.get(":event-type")
            if headers.get(":message-type") == "event" and name and payload:
                assert frame.data == b'{"%b":%b}' % (name.encode(), payload)


@given(bodies, st.integers(0, 400), st.integers(1, 255), places)
@example(message(b"{}") * 2, 0, 1, [len(message(b"{}"))])
def test_what_botocore_refuses_passes_unread(body: bytes, place: int, flip: int, edges: list[int]) -> None:
    """One byte is another. From there on no message is read, and all bytes leave."""
    if not body:
        return
    place %= len(body)
    damaged = body[:place] + bytes([body[place] ^ flip]) + body[place + 1 :]
    found, refused = as_client(damaged)
    results = []
    for chunks in ([damaged], cut(damaged, edges), one_byte(damaged)):
        splitter = EventStream()
        frames = read(splitter, chunks)
        # What follows the damage leaves in the pieces it came in, and one of these may be a whole message by chance.
        assert sum(1 for _ in takewhile(lambda frame: _is_message(frame.raw), frames)) == len(found)
        assert bool(splitter.broken) == refused
        results.append((payloads(frames), splitter.broken))
    assert results[0] == results[1] == results[2]


def _is_message(raw: bytes) -> bool:
    try:
        return eventstream.size_of(raw) == len(raw) and eventstream.read(raw) is not None
    except BrokenMessage:
        return False


@pytest.mark.parametrize(
    "headers",
    [
        b"\x01a\x0a",
        b"\x01a\x07\x00\x05ab",
        b"\x01a\x00\x01a\x00",
        b"\x05a",
        b"\x01\xff\x00",
        b"\x01a\x07\x00\x01\xff",
    ],
    ids=["unknown type", "too long", "twice", "no type", "a name that is no UTF-8", "a text that is no UTF-8"],
)
def test_headers_that_nobody_can_read_are_broken(headers: bytes) -> None:
    with pytest.raises(BrokenMessage):
        eventstream.read(message(b"{}", headers))
    frames = EventStream()
    assert frames.feed(message(b"{}", headers) + message(b"{}")) == [
        Frame(message(b"{}", headers) + message(b"{}"), None)
    ]
    assert frames.broken


@pytest.mark.parametrize(("size", "headers"), [(15, 0), (16, 1), (1 << 31, 128 * 1024 + 1)])
def test_impossible_lengths_are_broken(size: int, headers: int) -> None:
    lengths = struct.pack("!II", size, headers)
    body = lengths + struct.pack("!I", crc32(lengths)) + b"\0" * 40
    with pytest.raises(BrokenMessage):
        eventstream.size_of(body)
    assert EventStream().feed(body) == [Frame(body, None)]


def test_past_the_limit_everything_passes_without_data() -> None:
    small, large = message(b"{}"), message(b"[%b]" % (b" " * 500))
    for chunks in ([small + large + small], one_byte(small + large + small)):
        frames = EventStream(200)
        found = read(frames, chunks)
        assert payloads(found) == [b'{"contentBlockDelta":{}}']
        assert frames.overflowed
        assert not frames.broken


def test_a_message_that_is_cut_off_is_not_complete() -> None:
    whole = message(b"{}")
    assert read(EventStream(), [whole[:-1]]) == [Frame(whole[:-1], None, complete=False)]
    assert read(EventStream(), [whole[:5]]) == [Frame(whole[:5], None, complete=False)]


def test_work_is_linear_in_the_size_of_a_message() -> None:
    """A message that comes byte by byte is looked at when it is whole: until then only its lengths are."""
    seen = 0

    class Counting(EventStream):
        def _data(self, raw: bytes) -> bytes | None:
            nonlocal seen
            seen += len(raw)
            return super()._data(raw)

    body = message(b'{"a":"%b"}' % (b"x" * 20_000))
    assert len(read(Counting(), one_byte(body))) == 1
    assert seen == len(body)


# --- new messages -----------------------------------------------------------------------------------------------------


@given(json_payloads, st.one_of(named_headers, any_headers, st.just(b"")), st.booleans())
def test_a_new_event_is_one_message_with_its_name(payload: bytes, like: bytes, keep: bool) -> None:
    data = b'{"messageStop":%b}' % payload
    raw = EventStream().build(data, message(b"{}", like) if like else b"", keep=keep, name=None)
    ((headers, came),), refused = as_client(raw)
    assert not refused
    assert came == payload
    assert headers[":event-type"] == "messageStop"
    assert headers[":message-type"] == "event"
    assert read(EventStream(), [raw]) == [Frame(raw, data)]


def test_an_event_keeps_the_headers_that_nobody_knows() -> None:
    like = eventstream.event_headers("messageStart") + b"\x01x\x00"
    raw = EventStream().build(b'{"messageStop":{}}', message(b"{}", like), keep=True, name=None)
    ((headers, _),), _ = as_client(raw)
    assert headers == {
        ":event-type": "messageStop",
        ":content-type": "application/json",
        ":message-type": "event",
        "x": True,
    }


@pytest.mark.parametrize("frames", [EventStream(), EventStreamChunks()])
def test_an_exception_stays_one(frames: EventStream) -> None:
    raw = message(b'{"message":"slow down"}', eventstream.exception_headers("throttlingException"))
    (frame,) = read(frames, [raw])
    assert frame.data == b'{"throttlingException":{"message":"slow down"}}'
    assert frames.build(frame.data, message(b"{}"), keep=True, name=None) == raw


@given(st.binary(min_size=1, max_size=60), st.booleans(), st.booleans())
def test_a_chunk_holds_another_apis_payload(data: bytes, keep: bool, padded: bool) -> None:
    said = {"bytes": base64.b64encode(b"old").decode(), **({"p": "abcdef"} if padded else {})}
    like = message(json.dumps(said).encode(), eventstream.event_headers("chunk"))
    assert payloads(read(EventStreamChunks(), [like])) == [b"old"]
    if data.startswith(b"{"):
        return
    raw = EventStreamChunks().build(data, like, keep=keep, name="ignored")
    ((headers, payload),), _ = as_client(raw)
    assert headers[":event-type"] == "chunk"
    made = json.loads(payload)
    assert base64.b64decode(made.pop("bytes")) == data
    assert made == ({"p": "abcdef"} if keep and padded else {})
    assert payloads(read(EventStreamChunks(), [raw])) == [data]


@pytest.mark.parametrize("payload", [b"", b"{}", b'{"bytes":"!"}', b'{"bytes":3}', b"nothing", b'{"bytes":""}'])
def test_a_chunk_without_a_payload_has_no_data(payload: bytes) -> None:
    raw = message(payload, eventstream.event_headers("chunk"))
    assert read(EventStreamChunks(), [raw]) == [Frame(raw, None)]


# --- a reply ----------------------------------------------------------------------------------------------------------


def test_a_broken_stream_passes_with_the_reason() -> None:
    body = message(b'{"a":1}') + b"\0" * 40 + message(b'{"a":2}')
    for chunks in ([body], one_byte(body)):
        one = of_request(all_wires()["anthropic"], Request(), form="eventstream")
        assert run(one, chunks) == body
        (note,) = [note for _, note in one.notes if note.rule == "unread"]
        assert note.text == "the checksum of a prelude is wrong; from there on the reply is forwarded unparsed"
