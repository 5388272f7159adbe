"""Streams whose events have names (Anthropic, Responses): what a strict client reads in one."""

import json
from typing import Any


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The events of a stream. Each has its name."""
    found = []
    for frame in body.decode().split("\n\n")[:-1]:
        lines = frame.split("\n")
        assert [line.partition(": ")[0] for line in lines] == ["event", "data"], f"an odd frame: {frame[:80]!r}"
        event = json.loads(lines[1].removeprefix("data: "))
        assert lines[0] == f"event: {event['type']}", lines[0]
        found.append(event)
    return found
