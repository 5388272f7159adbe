"""Calls as JSON in the open: an object or an array that is alone, in a fence, or in tags that hold other JSON too.

Nothing marks such JSON as a call, so each object is read to its end and must be a call by its keys (`strict_calls`). An
array is read object by object, and so are objects one after the other, on lines or with semicolons or commas between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_keys import NAMES
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class UnmarkedJson(Grammar):
    """The form with its fences filled in.

    fences    what comes before and after the JSON, ("", "") for nothing; the first is written
    brackets  what the JSON may begin with; an array is written where "[" comes first, else one object a line
    """

    name: str
    fences: tuple[tuple[str, str], ...] = (("", ""),)
    brackets: tuple[str, ...] = ("{", "[")
    place: OpenerPlace = "message"
    stray_words: tuple[str, ...] = ()

    @cached_property
    def _closers(self) -> dict[str, str]:
        return dict(self.fences)

    @cached_property
    def _opening(self) -> tuple[str, ...]:
        return tuple(fence for fence, _ in self.fences if fence)

    @cached_property
    def _rules(self) -> CallRules:
        # No call goes on after any fence. So what is no call is short where it may be read again from there.
        ends = tuple(dict.fromkeys(filter(None, (mark for fence in self.fences for mark in fence))))
        return CallRules("message", follow=ends, ends=ends, closed=False)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The fences; where the JSON may be bare, its brackets, also with a tool's name: that is likelier a call."""
        if "" not in self._closers:
            return self._opening
        leads = ("{" if bracket == "{" else "[{" for bracket in self.brackets)
        heads = [f'{lead}{gap}"{key}":' for lead in leads for gap in ("", " ") for key in NAMES]
        named = (f"{head}{gap}{quote(name)}" for head in heads for gap in (" ", "") for name in names)
        return (*self._opening, *self.brackets, *named)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One fence with its calls, and those right after it; or the calls that are bare."""
        while (yield from self._block(scan, sink, tools)):
            space = yield from scan.space()
            fence = yield from scan.among(self._opening, space)
            inside = yield from scan.space(space + len(fence or ""))
            if fence is None or (yield from scan.among(self.brackets, inside)) is None:
                return True
            scan.take(space)
        return False

    def _block(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        fence = (yield from scan.among(self._opening)) or ""
        scan.take(len(fence))
        scan.take((yield from scan.space()))
        bracket = yield from scan.among(self.brackets)
        if bracket is None or fence not in self._closers:
            return False
        reader = CallReader(scan, sink, tools, self._rules)
        whole = yield from reader.array() if bracket == "[" else reader.lines()
        if whole and (yield from self._close(scan, sink, self._closers[fence])):
            reader.end()
            return True
        if reader.open and not scan.ended:  # something else is there too, so it is no call
            sink.fail()
        return False

    def _close(self, scan: Scanner, sink: CallSink, closer: str) -> Step[bool]:
        """Take the closer of a fence. Returns whether the fence is closed, or the reply has ended instead."""
        yield from take_surplus(scan, sink, (closer,) if closer else ())
        space = yield from scan.space()
        if not closer:
            return True
        _, length = yield from closer_among(scan, (closer,), space)
        if length:
            scan.take(space + length)
            return True
        if scan.cut or not scan.stops_short((closer,)):
            return False
        sink.note_repair("missing_closer")
        scan.take(scan.rest())
        return True

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """An array, or one object a line, between the first fence's marks if it has any; "" for no calls."""
        items = [self.write_call(call, tools) for call in calls]
        body = f"[{', '.join(items)}]" if self.brackets[0] == "[" else "\n".join(items)
        opening, closing = self.fences[0]
        return f"{opening}\n{body}\n{closing}" if items and opening else body if items else ""

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        return f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}'
