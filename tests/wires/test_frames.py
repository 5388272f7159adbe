"""frames.py: SSE and NDJSON bodies, however they are cut, spelt or ended."""

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.repository import shared_path
from support.splitting import cut, one_byte, read
from toolcalls.wires.frames import NDJSON, SSE, Frame, event

BOM = b"\xef\xbb\xbf"


def suite(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shared_path(f"suites/{name}").read_text(encoding="utf-8").splitlines()]


def payloads(frames: list[Frame]) -> list[tuple[bytes, bool]]:
    return [(frame.data, frame.complete) for frame in frames if frame.data is not None]


def reference(body: bytes) -> list[bytes]:
    """The data of all events that end, line by line, as the specification's interpretation of a stream says it."""
    body = body.removeprefix(BOM)
    body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: list[bytes] = []
    buffer: list[bytes] = []
    for line in body.split(b"\n")[:-1]:
        field, _, value = line.partition(b":")
        if not line and buffer:
            found.append(b"\n".join(buffer))
            buffer = []
        elif field == b"data":
            buffer.append(value.removeprefix(b" "))
    return found


pieces = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"\n\n", b"data", b"data:", b"data: ", b" ", b":", b"x", b"{}", b"event: a", b"id",
     b"retry: 1", BOM, b"\xc3\xa9", b"\x00", b"\xff", b"data: {}\n\n", b"\xe2\x80\xa8"]
)  # fmt: skip
bodies = st.lists(pieces, max_size=30).map(b"".join)
cuts = st.lists(st.integers(0, 80), max_size=10)


# --- SSE --------------------------------------------------------------------------------------------------------------

WHOLE: list[tuple[str, bytes, list[tuple[bytes, bytes | None]]]] = [
    ("usual", b"data: {}\n\n", [(b"data: {}\n\n", b"{}")]),
    ("no space", b"data:{}\n\n", [(b"data:{}\n\n", b"{}")]),
    ("two spaces", b"data:  x\n\n", [(b"data:  x\n\n", b" x")]),
    ("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"data: a\r\n\r\n", b"a"), (b"data: b\r\n\r\n", b"b")]),
    ("cr", b"data: a\r\rdata: b\r\r", [(b"data: a\r\r", b"a"), (b"data: b\r\r", b"b")]),
    ("lf crlf", b"data: a\n\r\ndata: b\n\n", [(b"data: a\n\r\n", b"a"), (b"data: b\n\n", b"b")]),
    ("cr crlf", b"data: a\r\r\ndata: b\n\n", [(b"data: a\r\r\n", b"a"), (b"data: b\n\n", b"b")]),
    ("crlf is one", b"data: a\r\ndata: b\r\n\r\n", [(b"data: a\r\ndata: b\r\n\r\n", b"a\nb")]),
    ("many lines", b"data: a\ndata\ndata:\ndata: b\n\n", [(b"data: a\ndata\ndata:\ndata: b\n\n", b"a\n\n\nb")]),
    ("empty", b"data\n\n", [(b"data\n\n", b"")]),
    ("other fields", b"event: e\nid: 1\nDATA: n\ndatax: n\n data: n\ndata: y\n\n", [
        (b"event: e\nid: 1\nDATA: n\ndatax: n\n data: n\ndata: y\n\n", b"y")]),
    ("comment", b": ping\n\n:data: x\n\n", [(b": ping\n\n", None), (b":data: x\n\n", None)]),
    ("stray line ends", b"\n\r\n\ndata: a\n\n\n\n", [(b"\n\r\n\n", None), (b"data: a\n\n", b"a"), (b"\n\n", None)]),
    ("bom", BOM + b"data: a\n\n", [(BOM + b"data: a\n\n", b"a")]),
    ("two boms", BOM * 2 + b"data: a\n\n", [(BOM * 2 + b"data: a\n\n", None)]),
    ("late bom", b"data: a\n\n" + BOM + b"data: b\n\n", [(b"data: a\n\n", b"a"), (BOM + b"data: b\n\n", None)]),
    ("bom after a line end", b"\n" + BOM + b"data: b\n\n", [(b"\n", None), (BOM + b"data: b\n\n", None)]),
    ("bom and line end", BOM + b"\ndata: a\n\n", [(BOM + b"\ndata: a\n\n", b"a")]),
    ("other line ends are data", "data: a\u2028b\x0bc\x85\n\n".encode(), [
        ("data: a\u2028b\x0bc\x85\n\n".encode(), "a\u2028b\x0bc\x85".encode())]),
    ("invalid utf-8", b"data: \xff\x00\n\n", [(b"data: \xff\x00\n\n", b"\xff\x00")]),
    ("nothing", b"", []),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE])
