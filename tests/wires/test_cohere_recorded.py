"""Streams that Cohere really sent (`shared/suites/streams/cohere.jsonl`): they leave byte for byte, however cut."""

from collections import Counter

import pytest

from support.cohereclient import parsed
from support.exchanges import in_pieces, run
from support.recordedstreams import recorded_streams
from toolcalls.events import CallEnd, Text
from toolcalls.route import Route
from toolcalls.wires.frames import FRAMES

STREAMS = recorded_streams("cohere")
ROUTES = {
    "observed": Route(),
    "lifted": Route(client="native", upstream="text"),
    "mended": Route(mend=("protocol", "json", "types", "names", "reasoning", "errors")),
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_they_leave_byte_for_byte(route: Route) -> None:
    for stream in STREAMS:
        for size in (0, 1, 100):
            one = stream.exchange(route)
            assert run(one, in_pieces(stream.body, size)) == stream.body, stream.id
            assert {verdict.status for _, verdict in one.verdicts} <= {"native"}, stream.id
            assert not one.notes, stream.id


def test_all_of_them_are_read() -> None:
    found: Counter[str] = Counter()
    for stream in STREAMS:
        codec = stream.wire.decoder(streamed=True)
        frames = FRAMES[stream.form]().feed(stream.body)
        parts = [part for one in frames if one.data is not None for part in codec.decode(one.data)]
        text = "".join(event.text for _, event in parts if isinstance(event, Text))
        found += Counter(streams=1, texts=text != "", calls=sum(isinstance(event, CallEnd) for _, event in parts))
        told = [event["delta"]["message"] for event in parsed(stream.body.rstrip() + b"\n\n")
                if event["type"] == "content-delta"]  # fmt: skip
        assert text == "".join(message["content"]["text"] for message in told), stream.id
    assert found == {"streams": 10, "texts": 7, "calls": 4}
