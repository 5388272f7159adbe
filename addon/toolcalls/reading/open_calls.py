"""Calls of declared tools in JSON or Python that are beside other text, where no policy takes them: their verdicts.

The text is read once more on relaxed terms, all at once, and only where it names a declared tool as such a call would.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import msgspec

from toolcalls.dialects import chosen
from toolcalls.events import CallPiece, Event, Status, Verdict
from toolcalls.reading.open_text import OpenText
from toolcalls.reading.policy import CallPolicy
from toolcalls.values.call_index import CallIndex
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.transducer import Transducer

CODE = "gemma3_tool_code"  # reads calls as Python
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_SIGN = re.compile(r"""\\.|[()\[\]{}"']""", re.DOTALL)
_FIRST_KEY = re.compile(r'\s*"([^"\\]*)"\s*:')  # after the name
_MOST = 20  # of one text
_MOST_CODE = 4096  # characters of a call in Python
_MANY_CALLS = 1 << 30

# Reads a text to its end: the terms, the text, its place in the reply, whether it was cut off.
type Read = Callable[[CallPolicy, str, int, bool], list[Event]]


class ReadsText(Protocol):
    """A reader (`reader.Reader`), which imports this module."""

    def feed(self, piece: str) -> list[Event]:
        """Read the next piece."""

    def finish(self, *, cut: bool) -> list[Event]:
        """The text ends."""


def open_text_of(
    reader: Callable[..., ReadsText],
    call_policy: CallPolicy,
    tools: Toolbox,
    natives: CallIndex,
    starts_in_reasoning: bool,
) -> OpenText | None:
    """An `OpenText` that finds such calls in a reply; None where no dialect has any, or no tool is declared.

    natives   the native calls of the reply, of which more may come
    """
    if not tools.names or not call_policy.open_calls:
        return None
    dialects = _whole_messages(call_policy.route.dialects, call_policy.route.own)
    if not dialects:
        return None

    def read(terms: CallPolicy, text: str, at: int, cut: bool) -> list[Event]:
        made = reader(terms, tools=tools, starts_in_reasoning=starts_in_reasoning and not at)
        return [*made.feed(text), *made.finish(cut=cut)]

    finder: OpenCalls | None = None

    def look(text: str, at: int, cut: bool) -> list[Verdict]:
        nonlocal finder
        if finder is None:  # few replies hold text that is looked at
            finder = OpenCalls(call_policy, dialects, tools, read)
        return finder.look(text, at, natives, cut=cut)

    whole = call_policy.answers_in_json or starts_in_reasoning
    return OpenText(tools.names, look, whole=whole)


@lru_cache(256)  # each reply asks, and routes are few
def _whole_messages(names: tuple[str, ...] | None, own: tuple[str, ...]) -> tuple[str, ...]:
    """The dialects among these whose call must be the whole message."""
    return tuple(one.name for one in chosen(names, own) if one.place == "message")


