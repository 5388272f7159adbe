"""Calls that a client may read where this addon does not, so that no rule has seen them.

They are in frames that the wire has not read, or has read for another call in them; in pieces of arguments that belong
to no open call; and in bodies of another form than was expected: JSON where a stream was, which google-genai and ollama
parse all the same, and a stream where JSON was, which SDKs parse that asked for one.

Strategy: a frame that names no call is not looked at twice. In any other one, keys are compared as they are
decoded, without capitals and underscores, since SDKs accept both spellings (pydantic's aliases) and Go any capitals.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Damage, Finish, Unplaced
from toolcalls.wires import Part
from toolcalls.wires.frames import Form, Frame

UNREAD_CALL = "a frame with a call that cannot be read was left out, as a rule may block it"
UNREAD_WHOLE = "it has a part that cannot be read; nothing of it passed, as a rule may block a call in it"
STRAY_PIECE = "arguments that belong to no open call were left out, as a rule may block their call"

# Calls in a frame; in a text the quotes would be escaped. The second form is Chat Completions', before `tool_calls`.
_CALLS = re.compile(rb'"(?:tool_calls"\s*:\s*\[?|function_call"\s*:)\s*\{')
# What calls are named by on any API.
_NAMES = re.compile(rb'"(?:tool_?calls|function_?call|tool_?use|custom_tool_call|\w{0,32}_shell_call)"', re.IGNORECASE)
_EVENTS = re.compile(rb"^data:", re.MULTILINE)
_HINTS = re.compile(rb"tool_?calls|function_?call|tool_?use|\\u00", re.IGNORECASE)
_ESCAPED = re.compile(rb"\\u00([2-7][0-9a-fA-F])")
# Where httpx ends a line, and the form of the body does not: SSE knows CR as well.
_LINE_ENDS = rb"[\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]"
_OTHER_LINE_ENDS: dict[Form, re.Pattern[bytes]] = {
    "sse": re.compile(_LINE_ENDS),
    "ndjson": re.compile(rb"\r(?!\n|\Z)|" + _LINE_ENDS),
}
_JSON_LINE = re.compile(rb"(?:^|[\r\n])[ \t]*[\[{]")
_CALL_KEYS = frozenset({"toolcalls", "functioncall", "tooluse"})
# What holds the values of tools, where any key may be.
_VALUES = frozenset({"args", "arguments", "functionresponse", "input", "toolresult", "tools"})
_ARGUMENTS = frozenset({"args", "arguments", "input", "partialargs"})
# What replies consist of; an error has none of them.
_CONTENT = frozenset({"candidates", "choices", "content", "delta", "output", "response", "step"})
_json_value = msgspec.json.Decoder(msgspec.Raw).decode


class _Members(list[tuple[str, Any]]):
    """An object as its members, of which the same may come twice."""


class _Entry(NamedTuple):
    """An entry that is a call or a piece of one."""

    named: bool
    argued: bool


class UnreadCalls:
    """What is left out of a reply in which a rule may block calls.

    form   how the body is cut into frames
    """

    def __init__(self, form: Form) -> None:
        self._form = form
        self._line_ends = _OTHER_LINE_ENDS.get(form)  # None where nobody reads lines
        self._left_out: set[tuple[int, int]] = set()  # calls, each by its lane and index
        self._lost: set[tuple[int, int]] = set()  # those without a name so far, of whose arguments some were left out

    def may_be_in(self, frame: Frame) -> bool:
        """Whether a frame must be asked about; False for nearly all frames with text alone."""
        if frame.data is None or _HINTS.search(frame.raw) is not None:
            return True
        if self._line_ends is None:
            return False
        return self._line_ends.search(frame.raw) is not None or b"\n" in frame.data or self._has_json_line(frame)

    def has_other_lines(self, raw: bytes) -> bool:
        """Whether some client may find more lines in a frame than the form of the body has."""
        return self._line_ends is not None and self._line_ends.search(raw) is not None

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
        if self.may_be_in(frame) and (self._has_hidden_lines(frame) or _has_more(frame, parts)):
            return UNREAD_CALL
        return None

    def _is_left_out(self, part: Part) -> bool:
        lane, event = part
        return isinstance(event, CallPiece | CallEnd) and (lane, event.index) in self._left_out

    def _has_json_line(self, frame: Frame) -> bool:
        return self._form == "sse" and _JSON_LINE.search(frame.raw) is not None

    def _has_hidden_lines(self, frame: Frame) -> bool:
        """Whether a client that reads lines finds JSON where there is none for this API."""
        ends, data = self._line_ends, frame.data
        if ends is None:
            return False
        if data is not None and ends.search(data) is not None and not _is_json(data):
            return len([line for line in _lines(data) if line.strip()]) > 1
        if self._form == "ndjson" or not (self._has_json_line(frame) or ends.search(frame.raw)):
            return False
        beside = [line for line in frame.raw.splitlines() if line.partition(b":")[0] != b"data"]
        return any(map(_hides_json, beside)) and not _is_error(b"".join(beside))


def _hides_json(line: bytes) -> bool:
    """Whether a line that is no payload begins like JSON, or holds a payload behind another line end."""
    first, *others = _lines(line) or [""]
    return any(other.startswith("data:") for other in others) or any(
        one.lstrip()[:1] in {"{", "["} for one in (first, *others)
    )


def _lines(raw: bytes) -> list[str]:
    return raw.decode(errors="replace").splitlines()


def _is_error(raw: bytes) -> bool:
    """Whether lines, joined, are a JSON object that says nothing of a reply: servers send errors so."""
    try:
        members = json.loads(raw, object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return False
    return isinstance(members, _Members) and not {_plain(key) for key, _ in members} & _CONTENT


def _has_more(frame: Frame, parts: Sequence[Part]) -> bool:
    """Whether a frame holds calls beside those that its events are about."""
    calls = {(lane, event.index) for lane, event in parts if isinstance(event, CallStart | CallPiece)}
    pieces = Counter((lane, event.index) for lane, event in parts if isinstance(event, CallPiece))
    if not calls and _holds_calls(frame):
        return True
    if frame.data is None:
        return False
    entries = list(_entries(frame.data))
    named = sum(entry.named for entry in entries)
    if not calls and any(isinstance(event, Damage | Unplaced) for _, event in parts):
        return named > 0  # the others wait for their name, or say that they have none
    saying = sum(entry.named or entry.argued for entry in entries)
    read = sum(max(1, pieces[call]) for call in calls)
    silent = sum(isinstance(event, CallPiece) and not event.json for _, event in parts)
    read -= min(silent, len(entries) - saying)  # those are about entries that say nothing
    return named > len(calls) or saying > read


def _holds_calls(frame: Frame) -> bool:
    """Whether a frame holds calls by its bytes: also misspelt, in a place of some other form, or outside its payload,
    where clients look that do not care where a line begins.
    """
    raw = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), frame.raw)
    if frame.data is None and _NAMES.search(raw.replace(b"\0", b"")) is not None:  # UTF-16 has these
        return True
    if b'"name"' not in frame.raw:
        return False
    return _CALLS.search(frame.raw) is not None or (frame.data is not None and _CALLS.search(frame.data) is not None)


def _entries(payload: bytes) -> Iterator[_Entry]:
    """The entries of calls in a payload; where that is no JSON, in each of its lines, as clients may read those."""
    for one in (payload, *payload.splitlines()):
        try:
            value = json.loads(one.decode(errors="replace").removeprefix("\ufeff"), object_pairs_hook=_Members)
        except ValueError:
            continue
        except RecursionError:  # JavaScript reads it
            yield _Entry(named=True, argued=True)
            return
        yield from _entries_in(value)
        if one is payload:
            return


def _entries_in(value: Any) -> Iterator[_Entry]:
    pending = [value]
    while pending:
        one = pending.pop()
        if not isinstance(one, _Members):
            pending.extend(one if isinstance(one, list) else ())
            continue
        for key, member in one:
            plain = _plain(key)
            if plain in _CALL_KEYS:
                row = [member] if isinstance(member, _Members) or not isinstance(member, list) else member
                entries = (entry for entry in row if isinstance(entry, _Members))
                yield from (_entry(entry) for entry in entries if plain != "tooluse" or _is_begun(entry))
            elif plain not in _VALUES:
                pending.append(member)


def _is_begun(use: _Members) -> bool:
    """Whether a call of Bedrock's begins, and is the client's: the provider's own have a type, and its wire knows whose
    a piece is.
    """
    members = dict(use)
    return bool(members.get("name")) and not members.get("type")


def _entry(members: _Members) -> _Entry:
    inner = [member for key, member in members if _plain(key) in {"function", "custom"}]
    rows = [members, *(one for one in inner if isinstance(one, _Members))]
    named = any(_plain(key) == "name" and isinstance(name, str) and name for row in rows for key, name in row)
    argued = any(_plain(key) in _ARGUMENTS and given for row in rows for key, given in row)
    return _Entry(named, argued)


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


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
