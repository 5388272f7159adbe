"""The wires, found by their file names: each module here holds one `WIRE`, one HTTP API and its stream format.

A wire turns a frame's payload into hub events and changed events into payloads again. It never reads dialects and never
holds text back; what it must remember of a reply stands in one `Codec` per reply.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from toolcalls.events import Event
from toolcalls.frames import Form
from toolcalls.request import Request

# One event of a frame, with its lane: what a reply carries side by side (choices, blocks, items).
type Part = tuple[int, Event]


class Codec(Protocol):
    """One reply of a wire, streamed or whole."""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame; [] for a frame that is not ours, which then passes as it is.

        Sets `bare`: whether the frame holds nothing but text of one lane, so that nothing of it is lost with its text.
        """

    @property
    def bare(self) -> bool:
        """What the latest `decode` found."""

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:
        """The payloads that stand in for a frame whose events have become `parts`. [] when nothing is left of it.

        Whatever else the frame holds (role, usage, unknown fields) is kept, where it is not `bare`.
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

    def form(self, path: str, content_type: str) -> Form | None:
        """How the body of a successful reply to `path` is framed; None for a body that is not read."""

    def matches(self, path: str) -> bool:
        """Whether a request path (with its query) is one of this API's."""

    def request(self, body: bytes) -> Request:
        """What a reply's reading needs to know. Raises ValueError for a body that is not a request of this API."""

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""


_FORMS: dict[str, Form] = {
    "text/event-stream": "sse",
    "application/json": "whole",
    "application/x-ndjson": "ndjson",
}


def form_of(content_type: str) -> Form | None:
    """The form that a content type says, with or without its parameters."""
    return _FORMS.get(content_type.partition(";")[0].strip().lower())


@cache
def all_wires() -> dict[str, Wire]:
    """Every wire by name."""
    found: dict[str, Wire] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        wire: Wire = import_module(f"{__name__}.{module.name}").WIRE
        if wire.name != module.name:
            raise ImportError(f"wires/{module.name}.py calls its wire {wire.name!r}")
        found[wire.name] = wire
    return found


def wire_of(path: str) -> Wire | None:
    """The wire that a request path belongs to."""
    return next((wire for wire in all_wires().values() if wire.matches(path)), None)
