"""Calls in the bodies of errors: servers that cannot parse what the model wrote quote it in the error.

    llama-server   `Failed to parse input at pos N: <the text>`, in `error.message`, HTTP 500
    Groq           `failed_generation`, beside the code `tool_use_failed`, HTTP 400, or an `error` event of a stream
    Ollama         `error parsing tool call: raw='<the text>', err=…`, HTTP 500, or a line of a stream
    vLLM           `Invalid JSON: … [type=json_invalid, input_value='<the text>', input_type=str]`, HTTP 400
    Gemini         `Malformed function call: <the text>`, in `finishMessage` of a reply that succeeded

Gateways put such errors into others (`error.metadata.raw` of OpenRouter, LiteLLM's `… Exception - {…}`), as text or as
JSON in a text, so every string of the body is looked at, and JSON in a string is looked into.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from toolcalls.events import Note

_MOST = 4 * 1024 * 1024  # bytes of a body that is looked at
_DEPTH = 4  # JSON in texts in JSON
TOOL_USE = "failed_generation"  # a field; all of it was to be calls
MALFORMED = "Malformed function call"  # Gemini's words
_QUOTED = (
    ("Failed to parse input", re.compile(r"Failed to parse input at pos(?:ition)? \d+:\s*(.*)", re.DOTALL)),
    ("error parsing tool call", re.compile(r"error parsing tool call: raw='(.*)',\s*err=", re.DOTALL)),
    ("error parsing tool call", re.compile(r"error parsing tool call: raw='(.*)", re.DOTALL)),
    (MALFORMED, re.compile(r"Malformed function call:\s*(.*)", re.DOTALL)),
)
# Pydantic's words; it shows the first and the last characters of a value with more than 50.
_INVALID = re.compile(r"""type=json_invalid, input_value=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"), input_type=str""")
_SHOWN_WHOLE = 50
_OPENER = re.compile(r"[{\[]")


def generations_in(body: bytes) -> list[tuple[str, str]]:
    """The texts of the model that an error's body quotes, each once, with the words or the field that introduce it."""
    if len(body) > _MOST:
        return []
    found: dict[str, str] = {}
    for where, text in _generations(_value_of(body), 0):
        if text.strip():
            found.setdefault(text, where)
    return [(where, text) for text, where in found.items()]


def generation_in(body: bytes) -> tuple[str, str] | None:
    """The first text that an error's body quotes of the model's; None for any other body."""
    return next(iter(generations_in(body)), None)


def note_of(body: bytes) -> Note | None:
    """The note on an error that quotes what the model wrote; None for any other body, also of Gemini's own note."""
    found = generation_in(body)
    if found is None or found[0] == MALFORMED:
        return None
    where, text = found
    return Note("call_in_error", f"`{where}`, and {len(text):,} characters that the model wrote", warns=True)


def _value_of(body: bytes) -> Any:
    """A body as JSON; the payloads of a body of events; the text of any other."""
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return lines or text


def _generations(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key == TOOL_USE and isinstance(member, str) and member.strip():
                yield TOOL_USE, member
            else:
                yield from _generations(member, depth)
    elif isinstance(value, list):
        for member in value:
            yield from _generations(member, depth)
    elif isinstance(value, str):
        yield from _in_text(value, depth)


def _in_text(text: str, depth: int) -> Iterator[tuple[str, str]]:
    quoted = _quoted(text)
    if depth < _DEPTH and ("error" in text or TOOL_USE in text):
        inner = _json_in(text, len(text) if quoted is None else quoted[2])
        if inner is not None:
            yield from _generations(inner, depth + 1)
            return
    if quoted is not None:
        yield quoted[0], quoted[1]
    elif (invalid := _INVALID.search(text)) is not None:
        shown = ast.literal_eval(invalid[1])
        if len(shown) <= _SHOWN_WHOLE:
            yield "input_value", shown


def _quoted(text: str) -> tuple[str, str, int] | None:
    """The words that a text quotes the model with, what it wrote, and where the words begin."""
    for where, pattern in _QUOTED:
        if where in text and (found := pattern.search(text)) is not None:
            return where, found[1], found.start()
    return None


def _json_in(text: str, end: int) -> Any:
    """The JSON that a text is, or that is in it after words of a gateway's (`GroqException - {"error": …}`), in
    front of this place.
    """
    start = _OPENER.search(text, 0, end)
    if start is None or (text[: start.start()].strip() and not ('"error"' in text or f'"{TOOL_USE}"' in text)):
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None
