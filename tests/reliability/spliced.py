"""Recorded replies whose text is replaced by a dialect's: real envelopes around calls that are written as text.

The texts are the cases of `tests/cases/dialects`, which say what must become of them, so the expectation is people's
and not the product's. The envelopes are recorded streams that hold one text and end as they should; every text frame
keeps its other fields, and wherever the whole text is repeated (the Responses API does so four times) the new one
stands. Without the suite, the envelopes are those of `tests/support/spoken.py`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

from reliability import heard
from reliability.driving import exchange_of
from reliability.faults import given
from reliability.materials import EMPTY_REQUESTS, PATHS, Reply, recorded
from support.casefiles import Case, dialect_cases
from support.spoken import TEXTUAL
from toolcalls.dialects import all_dialects
from toolcalls.request import Tool
from toolcalls.requests.declared_tools import function_tools
from toolcalls.route import Route
from toolcalls.wires.frames import Form

_ENDS = {"stop", "end_turn", "STOP", "completed", "COMPLETE"}
_MOST_FRAMES = 120  # a longer envelope would take its time and show nothing new
_CONTENT_TYPES: dict[Form, str] = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
    "whole": "application/json",
}


@dataclass(frozen=True)
class Envelope:
    """A stream whose text can be replaced. `text` is the one that it holds."""

    reply: Reply
    wire: str
    form: Form
    text: str


@dataclass(frozen=True)
class Spliced:
    """A stream with the text of a case in it, and what it is to be read with."""

    reply: Reply
    wire: str
    form: Form
    case: Case
    dialect: str
    route: Route

    @property
    def name(self) -> str:
        """What a failure is told by."""
        return f"{self.dialect}: {self.case.title} in {self.reply.id}"


def _text_of(wire: str, payload: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Where a frame holds the text: the object and the key; None where it holds none."""
    at: Any = None
    if wire == "openai_chat" and payload.get("choices"):
        at = (payload["choices"][0].get("delta"), "content")
    elif wire == "openai_responses" and payload.get("type") == "response.output_text.delta":
        at = (payload, "delta")
    elif wire == "anthropic" and payload.get("type") == "content_block_delta":
        at = (payload["delta"], "text")
    elif wire == "cohere" and payload.get("type") == "content-delta":
        at = (payload["delta"]["message"]["content"], "text")
    elif wire == "gemini_interactions" and payload.get("event_type") == "step.delta":
        at = (payload["delta"], "text") if payload["delta"].get("type") == "text" else None
    elif wire == "gemini" and payload.get("candidates"):
        parts = payload["candidates"][0].get("content", {}).get("parts", [])
        at = next(((part, "text") for part in parts if part.get("text") and not part.get("thought")), None)
    elif wire == "ollama":
        at = (payload.get("message"), "content")
    return at if at and isinstance(at[0], dict) and isinstance(at[0].get(at[1]), str) and at[0][at[1]] else None


def _lane(wire: str, payload: dict[str, Any]) -> Any:
    """Which of several texts a frame belongs to; None where it holds no text."""
    if wire == "anthropic" and payload.get("type") == "content_block_start":
        return payload["index"] if payload["content_block"].get("type") == "text" else None
    if wire == "cohere" and payload.get("type") == "content-delta":
        return payload["index"]
    if wire == "gemini_interactions" and payload.get("event_type") == "step.start":
        return payload["index"] if payload["step"].get("type") == "model_output" else None
    if wire == "openai_chat" and payload.get("choices"):
        return tuple(choice.get("index") for choice in payload["choices"])
    if wire == "gemini" and payload.get("candidates"):
        return tuple(candidate.get("index", 0) for candidate in payload["candidates"])
    if wire == "openai_responses" and payload.get("type") == "response.output_text.delta":
        return payload["item_id"], payload["content_index"]
    return "ollama" if wire == "ollama" else None


def _parsed(frame: bytes, form: Form) -> tuple[bytes, dict[str, Any]] | None:
    """A frame's payload, as it stands and decoded; None for a frame without one, or with one over several lines."""
    found = list(heard.payloads(frame, form))
    if len(found) != 1 or found[0] not in frame:
        return None
    try:
        value = json.loads(found[0])
    except ValueError:
        return None
    return (found[0], value) if isinstance(value, dict) else None


