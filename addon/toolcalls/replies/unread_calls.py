"""Calls that a client may read where this addon does not, so that no rule has seen them.

They are in frames that the wire has not read, and in bodies of another form than was expected: JSON where a stream
was, which google-genai and ollama parse all the same, and a stream where JSON was, which SDKs parse that asked for one.
"""

import json
import re
from collections.abc import Sequence

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart
from toolcalls.wires import Part
from toolcalls.wires.frames import Frame

# Calls in a frame; in a text the quotes would be escaped. The second form is Chat Completions', before `tool_calls`.
_CALLS = re.compile(rb'"(?:tool_calls"\s*:\s*\[?|function_call"\s*:)\s*\{')
# What calls are named by on any API.
_NAMES = re.compile(rb'"(?:tool_calls|function_call|functionCall|tool_use|custom_tool_call|\w{0,32}_shell_call)"')
_EVENTS = re.compile(rb"^data:", re.MULTILINE)
_json_value = msgspec.json.Decoder(msgspec.Raw).decode


def holds_calls(frame: Frame) -> bool:
    """Whether a frame holds calls by its bytes: also misspelt, in a place of some other form, or outside its payload,
    where clients look that do not care where a line begins.
    """
    if frame.data is None and _NAMES.search(frame.raw.replace(b"\0", b"")) is not None:  # UTF-16 has these
        return True
    if b'"name"' not in frame.raw:
        return False
    return _CALLS.search(frame.raw) is not None or (frame.data is not None and _CALLS.search(frame.data) is not None)


def unread_body(body: bytes) -> str | None:
    """Why a whole body, in UTF-8, may be read as something else than one JSON value; None where nobody would."""
    begins_json = body.lstrip()[:1] in {b"{", b"["}
    if begins_json and not _is_json(body):
        return "the body begins like JSON and is not one JSON value"
    if not begins_json and _EVENTS.search(body) is not None:
        return "the body is a stream of events, and its content type says that it is none"
    return None


def _is_json(body: bytes) -> bool:
    try:
        _json_value(body)
    except (msgspec.MsgspecError, RecursionError):  # it also refuses lone surrogates, which a model may have written
        try:
            json.loads(body)
        except (ValueError, RecursionError):
            return False
    return True


def about_calls(parts: Sequence[Part]) -> bool:
    """Whether a frame's events are about calls."""
    return any(isinstance(event, CallStart | CallPiece | CallEnd) for _, event in parts)
