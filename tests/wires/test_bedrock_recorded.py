"""Streams that Bedrock really sent (`shared/suites/streams/bedrock.jsonl`): they leave byte for byte, however cut."""

import base64
import json
from collections import Counter
from typing import Any

import pytest

from support.converseclient import parsed
from support.exchanges import of_request, run
from support.invokeclient import payloads as chunks_of
from support.repository import shared_path
from toolcalls.events import CallEnd, Text
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.wires import Wire, wire_of
from toolcalls.wires.frames import FRAMES

ROUTES = {
    "observed": Route(),
    "lifted": Route(client="native", upstream="text"),
    # Nova writes its thoughts into the text, where `reasoning` would move them.
    "mended": Route(mend=("protocol", "json", "types", "names", "errors")),
}


def rows() -> list[dict[str, Any]]:
    text = shared_path("suites/streams/bedrock.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def body_of(row: dict[str, Any]) -> bytes:
    """Some cassettes kept the body as base64 in a text."""
    return base64.b64decode(row["body_base64"] if "body_base64" in row else row["body"])


def wire_for(row: dict[str, Any]) -> Wire:
    found = wire_of(row["url_path"])
    assert found is not None
    return found


def asked(row: dict[str, Any]) -> Request:
    return request_of(wire_for(row), json.dumps(row["request"]).encode())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_they_leave_byte_for_byte(route: Route) -> None:
    for row in rows():
        wire, body = wire_for(row), body_of(row)
        form = wire.form(row["url_path"], row["content_type"])
        assert form in FRAMES
        for size in (len(body), 1, 100):
            one = of_request(wire, asked(row), route, form=form, seed=b"s")
            pieces = [body[at : at + size] for at in range(0, len(body), size)]
            assert run(one, pieces) == body, row["id"]
            assert not [note for _, note in one.notes if note.rule == "unread"], row["id"]
            assert {verdict.status for _, verdict in one.verdicts} <= {"native", "declined"}, row["id"]


def test_all_of_them_are_read() -> None:
    """What botocore gives its callers is what the wire finds: the text, and the calls."""
    found: Counter[str] = Counter()
    for row in rows():
        wire, body = wire_for(row), body_of(row)
        form = wire.form(row["url_path"], row["content_type"])
        assert form in {"eventstream", "eventstream_chunks"}
        frames = FRAMES[form]()
        codec = wire.decoder(streamed=True)
        parts = [part for one in frames.feed(body) if one.data is not None for part in codec.decode(one.data)]
        text = "".join(event.text for _, event in parts if isinstance(event, Text))
        calls = sum(isinstance(event, CallEnd) for _, event in parts)
        found += Counter(streams=1, texts=text != "", calls=calls)
        said = parsed(body) if form == "eventstream" else [json.loads(one) for one in chunks_of(body)]
        assert text == "".join(map(_text, said)), row["id"]
    assert found["streams"] == 29
    assert found["texts"] > 20
    assert found["calls"] >= 8


def _text(event: dict[str, Any]) -> str:
    """The text of one event of any model's."""
    if "contentBlockDelta" in event:
        return str(event["contentBlockDelta"]["delta"].get("text", ""))
    if event.get("type") == "content_block_delta":
        return str(event["delta"].get("text", ""))
    return "".join(str(event.get(key) or "") for key in ("generation", "outputText", "completion", "text"))