def _written(payload: dict[str, Any], form: Form) -> bytes:
    indent = 2 if form == "json_array" else None
    try:
        return json.dumps(payload, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(payload, indent=indent).encode()


def _replaced(value: Any, old: str, new: str) -> Any:
    """A JSON value in which every string that is `old` is `new`."""
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    if isinstance(value, dict):
        return {key: _replaced(one, old, new) for key, one in value.items()}
    return value


def envelope(reply: Reply) -> Envelope | None:
    """A reply as an envelope; None where its text cannot be replaced: calls, several texts, no text, no usual end."""
    if reply.wire not in heard.WIRES:
        return None
    form = form_of(reply)
    said = heard.heard(reply.wire, form, reply.body)
    frames = given(reply.body, form).frames
    if form == "whole" or said.calls or said.finish not in _ENDS or not said.text or len(frames) > _MOST_FRAMES:
        return None
    if len({_lane(reply.wire, one[1]) for frame in frames if (one := _parsed(frame, form))} - {None}) != 1:
        return None
    made = Envelope(reply, reply.wire, form, said.text)
    other = "other words,\nand a character: é"
    try:
        again = heard.heard(made.wire, form, body_with(made, other, Random(0)))
    except (KeyError, IndexError, TypeError):
        return None
    return made if (again.text, again.calls, again.finish) == (other, [], said.finish) else None


def form_of(reply: Reply) -> Form:
    """The form that a reply has, by the words of its content type."""
    kind = reply.content_type.partition(";")[0].strip()
    if kind == "text/event-stream":
        return "sse"
    if kind == "application/x-ndjson":
        return "ndjson"
    return "json_array" if "streamGenerateContent" in reply.path else "whole"


def body_with(envelope: Envelope, text: str, random: Random) -> bytes:
    """The envelope's body with another text in it, in as many pieces as it has frames for text, or fewer."""
    frames = given(envelope.reply.body, envelope.form).frames
    parsed = [_parsed(frame, envelope.form) for frame in frames]
    places = [at for at, one in enumerate(parsed) if one and _text_of(envelope.wire, one[1])]
    pieces = pieces_of(text, len(places), random)
    body: list[bytes] = []
    for at, (frame, one) in enumerate(zip(frames, parsed, strict=True)):
        if one is None:
            body.append(frame)
            continue
        raw, payload = one
        held = _text_of(envelope.wire, payload)
        if held is not None:
            number = places.index(at)
            if number >= len(pieces):
                if envelope.form == "json_array" or set(_others(envelope.wire, payload)):
                    held[0][held[1]] = ""
                else:
                    continue
            else:
                held[0][held[1]] = pieces[number]
        else:
            payload = _replaced(payload, envelope.text, text)
        body.append(frame.replace(raw, _written(payload, envelope.form)))
    return b"".join(body)


def _others(wire: str, payload: dict[str, Any]) -> Iterator[str]:
    """What a frame with text says beside it that must not be lost with it: an end, a role."""
    if wire == "openai_chat":
        choice = payload["choices"][0]
        yield from (key for key in ("finish_reason",) if choice.get(key))
        yield from (key for key in ("role",) if choice["delta"].get(key))
    elif wire == "gemini":
        yield from (key for key in ("finishReason",) if payload["candidates"][0].get(key))
    elif wire == "ollama":
        yield from (key for key in ("done",) if payload.get(key))


def pieces_of(text: str, most: int, random: Random) -> list[str]:
    """A text in at most so many pieces, none of them empty."""
    count = min(most, len(text))
    places = sorted(random.sample(range(1, len(text)), count - 1)) if count > 1 else []
    edges = [0, *places, len(text)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]


@cache
def envelopes() -> dict[tuple[str, Form], tuple[Envelope, ...]]:
    """The envelopes of each wire and form."""
    found: dict[tuple[str, Form], list[Envelope]] = {}
    for reply in recorded():
        made = envelope(reply) if not reply.id.startswith("recordings/") else None
        if made is not None:
            found.setdefault((made.wire, made.form), []).append(made)
    for spoken in TEXTUAL.values():
        key = (spoken.wire, spoken.form)
        if key not in found:
            made = envelope(_built(spoken.wire, spoken.form, spoken.said(["Some ", "words", ".\n"] * 8)))
            if made is None:
                raise AssertionError(f"the built stream of {key} is no envelope")
            found[key] = [made]
    return {key: tuple(made) for key, made in found.items()}


def content_type(form: Form) -> str:
    """The content type of a form."""
    return _CONTENT_TYPES[form]


def _built(wire: str, form: Form, body: bytes) -> Reply:
    path = PATHS["gemini-jsonarray" if form == "json_array" else wire.replace("_", "-")]
    request = json.dumps(EMPTY_REQUESTS[wire]).encode()
    return Reply(f"built/{wire}-{form}", path, _CONTENT_TYPES[form], request, body)


@cache
def cases() -> tuple[tuple[str, Case], ...]:
    """Every case of every dialect whose reply ends as it should."""
    return tuple((name, case) for name in all_dialects() for case in dialect_cases(name) if case.finish == "stop")


def spliced(dialect: str, case: Case, envelope: Envelope, seed: int) -> Spliced | None:
    """A case in an envelope; None where the request that the case needs cannot be made on this wire."""
    tools = tuple(function_tools(case.request.get("tools")))
    route, request = case.route, json.dumps(EMPTY_REQUESTS[envelope.wire]).encode()
    if envelope.wire == "openai_chat":
        request = json.dumps(case.request).encode()
    elif set(case.request) - {"messages", "tools"} or case.request["messages"]:
        return None
    elif tools:
        route = replace(route, tools=tuple(Tool(one.name, one.schema, one.description) for one in tools))
    body = body_with(envelope, case.text, Random(seed))
    return Spliced(
        replace(envelope.reply, request=request, body=body), envelope.wire, envelope.form, case, dialect, route
    )


def checked(one: Spliced) -> None:
    """Raises where a spliced stream is not read by the wire that it was made for: then the run would prove nothing."""
    exchange = exchange_of(one.reply, one.route)
    if exchange.wire.name != one.wire:
        raise AssertionError(f"{one.name} is read as {exchange.wire.name}")
