"""A text as a reply on a wire, for the groups that start from texts and not from streams."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from reliability.driving import Outcome, driven
from reliability.faults import some_cut
from reliability.materials import EMPTY_REQUESTS, PATHS, Reply
from reliability.spliced import Envelope, body_with, envelopes
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.wires.frames import Form

KEYS = tuple(sorted(envelopes()))  # wires and forms
_TYPES: Mapping[Form, str] = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
    "whole": "application/json",
}


def envelope_for(key: Any, random: Random) -> Envelope:
    """An envelope of a wire and form."""
    return random.choice(envelopes()[key])


def saying(envelope: Envelope, text: str, random: Random, request: Mapping[str, Any] | None = None) -> Reply:
    """A reply whose text is this one. `request` is the request's body, an empty one if none is given."""
    asked = EMPTY_REQUESTS[envelope.wire] if request is None else request
    return replace(envelope.reply, request=json.dumps(asked).encode(), body=body_with(envelope, text, random))


def with_tools(route: Route, tools: Iterable[Tool]) -> Route:
    """A route that declares tools, on every wire."""
    return replace(route, tools=tuple(tools))


def driven_cut(reply: Reply, random: Random, route: Route) -> tuple[Outcome, Sequence[bytes]]:
    """A reply through, cut anywhere; and the pieces."""
    pieces = some_cut(reply.body, random)
    return driven(reply, pieces, route=route), pieces


def reply_in(wire: str, form: Form, body: bytes, request: Mapping[str, Any] | None = None) -> Reply:
    """A body as a reply of a wire in a form. `request` is the request's body, an empty one if none is given."""
    path = PATHS[wire.replace("_", "-")]
    if wire == "gemini" and form != "sse":
        path = PATHS["gemini-jsonarray"] if form == "json_array" else path.partition(":")[0] + ":generateContent"
    asked = EMPTY_REQUESTS[wire] if request is None else request
    return Reply(f"{wire}/{form}", path, _TYPES[form], json.dumps(asked).encode(), body)
