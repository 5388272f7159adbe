"""The wires, found by their names: each module or folder here holds one `WIRE`, one HTTP API and its stream format.

A wire turns a frame's payload into hub events and changed events into payloads again. It never reads dialects and never
holds text back; what it must remember of a reply stands in one `Codec` per reply.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, runtime_checkable
from urllib.parse import unquote, urlsplit

from toolcalls.events import Event, Text
from toolcalls.request import Request, Tool
from toolcalls.wires.frames import Form

# One event of a frame, with its lane: what a reply carries side by side (choices, blocks, items).
type Part = tuple[int, Event]

# The payload behind which a stream of OpenAI's holds nothing; some servers keep the connection open behind it.
STREAM_END = b"[DONE]"


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, texts that follow each other as one text in the lane of the last; empty ones are left out."""
    text, of = "", 0
    for lane, event in parts:
        if isinstance(event, Text):
            text, of = text + event.text, lane
            continue
        if text:
            yield of, Text(text)
            text = ""
        yield lane, event
    if text:
        yield of, Text(text)


class Decoder(Protocol):
    """Reads a reply without changing it."""

    def decode(self, payload: bytes) -> list[Part]:
        """As `Codec.decode`."""


class Codec(Protocol):
    """Reads and writes one reply of a wire, streamed or whole."""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame; [] for a frame that the wire does not know, which then passes unchanged.

        An empty `Text` says that the frame only opens a place for text: it waits for the next frame. If that one leaves
        unchanged, `encode` gets the empty `Text` back; otherwise it does not, so that the place may stay unopened.
        A `Place` before a text comes back before what became of that text.

        Sets `can_omit`.
        """

    @property
    def can_omit(self) -> bool:
        """Whether the frame decoded last holds nothing but text of one lane, or nothing but calls.

        Such a frame can be left out once its text or its calls are taken: nothing else is lost with it.
        """

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        """The payloads that replace a frame whose events have become `parts`; [] when nothing of it is left.

        Whatever else the frame holds (role, usage, unknown fields) is kept, unless it can be omitted. In a whole reply,
        and where calls are never split, `parts` also hold the calls' `Markup`, and an empty `Markup` where a candidate
        got its verdict: a call without an end by then broke off and stays text.
        """

    @property
    def must_encode(self) -> bool:
        """Whether every frame from here on must go through `encode`, also one without events.

        True once frames carry other numbers than they came with. A frame that stays as it is then comes back from
        `encode` as its own payload.
        """

    @property
    def reply_id(self) -> str:
        """The reply's own id, "" while unknown."""


class Wire(Protocol):
    """One HTTP API."""

    @property
    def name(self) -> str:
        """The name in configuration and files."""

    @property
    def has_event_names(self) -> bool:
        """Whether each event of a stream has a name, which is the `type` of its payload."""

    @property
    def sequential_lanes(self) -> bool:
        """Whether the lanes are parts of one reply, one after the other; otherwise each is a reply (a choice)."""

    @property
    def calls_are_whole(self) -> bool:
        """Whether a call is never split, not even in a stream: the codec writes a call when it is complete."""

    @property
    def call_id_prefix(self) -> str:
        """What the ids of calls begin with."""

    def form(self, path: str, content_type: str) -> Form | None:
        """How the body of a successful reply to `path` is framed; None for a body that is not read."""

    def matches(self, path: str) -> bool:
        """Whether a request path (with its query) belongs to this API."""

    def request(self, body: bytes) -> Request:
        """What reading a reply needs to know of its request. Raises ValueError for a body of another API."""

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""


@runtime_checkable
class Retrievable(Protocol):
    """A wire whose replies can also be retrieved by a GET: a second time, or later than the request."""

    def is_retrieval(self, path: str) -> bool:
        """Whether a GET of this path (with its query) retrieves the reply to an earlier request."""


@runtime_checkable
class HasDecoder(Protocol):
    """A wire whose codec keeps each decoded frame until it is encoded. Readers that never encode need a decoder."""

    def decoder(self, *, streamed: bool) -> Decoder:
        """A decoder for one reply."""


def decoder_of(wire: Wire, *, streamed: bool) -> Decoder:
    """A decoder for one reply that is only read."""
    return wire.decoder(streamed=streamed) if isinstance(wire, HasDecoder) else wire.codec(streamed=streamed)


_FORMS: dict[str, Form] = {
    "text/event-stream": "sse",
    "application/json": "whole",
    "application/x-ndjson": "ndjson",
}


def form_of(content_type: str) -> Form | None:
    """The form that a content type says, with or without its parameters."""
    return _FORMS.get(content_type.partition(";")[0].strip().lower())


# Where APIs name the model in the path: Gemini and Vertex AI (`models/M:method`), Bedrock (`model/M/converse`), Azure.
_MODEL = re.compile(r"/(?:models?|deployments)/([^/:]+)[/:]")


def model_in(path: str) -> str:
    """The model that a request path names, "" for none."""
    found = _MODEL.search(urlsplit(path).path.replace("%3A", ":").replace("%3a", ":"))
    return unquote(found[1]) if found else ""


def function_tools(value: object) -> Iterator[Tool]:
    """The function tools of a request's `tools` in OpenAI's form; what is not one is passed over."""
    for item in value if isinstance(value, list) else ():
        function = item.get("function") if isinstance(item, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(name, str) and name:
            schema, about = function.get("parameters"), function.get("description")
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def custom_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A custom tool's free text as a schema. The grammar that it must keep to, if any, is told in words."""
    form = tool.get("format")
    grammar = form.get("grammar", form) if isinstance(form, dict) else None  # Chat has an object more
    about: dict[str, Any] = {"type": "string"}
    if isinstance(grammar, dict) and isinstance(definition := grammar.get("definition"), str):
        about["description"] = f"Text of this {grammar.get('syntax') or 'grammar'} grammar:\n{definition}"
    return {"type": "object", "properties": {"input": about}, "required": ["input"]}


SHARED = frozenset({"envelope", "frames", "replacement"})  # files of this room that are no wire


@cache
def all_wires() -> dict[str, Wire]:
    """Every wire by name. Every other file and folder of this room is one."""
    found: dict[str, Wire] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        if module.name in SHARED:
            continue
        wire: Wire = import_module(f"{__name__}.{module.name}").WIRE
        if wire.name != module.name:
            raise ImportError(f"wires/{module.name} calls its wire {wire.name!r}")
        found[wire.name] = wire
    return found


def wire_of(path: str) -> Wire | None:
    """The wire that a request path belongs to."""
    return next((wire for wire in all_wires().values() if wire.matches(path)), None)


@cache
def _retrievable() -> tuple[tuple[Wire, Retrievable], ...]:
    return tuple((wire, wire) for wire in all_wires().values() if isinstance(wire, Retrievable))


def wire_of_retrieval(path: str) -> Wire | None:
    """The wire whose earlier reply a GET of this path retrieves; None for any other path."""
    return next((wire for wire, retrievable in _retrievable() if retrievable.is_retrieval(path)), None)
