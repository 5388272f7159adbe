"""Streams that the Interactions API really sent (`shared/suites/streams`): they leave byte for byte, however cut."""

from collections import Counter

import pytest

from support.exchanges import in_pieces, run
from support.interactionsclient import parsed
from support.recordedstreams import recorded_streams
from toolcalls.events import Text
from toolcalls.route import Route
from toolcalls.wires.frames import FRAMES

STREAMS = recorded_streams("gemini-interactions")
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
            assert not one.verdicts, stream.id
            assert not one.notes, stream.id


def test_all_of_them_are_read() -> None:
    found: Counter[str] = Counter()
    for stream in STREAMS:
        codec = stream.wire.decoder(streamed=True)
        frames = FRAMES[stream.form]().feed(stream.body)
        parts = [part for one in frames if one.data is not None for part in codec.decode(one.data)]
        text = "".join(event.text for _, event in parts if isinstance(event, Text))
        found += Counter(streams=1, texts=text != "")
        if stream.body.startswith(b"event: "):  # one source has left the names out
            deltas = [event["delta"] for event in parsed(stream.body) if event["event_type"] == "step.delta"]
            assert text == "".join(delta.get("text", "") for delta in deltas), stream.id
            found["named"] += 1
    assert found == {"streams": 6, "texts": 6, "named": 4}
