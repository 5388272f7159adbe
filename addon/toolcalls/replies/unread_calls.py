"""Calls that a client may read where this addon does not, so that no rule has seen them.

They are in frames that the wire has not read; in pieces of arguments that belong to no open call; and in bodies of
another form than was expected: JSON where a stream was, which google-genai and ollama parse all the same, and a stream
where JSON was, which SDKs parse that asked for one.
"""

import json
import re
from collections.abc import Sequence

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Unplaced
from toolcalls.wires import Part
from toolcalls.wires.frames import Frame

UNREAD_CALL = "a frame with a call that cannot be read was left out, as a rule may block it"
STRAY_PIECE = "arguments that belong to no open call were left out, as a rule may block their call"

# Calls in a frame; in a text the quotes would be escaped. The second form is Chat Completions', before `tool_calls`.
_CALLS = re.compile(rb'"(?:tool_calls"\s*:\s*\[?|function_call"\s*:)\s*\{')
# What calls are named by on any API.
_NAMES = re.compile(rb'"(?:tool_calls|function_call|functionCall|tool_use|custom_tool_call|\w{0,32}_shell_call)"')
_EVENTS = re.compile(rb"^data:", re.MULTILINE)
_json_value = msgspec.json.Decoder(msgspec.Raw).decode


class UnreadCalls:
    """What is left out of a reply in which a rule may block calls."""

    def __init__(self) -> None:
        self._left_out: set[tuple[int, int]] = set()  # calls, each by its lane and index
        self._lost: set[tuple[int, int]] = set()  # those without a name so far, of whose arguments some were left out

    def may_be_in(self, frame: Frame) -> bool:
        """Whether a frame must be asked about; False for nearly all frames with text alone."""
        return _holds_calls(frame)

    def why_left_out(self, frame: Frame, parts: Sequence[Part]) -> str | None:
        """Why a frame with these events is left out; None where it stays."""
        calls = {(lane, event.index) for lane, event in parts if isinstance(event, CallStart | CallPiece | CallEnd)}
        started = {(lane, event.index) for lane, event in parts if isinstance(event, CallStart)}
        self._left_out -= started
        why = self._why(frame, parts, calls)
        if why is not None:
            self._left_out |= started
            self._lost |= {
                (lane, one.waits) for lane, one in parts if isinstance(one, Unplaced) and one.waits is not None
            }
        return why

    def without_left_out(self, parts: Sequence[Part]) -> list[Part]:
        """The events without the ends of calls that were left out."""
        return [part for part in parts if not (isinstance(part[1], CallEnd) and self._is_left_out(part))]

    def _why(self, frame: Frame, parts: Sequence[Part], calls: set[tuple[int, int]]) -> str | None:
        if any(isinstance(event, Unplaced) and event.waits is None for _, event in parts) or calls & self._lost:
            return STRAY_PIECE
        if any(isinstance(part[1], CallPiece) and self._is_left_out(part) for part in parts):
            return STRAY_PIECE
        if calls and calls <= self._left_out and not any(isinstance(event, Finish) for _, event in parts):
            return STRAY_PIECE
        if not calls and _holds_calls(frame):
            return UNREAD_CALL
        return None

    def _is_left_out(self, part: Part) -> bool:
        lane, event = part
        return isinstance(event, CallPiece | CallEnd) and (lane, event.index) in self._left_out


def _holds_calls(frame: Frame) -> bool:
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


def is_unplaced(event: Event) -> bool:
    """Whether an event only says that its frame is to be left out."""
    return isinstance(event, Unplaced)
