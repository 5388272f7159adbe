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
    """What reads a reply and changes nothing."""

    def decode(self, payload: bytes) -> list[Part]:
        """As `Codec.decode`."""


class Codec(Protocol):
    """One reply of a wire, streamed or whole."""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame; [] for a frame that is not ours, which then passes as it is.

        An empty `Text` says that the frame only opens a place for text: it leaves with the frame behind it, and
        `encode` is given that `Text` again where that one leaves unchanged, so that the place may stay unopened else.
        A `Place` in front of a text comes back in front of what that became.

        Sets `bare`: whether the frame holds nothing but text of one lane, or nothing but calls, so that nothing else is
        lost when they go.
        """

    @property
    def bare(self) -> bool:
        """What the latest `decode` found."""

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The payloads that stand in for a frame whose events have become `parts`. [] when nothing is left of it.

        Whatever else the frame holds (role, usage, unknown fields) is kept, where it is not `bare`. In a whole reply,
        and where calls are never split, `parts` hold the calls' `Markup` too, and an empty one where a candidate has
        got its verdict: a call that has no end by then broke off, and stays text there.
        """

    @property
    def shifted(self) -> bool:
        """Whether frames are numbered otherwise than they came from here on, so that every frame is to be encoded.

        A frame that stays as it is comes back from `encode` as its own payload, also one that holds no events.
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
    def names_events(self) -> bool:
        """Whether each event of a stream has a name: its payload's `type`."""

    @property
    def lanes_follow(self) -> bool:
        """Whether a reply's lanes are its parts, one behind the other; else each is a reply of its own (a choice)."""

    @property
    def calls_are_whole(self) -> bool:
        """Whether a call is never split, in a stream neither: its codec shows one when it is complete."""

    @property
    def call_prefix(self) -> str:
        """What the ids of calls begin with."""

    def form(self, path: str, content_type: str) -> Form | None:
        """How the body of a successful reply to `path` is framed; None for a body that is not read."""

    def matches(self, path: str) -> bool:
        """Whether a request path (with its query) is one of this API's."""

    def request(self, body: bytes) -> Request:
        """What a reply's reading needs to know. Raises ValueError for a body that is not a request of this API."""

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""


@runtime_checkable
class Recalling(Protocol):
    """A wire whose replies can be had again, or for the first time, by a GET without a body."""

    def recalls(self, path: str) -> bool:
        """Whether a GET of this path (with its query) answers a request that was sent before."""


@runtime_checkable
class Decoding(Protocol):
    """A wire whose codec keeps what it has decoded until that is encoded, so that who only reads needs another."""

    def decoder(self, *, streamed: bool) -> Decoder:
        """A decoder for one reply."""


def decoder_of(wire: Wire, *, streamed: bool) -> Decoder:
    """What reads a reply that nobody changes: one that has passed, or one that somebody looks at."""
    return wire.decoder(streamed=streamed) if isinstance(wire, Decoding) else wire.codec(streamed=streamed)


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
def _recalling() -> tuple[tuple[Wire, Recalling], ...]:
    return tuple((wire, wire) for wire in all_wires().values() if isinstance(wire, Recalling))


def recalled_by(path: str) -> Wire | None:
    """The wire whose reply a GET of this path gives again."""
    return next((wire for wire, recalling in _recalling() if recalling.recalls(path)), None)
