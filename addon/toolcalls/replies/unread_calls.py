"""Calls in a frame that its wire has not read: a client may read them all the same, and no rule has seen them."""

import re
from collections.abc import Sequence

from toolcalls.events import CallEnd, CallPiece, CallStart
from toolcalls.wires import Part
from toolcalls.wires.frames import Frame

# Calls in a frame; in a text the quotes would be escaped. The second form is Chat Completions', before `tool_calls`.
_CALLS = re.compile(rb'"(?:tool_calls"\s*:\s*\[?|function_call"\s*:)\s*\{')


def holds_calls(frame: Frame) -> bool:
    """Whether a frame holds calls by its bytes: also misspelt, in a place of some other form, or outside its payload,
    where clients look that do not care where a line begins.
    """
    if b'"name"' not in frame.raw:
        return False
    return _CALLS.search(frame.raw) is not None or (frame.data is not None and _CALLS.search(frame.data) is not None)


def about_calls(parts: Sequence[Part]) -> bool:
    """Whether a frame's events are about calls."""
    return any(isinstance(event, CallStart | CallPiece | CallEnd) for _, event in parts)
