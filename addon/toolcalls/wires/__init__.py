"""The wires: HTTP APIs and how each frames its replies. Each module or folder here holds one `WIRE`.

In come the bytes of a reply; `frames` cuts them into frames, and a wire's codec decodes each frame into hub events. Out
go the same frames, or new ones that the codec encodes from changed events. A wire never reads dialects and never holds
text back. What it must remember of a reply is in the reply's codec.

Read the protocol `Codec` below first, then `openai_chat/`. `frames` cuts bodies, `envelope` recognizes frames that
differ only in their text, `eventstream` reads and writes AWS's binary messages, `bedrock_runtime` is what Bedrock's
APIs share, `translation` is for APIs that say the same as another one, `vertex` reads Vertex AI's paths, `replacement`
finds what became of each native call of a whole reply, `answers` says what a reply of our own making holds. Where an
API holds replies of another one, its wire asks `all_wires` for that one by name.

In the folder of a wire the same job has the same name:

    decoding          a reply's frames as events
    stream, whole     the frames of a streamed reply, or the body of a whole one, encoded from changed events
    answer            a reply of our own making, for an error that quotes a call
    client            what the client of a stream has got so far, where frames depend on those before
    calls, blocks …   what replies of the API consist of, in the API's own words

A few lines over 300: what a codec must do, and what a wire says of itself, are read together.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol
from urllib.parse import unquote, urlsplit

from toolcalls.events import CallEnd, CallPiece, CallStart, Damage, Defect, Event, MovedCalls, Reason, Text
from toolcalls.request import Request
from toolcalls.values import rawjson
from toolcalls.wires.answers import Answer, Answering
from toolcalls.wires.frames import Form
from toolcalls.wires.mending import Mender, Mending

# One event of a frame, with its lane: what a reply carries side by side (choices, blocks, items).
type Part = tuple[int, Event]

# The payload after which a stream of OpenAI's holds nothing; some servers keep the connection open after it.
STREAM_END = b"[DONE]"


_OF_CALLS = CallStart | CallPiece | CallEnd | Damage


def merge_texts(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts with adjacent texts joined, in the lane of the last of them; empty texts are left out."""
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


def calls_first(events: Iterable[Event]) -> list[Event]:
    """The events of one lane that is all here, native calls first: so a text that repeats one is known for what it is.

    Where they stand behind text, that is said.
    """
    events = list(events)
    calls = [event for event in events if isinstance(event, _OF_CALLS)]
    if not calls:
        return events
    at = next(at for at, event in enumerate(events) if isinstance(event, _OF_CALLS))
    before, after = events[:at], [event for event in events[at:] if not isinstance(event, _OF_CALLS)]
    if not any(isinstance(event, Text) for event in before):
        return [*calls, *before, *after]
    return [MovedCalls(here=False), *calls, *before, MovedCalls(here=True), *after]


def damages(lane: int, index: int, *codes: Reason) -> Iterator[Part]:
    """What is wrong with the native call of this lane and index, as events."""
    return ((lane, Damage(index, Defect(code))) for code in codes)


def call_at_once(lane: int, start: CallStart, arguments: str, *codes: Reason, whole: bool = True) -> Iterator[Part]:
    """The events of a native call that comes in one piece. `codes`: what is wrong with it; `whole`: it has ended."""
    yield lane, start
    yield from damages(lane, start.index, *codes)
    yield lane, CallPiece(start.index, arguments)
    if whole:
        yield lane, CallEnd(start.index)


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

    def guard(self, *, reads_text: bool) -> None:
        """A rule may block calls of the reply: what `decode` does not return of them must not leave. Called first.

        reads_text   the client reads calls from text, so the same holds for text
        """

    def mends(self, mending: Mending) -> None:
        """The native calls that `decode` returns are mended so. Called first: it may say where one ends."""

    @property
    def left_unread(self) -> bool:
        """Whether the frame decoded last holds calls that `decode` did not return; False where nothing is guarded."""

    def leave_out(self) -> None:
        """The frame decoded last does not leave, so `encode` is not given it."""

    def arriving(self, lane: int, index: int) -> "ArrivingCall | None":
        """The native call that the events of this lane and index are about; None where it may not be asked about."""

    def argument_piece(self, payload: bytes) -> tuple[int, str] | None:
        """The lane and the piece of a native call's arguments that a payload holds, and no other call's; read without
        any effect. None for other payloads, and where such payloads are always decoded.
        """


class ArrivingCall(Protocol):
    """A native call that is arriving."""

    @property
    def in_string(self) -> bool:
        """Whether its arguments so far end inside a string of theirs, and not in the middle of an escape."""


class Unguarded:
    """Base of codecs that return all calls of a frame and keep no frame until it is encoded."""

    @property
    def left_unread(self) -> bool:
        return False

    def guard(self, *, reads_text: bool) -> None:
        """No effect."""

    def mends(self, _mending: Mending) -> None:
        """No effect: what calls there are does not depend on it."""

    def leave_out(self) -> None:
        """No effect: nothing of the frame is kept."""


class Undivided(Unguarded):
    """Base of codecs whose native calls are decoded frame by frame."""

    def arriving(self, _lane: int, _index: int) -> None:
        """None: calls are not asked about."""

    def argument_piece(self, _payload: bytes) -> None:
        """None: such payloads are decoded."""


class WholeCodec(Undivided):
    """Base of codecs of whole replies: a whole reply is one frame, which nothing precedes or follows."""

    must_encode = False
    can_omit = False
    reply_id = ""


class ReadOnlyCodec(WholeCodec):
    """Base of codecs of APIs without calls: every frame stays as it is."""

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        return [payload]