def test_frames_of_a_whole_body(body: bytes, expected: list[tuple[bytes, bytes | None]]) -> None:
    assert [(frame.raw, frame.data) for frame in read(SSE(), [body])] == expected
    data = [data for _, data in expected if data is not None]
    assert [data for data, _ in payloads(read(SSE(), one_byte(body)))] == data


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: a", b"a"), (b"data: a\n", b"a"), (b"data: a\r\n", b"a"), (b"data: a\r", b"a"), (b"dat", None),
        (b": x\n", None), (BOM, None), (BOM + b"data: a", b"a"), (b"data", b""),
    ],
)  # fmt: skip
def test_the_last_frame_without_an_end_is_not_complete(body: bytes, data: bytes | None) -> None:
    for chunks in ([body], one_byte(body)):
        assert read(SSE(), chunks) == [Frame(body, data, complete=False)]


def test_a_blank_line_is_taken_at_its_cr() -> None:
    sse = SSE()
    assert sse.feed(b"data: a\r\n\r") == [Frame(b"data: a\r\n\r", b"a")]
    assert sse.feed(b"\n") == [Frame(b"\n", None, tail=True)]
    assert sse.feed(b"data: b\r\r") == [Frame(b"data: b\r\r", b"b")]
    assert sse.feed(b"\ndata: c\n\n") == [Frame(b"\n", None, tail=True), Frame(b"data: c\n\n", b"c")]


def test_a_crlf_that_is_cut_inside_a_frame_is_one_line_end() -> None:
    sse = SSE()
    assert sse.feed(b"data: a\r") == []
    assert sse.feed(b"\ndata: b\r") == []
    assert sse.feed(b"\n") == []
    assert sse.feed(b"\r\n") == [Frame(b"data: a\r\ndata: b\r\n\r\n", b"a\nb")]


def test_a_frame_leaves_in_the_call_that_completes_it() -> None:
    sse = SSE()
    assert sse.feed(b"data: a\n\ndata: b") == [Frame(b"data: a\n\n", b"a")]
    assert sse.feed(b"c\n") == []
    assert sse.feed(b"\ndata: d\n\nx") == [Frame(b"data: bc\n\n", b"bc"), Frame(b"data: d\n\n", b"d")]


@given(bodies, cuts)
@example(b"data: {}\n\ndata: {}\r\n\r\n", [10])
def test_any_cut_gives_the_same_data(body: bytes, places: list[int]) -> None:
    whole = payloads(read(SSE(), [body]))
    assert payloads(read(SSE(), cut(body, places))) == whole
    assert payloads(read(SSE(), one_byte(body))) == whole
    assert [data for data, complete in whole if complete] == reference(body)
    assert [complete for _, complete in whole[:-1]] == [True] * len(whole[:-1])


@given(bodies, cuts, st.integers(1, 40))
def test_any_cut_gives_the_same_data_past_the_limit(body: bytes, places: list[int], limit: int) -> None:
    splitters = [SSE(limit), SSE(limit), SSE(limit)]
    results = [
        payloads(read(splitter, chunks))
        for splitter, chunks in zip(splitters, ([body], cut(body, places), one_byte(body)), strict=True)
    ]
    assert results[0] == results[1] == results[2]
    assert len({splitter.overflowed for splitter in splitters}) == 1
    assert all(len(data) <= limit for data, _ in results[0])


@given(bodies)
def test_a_long_frame_is_read_as_a_short_one(body: bytes) -> None:
    lines = b"".join(line + b"\n" for line in body.splitlines() if line)
    long = b":" + b"x" * 70_000 + b"\r\n" + lines + b"\n"
    assert [data for data, _ in payloads(read(SSE(), [long]))] == reference(long)


def test_past_the_limit_everything_passes_without_data() -> None:
    sse = SSE(20)
    assert sse.feed(b"data: a\n\ndata: 789012345678") == [Frame(b"data: a\n\n", b"a")]
    assert not sse.overflowed
    assert sse.feed(b"9") == []
    assert sse.feed(b"01") == [Frame(b"data: 789012345678901", None)]
    assert sse.overflowed
    assert sse.feed(b"\n\ndata: b\n\n") == [Frame(b"\n\ndata: b\n\n", None)]
    assert sse.feed(b"") == []
    assert sse.flush() == []


def test_a_frame_as_long_as_the_limit_is_read() -> None:
    for body in (b"data: 78\n\n", b"data: 7\r\n\r\n", b": 345678\n\n"):
        splitter = SSE(10)
        assert len(read(splitter, [body])) == 1
        assert not splitter.overflowed
    splitter = SSE(9)
    assert read(splitter, [b"data: 78\n\n"]) == [Frame(b"data: 78\n\n", None)]
    assert splitter.overflowed


def test_held_bytes_are_searched_once() -> None:
    """Every byte that a search of the buffer sees again is counted: at most the two that an end may begin with."""
    seen = 0

    class Counting(SSE):
        def _end(self, body: bytes | bytearray, searched: int) -> int:
            nonlocal seen
            seen += len(body) - searched
            return super()._end(body, searched)

    size = 200_000
    splitter = Counting()
    for place in range(0, size, 20):
        splitter.feed((b"data: abcdefghijk\r\n" if place % 40 else b"x" * 19)[:20])
    assert seen < size * 1.5