class OpenCalls:
    """Finds such calls for one request's tools. `dialects`: those whose call must be the whole message."""

    def __init__(self, call_policy: CallPolicy, dialects: Sequence[str], tools: Toolbox, read: Read) -> None:
        names = tools.names
        self._call_policy = call_policy
        self._read = read
        self._structured = call_policy.answers_in_json
        named = "|".join(map(re.escape, names))
        self._mentions = re.compile(rf"""["'](?:{named})["']|(?:{named})\s*[({{:]""")
        self._code = re.compile(rf"^(?:print\()?(?:default_api\.)?(?:{named})[ \t]*\(", re.MULTILINE)
        self._flat = re.compile(
            rf"""^[ \t]*(?:\[\s*)?(\{{\s*"(?:name|tool|tool_name|function)"\s*:\s*"({named})"\s*,)""", re.MULTILINE
        )
        self._names = frozenset(names)
        self._tools = tools
        request = replace(call_policy.request, tool_choice="auto", quotable=(), prefill=(), response_format=False)
        route = replace(
            call_policy.route,
            dialects=(*dialects, "marker") if self._structured else tuple(dialects),
            policy="standard",
            take=("inline",),
            require=(),
            allowed_tools=None,
            multiple_calls=True,
            starts_in_reasoning=False,
            max_calls=_MANY_CALLS,
        )
        self._terms = replace(
            call_policy,
            request=request,
            route=route,
            lift=True,
            open_calls=False,
            may_start_in_reasoning=False,
            first=(),
        )
        self._reads_code, self._reads_json = CODE in dialects, "bare_json" in dialects
        self._code_terms = replace(self._terms, route=replace(route, dialects=(CODE,)))

    def look(self, text: str, at: int, natives: CallIndex, *, cut: bool) -> list[Verdict]:
        """The verdicts of the calls in a text that is at `at` in the reply. `natives` are the reply's own."""
        if self._mentions.search(text) is None:
            return []
        found = [
            self._judged(verdict, arguments, text, natives)
            for verdict, arguments in self._calls(self._terms, text, at, cut=cut)
        ]
        found += self._as_code(text, found)
        found += self._as_flat_json(text, found, cut=cut)
        found.sort(key=lambda verdict: verdict.start)
        return [
            msgspec.structs.replace(one, start=one.start + at, end=one.end + at, index=None, repairs=())
            for one in found[:_MOST]
        ]

    def _calls(self, terms: CallPolicy, text: str, at: int, *, cut: bool) -> Iterator[tuple[Verdict, str]]:
        """The calls of declared tools in a text, with their arguments."""
        events = self._read(terms, text, at, cut)
        arguments: dict[int, str] = {}
        for event in events:
            if isinstance(event, CallPiece):
                arguments[event.index] = arguments.get(event.index, "") + event.json
        for event in events:
            if isinstance(event, Verdict) and event.name in self._names and event.dialect is not None:
                yield event, arguments.get(-1 if event.index is None else event.index, "")

    def _judged(self, verdict: Verdict, arguments: str, text: str, natives: CallIndex) -> Verdict:
        """A call's verdict, with the first condition that fails. One that is no whole call keeps its own."""
        call_policy, name = self._call_policy, verdict.name or ""
        if verdict.status not in {"lifted", "declined"}:
            return verdict
        written = text[verdict.start : verdict.end].strip()
        reason = call_policy.declines(name, verdict.reason)
        if reason is None and self._structured:
            reason = "response_format"
        if reason is None and call_policy.echo_index.trace(written) is not None:
            reason = "echo"
        if reason is None and not call_policy.takes("duplicate") and natives.has(name, arguments):
            reason = "duplicate"
        return msgspec.structs.replace(verdict, status="declined", reason=reason or "not_alone")

    def _as_code(self, text: str, known: Sequence[Verdict]) -> Iterator[Verdict]:
        """Calls as Python on lines of their own, which no dialect has outside a frame."""
        if not self._reads_code:
            return
        for found in self._code.finditer(text):
            start, end = found.start(), _end_of_call(text, found.start())
            if end is None or any(start < one.end and one.start < end for one in known):
                continue
            written = text[start:end]
            for verdict, _ in self._calls(self._code_terms, f"```tool_code\n{written}\n```", 0, cut=False):
                if verdict.status == "lifted":
                    reason = self._call_policy.declines(verdict.name or "", None) or "code"
                    yield Verdict("declined", reason, "pythonic", verdict.name, start, end)

    def _as_flat_json(self, text: str, known: Sequence[Verdict], *, cut: bool) -> Iterator[Verdict]:
        """Objects that hold a tool's name and its parameters side by side, where no dialect takes such."""
        for found in self._flat.finditer(text) if self._reads_json else ():
            start, name, keys = found.start(1), found[2], frozenset(self._tools.keys(found[2]))
            reader = Transducer()
            written, end = reader.feed(text, start)
            if any(start < one.end and one.start < end for one in known):
                continue
            if not reader.done:
                if (first := _FIRST_KEY.match(text, found.end())) is not None and first[1] in keys:
                    yield _broken(reader, name, start, end, cut=cut)
            elif {key for key, _ in members(written)[1:]} <= keys:
                reason = self._call_policy.declines(name, None)
                status: Status = "declined" if reason else "malformed"
                yield Verdict(status, reason or "not_a_call", "bare_json", name, start, end)


def _broken(reader: Transducer, name: str, start: int, end: int, *, cut: bool) -> Verdict:
    """The verdict of an object that cannot be read any further than to `end`, or that breaks off there."""
    if reader.failed is not None:
        return Verdict("malformed", "bad_arguments", "bare_json", name, start, end)
    return Verdict("truncated", "cut_off" if cut else "unclosed", "bare_json", name, start, end)


def _end_of_call(text: str, start: int) -> int | None:
    """Where the brackets that open after `start` are closed; None for nowhere near."""
    open_: list[str] = []
    quote = ""
    at = start
    while (sign := _SIGN.search(text, at, start + _MOST_CODE)) is not None:
        at, char = sign.end(), sign[0]
        if char.startswith("\\"):
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _CLOSES:
            open_.append(_CLOSES[char])
        elif not open_ or char != open_.pop():
            return None
        elif not open_:
            return at
    return None
