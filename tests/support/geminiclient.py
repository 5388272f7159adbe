"""A client of Gemini's API that is stricter than all real ones together, for tests; no code of the wire is in it.

Every rule is one that some client insists on: events are `data: ` with the space; the role is `model`; a part is one
thing; `functionCall` has a name and an object; an empty text is alone or carries a signature; one finish reason, in
the last reply that has candidates; the array form is one JSON array. A broken rule is an AssertionError. Below it, what
an upstream sends.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

type Body = Literal["sse", "json_array", "whole"]

_KINDS = ("text", "functionCall", "executableCode", "codeExecutionResult", "inlineData")
USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}


@dataclass
class Candidate:
    """What one candidate has told its client. `others` are all parts and fields that are none of the rest."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    order: str = ""
    signatures: list[str] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)


@dataclass
class Reply:
    """A whole reply."""

    candidates: dict[int, Candidate] = field(default_factory=dict)
    usage: Any = None


def received(body: bytes, form: Body = "sse", *, ends: bool = True, envelope: bool = False) -> Reply:
    """What a client makes of a body. `ends`: it ended as it should. `envelope`: each reply is in `response`."""
    reply = Reply()
    for payload in _payloads(body, form, ends=ends):
        assert not envelope or set(payload) - {"traceId"} == {"response"}, payload
        one = payload["response"] if envelope else payload
        assert "candidates" in one or "promptFeedback" in one, one
        reply.usage = one.get("usageMetadata") or reply.usage
        for candidate in one.get("candidates", ()):
            _take(reply.candidates.setdefault(candidate.get("index", 0), Candidate()), candidate)
    for got in reply.candidates.values():
        assert got.finish is not None or not ends, "no finish reason"
    return reply


def _payloads(body: bytes, form: Body, *, ends: bool) -> Iterator[dict[str, Any]]:
    if form == "whole":
        yield json.loads(body)
    elif form == "json_array":
        yield from json.loads(body)
    else:
        assert body.rstrip(b"\n").endswith(b"\r\n\r") or not ends, "the last event is not closed"
        for event in filter(None, re.split(r"(?:\r\n){2}\n*|^\n+", body.decode())):  # more blank lines say nothing
            assert event.startswith("data: "), f"an event that is no data: {event[:80]!r}"
            yield json.loads(event.removeprefix("data: "))


def _take(got: Candidate, candidate: Mapping[str, Any]) -> None:
    assert got.finish is None, "a reply behind the finish reason"
    content = candidate.get("content", {})
    assert content.get("role", "model") == "model"
    parts = content.get("parts", [])
    for part in parts:
        kinds = [kind for kind in _KINDS if kind in part]
        assert len(kinds) == 1, f"a part that is {kinds}"
        got.signatures.extend([part["thoughtSignature"]] if "thoughtSignature" in part else [])
        if kinds == ["functionCall"]:
            call = part["functionCall"]
            assert call["name"], "a call without a name"
            assert isinstance(call.get("args", {}), dict), "args that are no object"
            got.calls.append((call["name"], call.get("args", {})))
            got.order += "c"
        elif kinds != ["text"]:
            got.others.append(part)
        elif part.get("thought"):
            got.reasoning += part["text"]
        else:
            assert part["text"] or len(parts) == 1 or set(part) - {"text"}, f"an empty text in {parts}"
            got.text += part["text"]
            got.order += "t" if part["text"] and not got.order.endswith("t") else ""
    got.finish = candidate.get("finishReason")
    got.others.extend(candidate[key] for key in sorted(set(candidate) - {"content", "finishReason", "index"}))


# --- what an upstream sends -------------------------------------------------------------------------------------------


def part(item: str | Mapping[str, Any]) -> dict[str, Any]:
    """A part: a string is text."""
    return {"text": item} if isinstance(item, str) else dict(item)


def reply(parts: Sequence[str | Mapping[str, Any]], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One `GenerateContentResponse` with one candidate."""
    candidate: dict[str, Any] = {"content": {"parts": [part(item) for item in parts], "role": "model"}, **more}
    candidate |= {"finishReason": finish} if finish else {}
    return {
        "candidates": [{**candidate, "index": 0}],
        "usageMetadata": USAGE,
        "modelVersion": "m",
        "responseId": "r1",
    }


def body_of(replies: Sequence[Mapping[str, Any]], form: Body = "sse", *, envelope: bool = False) -> bytes:
    """Replies as a body; the array form is spelt over several lines, as the API does. A whole one is the last."""
    given = [{"response": one, "traceId": "t"} if envelope else one for one in replies]
    if form == "sse":
        return b"".join(b"data: " + _json(one) + b"\r\n\r\n" for one in given)
    if form == "whole":
        return _json(given[-1], indent=2)
    return b"[" + b"\n,\r\n".join(_json(one, indent=2) for one in given) + b"\n]"


def _json(payload: Mapping[str, Any], indent: int | None = None) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(payload, indent=indent).encode()
