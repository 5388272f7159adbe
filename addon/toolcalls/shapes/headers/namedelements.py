"""Calls as an element with the name in an element of its own, and the arguments as JSON in another.

`OPEN <name>N</name> <arguments>J</arguments> CLOSE`; both elements have several names.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, OpenerPlace
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS, accept, object_arguments
from toolcalls.shapes.json.surplus import take_surplus
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.words import NAME, check_name, skip_past, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

NAME_ELEMENTS = ("<name>", "<tool_name>", "<tool>", "<function>")
_GIVEN = ("<arguments>", "<args>", "<parameters>", "<params>", "<input>")


def _closer(tag: str) -> str:
    return f"</{tag.removeprefix('<')}"


@dataclass(frozen=True)
class NamedElements:
    """The form with the call's opening tags, the first of which is written."""

    name: str
    opening: tuple[str, ...]
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The call's tags."""
        return self.opening

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        """One call."""
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        scan.take(len(opener))
        scan.take((yield from scan.space()))
        tag = yield from scan.among(NAME_ELEMENTS)
        if tag is None:
            return False
        scan.take(len(tag))
        scan.take((yield from scan.space()))
        written = yield from word(scan, NAME)
        scan.take(len(written))
        if not written or not (yield from accept(scan, _closer(tag))):
            return False
        end = _closer(opener)
        space = yield from scan.space()
        given, length = yield from closer_among(scan, (*_GIVEN, end), space)
        inside = yield from scan.space(space + length)
        empty = given == end
        if given is not None and not empty:
            empty = (yield from closer_among(scan, (_closer(given),), inside))[1] > 0
        if given is None or not (empty or (yield from scan.among(OBJECT_STARTS, inside)) is not None):
            return False
        sink.begin(written)
        if given == end:
            scan.take(space)
        else:
            scan.take(inside)
            if not empty and not (yield from object_arguments(scan, sink)):
                if scan.rest() or not scan.ended:
                    sink.fail()
                    yield from skip_past(scan, (end,))
                return False
            yield from take_surplus(scan, sink, (_closer(given), end))
            if not (yield from accept(scan, _closer(given))):
                if scan.cut and scan.stops_short((_closer(given),)):
                    scan.take(scan.rest())
                    return False
                sink.note_repair("missing_closer")
        if empty:
            sink.piece("{}")
        return (yield from self._end(scan, sink, end))

    def _end(self, scan: Scanner, sink: CallSink, end: str) -> Step[bool]:
        """The call's closer. Returns whether what was taken is the call's."""
        closed = yield from accept(scan, end)
        if not closed and scan.stops_short((end,)):
            scan.take(scan.rest())
            if scan.cut:
                return False
        if not closed:
            sink.note_repair("missing_closer")
        sink.end()
        return True

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One element a call; "" for no calls."""
        blocks = []
        for call in calls:
            check_name(call.name, "in an element")
            members(call.arguments)
            blocks.append(
                f"{self.opening[0]}\n<name>{call.name}</name>\n<arguments>{call.arguments}</arguments>\n"
                f"{_closer(self.opening[0])}"
            )
        return "\n".join(blocks)