class ObservedCodec(ReadOnlyCodec):
    """A codec that only reads, as another API's decoder does."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def decode(self, payload: bytes) -> list[Part]:
        return self._decoder.decode(payload)


@dataclass(frozen=True)
class Wire:
    """One HTTP API.

    name              in configuration and files
    path              what request paths end in; proxies and gateways put their own prefixes before it
    stream, whole     make a codec for one reply, streamed or whole
    events            makes a decoder for a stream that is only read, where the codec keeps each frame until it is
                      encoded; None where the codec can do it
    answer, answering   a reply of our own making with calls, whole, and what writes it after a stream that has begun;
                      None where the API has no place for calls
    mends_stream, mends_whole   make what mends the frames of one reply in which native calls are damaged; None where
                      the stage `mend` mends the calls as events
    event_name        the member of a payload that names its event in a stream; "" where events have no names
    sequential_lanes  the lanes are parts of one reply, one after the other; otherwise each is a reply (a choice)
    calls_are_whole   a call is never split, not even in a stream: the codec writes a call when it is complete
    shows_open_calls  a whole reply can show a call that broke off, since arguments are written as a text
    says_calls        a finish reason of its own says that a reply has calls
    stop_names_choice   where the request's choice names a tool, `stop` is how the API ends the reply with its call
    call_id_prefix    what the ids of calls begin with
    streams_lines     a stream is lines of JSON, and so is a reply to a request that says nothing of streams
    form_in_path      the path alone says how a reply is framed, whatever its content type is
    """

    name: str
    path: str
    stream: Callable[[], Codec]
    whole: Callable[[], Codec]
    events: Callable[[], Decoder] | None = None
    answer: Callable[[Answer], bytes] | None = None
    answering: Callable[[], Answering] | None = None
    mends_stream: Callable[[Mending], Mender] | None = None
    mends_whole: Callable[[Mending], Mender] | None = None
    event_name: str = ""
    sequential_lanes: bool = False
    calls_are_whole: bool = False
    shows_open_calls: bool = False
    says_calls: bool = False
    stop_names_choice: bool = False
    call_id_prefix: str = "call_"
    streams_lines: bool = False
    form_in_path: bool = False

    def matches(self, path: str) -> bool:
        """Whether a request path (with its query) belongs to this API."""
        return urlsplit(path).path.rstrip("/").endswith(self.path)

    def is_retrieval(self, path: str) -> bool:  # noqa: ARG002 - most APIs have none
        """Whether a GET of this path (with its query) retrieves the reply to an earlier request."""
        return False

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - mostly, the content type says it
        """How the body of a successful reply to `path` is framed; None for a body that is not read."""
        return form_of(content_type)

    def asked_form(self, path: str, body: bytes) -> Form:  # noqa: ARG002 - mostly, the body says it
        """How the body of the reply is framed that a request asks for."""
        streams = rawjson.value(rawjson.fields(body).get("stream"))
        if self.streams_lines:
            return "whole" if streams is False else "ndjson"
        return "sse" if streams is True else "whole"

    def unasked(self, body: bytes, form: Form) -> Request | None:  # noqa: ARG002 - mostly, the API says it
        """What is known of a reply's request by the reply alone, as far as its `body` came; None where that says
        nothing yet.
        """
        return Request(carries_calls=self.answer is not None)

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return self.stream() if streamed else self.whole()

    def mender(self, mending: Mending, *, streamed: bool) -> Mender | None:
        """What mends one reply, None for nothing."""
        make = self.mends_stream if streamed else self.mends_whole
        return None if make is None else make(mending)

    def decoder(self, *, streamed: bool) -> Decoder:
        """A decoder for one reply that is only read."""
        return self.events() if streamed and self.events is not None else self.codec(streamed=streamed)


EVENT_STREAM = "application/vnd.amazon.eventstream"

CONTENT_TYPES: Mapping[Form, str] = {
    "sse": "text/event-stream",
    "whole": "application/json",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
    "eventstream": EVENT_STREAM,
    "eventstream_chunks": EVENT_STREAM,
}
"""The content types of replies of our own."""

_FORMS: dict[str, Form] = {
    "text/event-stream": "sse",
    "application/json": "whole",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
}


def form_of(content_type: str) -> Form | None:
    """The form that a content type says, with or without its parameters.

    Types that end in `json` are JSON, as they are to openai-python and anthropic: `application/vnd.api+json`.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    return _FORMS.get(media_type, "whole" if media_type.endswith(("/json", "+json")) else None)


# Where APIs name the model in the path: Gemini and Vertex AI (`models/M:method`), Azure (`deployments/M/…`), and
# Bedrock, whose models' names hold colons (`model/M/converse`).
_BEDROCK_MODEL = re.compile(r"/model/(.+)/[\w-]+/?$")
_MODEL = re.compile(r"/(?:models?|deployments)/([^/:]+)[/:]")


def model_in(path: str) -> str:
    """The model that a request path names, "" for none."""
    plain = urlsplit(path).path.replace("%3A", ":").replace("%3a", ":")
    found = _BEDROCK_MODEL.search(plain) or _MODEL.search(plain)
    return unquote(found[1]) if found else ""


# Files of this room that are no wire.
SHARED = frozenset(
    {
        "answers",
        "bedrock_runtime",
        "content_blocks",
        "envelope",
        "eventstream",
        "frames",
        "mending",
        "ollama_answer",
        "replacement",
        "translation",
        "vertex",
    }
)


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


def wire_of_retrieval(path: str) -> Wire | None:
    """The wire whose earlier reply a GET of this path retrieves; None for any other path."""
    return next((wire for wire in all_wires().values() if wire.is_retrieval(path)), None)