@pytest.mark.parametrize(
    ("name", "chunks_of"),
    [
        ("sse_wpt.jsonl", lambda row: [base64.b64decode(row["body_b64"])]),
        ("sse_launchdarkly.jsonl", lambda row: [base64.b64decode(chunk) for chunk in row["chunks_b64"]]),
    ],
)
def test_suites(name: str, chunks_of: Any) -> None:
    """The data of every event, as the suites expect it; names, ids and retry are not this module's."""
    counted = 0
    for row in suite(name):
        if "skipped" in row or not row.get("accept", True):
            continue
        chunks = chunks_of(row)
        expected = [each["data"] for each in row["events"]]
        for variant in (chunks, [b"".join(chunks)], one_byte(b"".join(chunks))):
            found = [data for data, complete in payloads(read(SSE(), variant)) if complete]
            assert [data.decode("utf-8", "replace") for data in found] == expected, row["name"]
        counted += 1
    assert counted >= 28


# --- event ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("like", "expected", "kept"),
    [
        (b"data: a\n\n", b"data: N\n\n", b"data: N\n\n"),
        (b"data:a\n\n", b"data:N\n\n", b"data:N\n\n"),
        (b"data: a\r\n\r\n", b"data: N\r\n\r\n", b"data: N\r\n\r\n"),
        (b"data:a\r\r", b"data:N\r\r", b"data:N\r\r"),
        (b"data\n\n", b"data: N\n\n", b"data: N\n\n"),
        (b"event: e\ndata: a\n\n", b"data: N\n\n", b"event: e\ndata: N\n\n"),
        (b"event: e\r\ndata:a\r\nid: 1\r\n\r", b"data:N\r\n\r\n", b"event: e\r\ndata:N\r\nid: 1\r\n\r\n"),
        (b": c\ndata: a\nid: 1\ndata: b\n\n", b"data: N\n\n", b": c\ndata: N\nid: 1\n\n"),
        (b"event: e\n\n", b"data: N\n\n", b"event: e\ndata: N\n\n"),
        (BOM + b"data:a\n\n", b"data:N\n\n", b"data:N\n\n"),
        (b"data: a", b"data: N\n\n", b"data: N\n\n"),
        (b"\n\n", b"data: N\n\n", b"data: N\n\n"),
        (b"", b"data: N\n\n", b"data: N\n\n"),
    ],
)
def test_event_is_spelt_like_another(like: bytes, expected: bytes, kept: bytes) -> None:
    assert event(b"N", like) == expected
    assert event(b"N", like, keep=True) == kept


lines = st.sampled_from([b"data: a", b"data:a", b"data", b"event: e", b": c", b"id: 1", b"retry: 2"])
frames = st.tuples(st.lists(lines, max_size=5), st.sampled_from([b"\n", b"\r\n", b"\r"])).map(
    lambda pair: pair[1].join(pair[0]) + pair[1] * 2
)
data = st.lists(st.sampled_from([b"{}", b" ", b":", b"data: ", b"id: x", b"\xff", b"\n", b"\r"])).map(b"".join)


@given(data, frames, st.booleans())
@example(b"a\r\n\r\nevent: injected", b"data: a\n\n", False)
def test_an_event_is_one_frame_with_its_payload(payload: bytes, like: bytes, keep: bool) -> None:
    raw = event(payload, like, keep=keep)
    assert read(SSE(), [raw]) == [Frame(raw, payload.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))]
    others = [line for line in raw.splitlines() if line and not line.startswith(b"data")]
    expected = [line for line in like.splitlines() if line and not line.startswith(b"data")] if keep else []
    assert others == expected


# --- NDJSON -----------------------------------------------------------------------------------------------------------


def test_ndjson() -> None:
    body = b'{"a":1}\n\n{"b":"\xc3\xa9"}\r\n{"c"'
    expected = [
        Frame(b'{"a":1}\n', b'{"a":1}'),
        Frame(b"\n", None),
        Frame(b'{"b":"\xc3\xa9"}\r\n', b'{"b":"\xc3\xa9"}'),
        Frame(b'{"c"', b'{"c"', complete=False),
    ]
    assert read(NDJSON(), [body]) == expected
    assert read(NDJSON(), one_byte(body)) == expected


@given(bodies, cuts, st.integers(1, 40))
def test_ndjson_any_cut_gives_the_same_data(body: bytes, places: list[int], limit: int) -> None:
    for max_bytes in (limit, 1_000):
        whole = payloads(read(NDJSON(max_bytes), [body]))
        assert payloads(read(NDJSON(max_bytes), cut(body, places))) == whole
        assert payloads(read(NDJSON(max_bytes), one_byte(body))) == whole
