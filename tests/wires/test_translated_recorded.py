"""Streams that Cohere and the Interactions API really sent (`shared/suites/streams`): they leave as they came."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from support import cohereclient, interactionsclient
from support.exchanges import in_pieces, run
from support.oddreplies import KINDS
from support.recordedstreams import recorded_streams
from toolcalls.events import CallEnd, Text
from toolcalls.route import Route
from toolcalls.wires.frames import FRAMES

ROUTES = {
    "observed": Route(),
    "lifted": Route(client="native", upstream="text"),
    "mended": Route(mend=KINDS),
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
@pytest.mark.parametrize("file", ["cohere", "gemini-interactions"])
def test_they_leave_byte_for_byte(file: str, route: Route) -> None:
    for stream in recorded_streams(file):
        for size in (0, 1, 100):
            one = stream.exchange(route)
            assert run(one, in_pieces(stream.body, size)) == stream.body, stream.id
            assert {verdict.status for _, verdict in one.verdicts} <= {"native"}, stream.id
            assert not one.notes, stream.id


def _cohere(body: bytes) -> Iterator[Any]:
    for event in cohereclient.parsed(body.rstrip() + b"\n\n"):
        if event["type"] == "content-delta":
            yield event["delta"]["message"]["content"]["text"]


def _interactions(body: bytes) -> Iterator[Any]:
    for event in interactionsclient.parsed(body):
        if event["event_type"] == "step.delta":
            yield event["delta"].get("text", "")


@pytest.mark.parametrize(
    ("file", "texts", "expected"),
    [
        ("cohere", _cohere, {"streams": 10, "texts": 7, "calls": 4, "named": 10}),
        ("gemini-interactions", _interactions, {"streams": 6, "texts": 6, "named": 4}),
    ],
)
def test_all_of_them_are_read(file: str, texts: Any, expected: dict[str, int]) -> None:
    found: Counter[str] = Counter()
    for stream in recorded_streams(file):
        codec = stream.wire.decoder(streamed=True)
        frames = FRAMES[stream.form]().feed(stream.body)
        parts = [part for one in frames if one.data is not None for part in codec.decode(one.data)]
        text = "".join(event.text for _, event in parts if isinstance(event, Text))
        found += Counter(streams=1, texts=text != "", calls=sum(isinstance(event, CallEnd) for _, event in parts))
        if stream.body.startswith(b"event: "):  # one source has left the names out
            assert text == "".join(texts(stream.body)), stream.id
            found["named"] += 1
    assert found == expected
