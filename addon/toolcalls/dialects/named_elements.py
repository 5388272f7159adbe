"""`named_elements`: a tag for calls with the name in an element of its own, and the arguments as JSON in another.

The elements have several names. With elements in the place of the JSON it is `invoke_legacy` (in `<invoke>`) or `forge`
(in `<tool>`).
"""

from collections.abc import Sequence

from toolcalls.shapes import About, Call, CallSink, OpenerPlace
from toolcalls.shapes.jsonvalue import accept, value
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.surplus import take_surplus
from toolcalls.shapes.words import NAME, check_name, skip_past, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    since="0.1.0",
    written_by="models under many agents' own prompts",
    source="no model's template; those prompts, and public reports",
    example="""\
<tool_call>
<name>read_file</name>
<arguments>{"path": "src/a.ts"}</arguments>
</tool_call>""",
)

_CALLS = ("tool_call", "function_call", "tool_use", "tool-use", "use_tool")
_NAMES = ("<name>", "<tool_name>", "<tool>", "<function>")
_GIVEN = ("<arguments>", "<args>", "<parameters>", "<params>", "<input>")


def _closer(tag: str) -> str:
    return f"</{tag[1:]}"


class _Elements:
    name = "named_elements"
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The call's tags."""
        return tuple(f"<{name}>" for name in _CALLS)

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        """One call."""
        opener = yield from scan.among(self.openers(()))
        if opener is None:
            return False
        scan.take(len(opener))
        scan.take((yield from scan.space()))
        tag = yield from scan.among(_NAMES)
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
        if given is None or not (empty or (yield from scan.starts("{", inside))):
            return False
        sink.begin(written)
        if given == end:
            scan.take(space)
        else:
            scan.take(inside)
            if not empty and not (yield from value(scan, sink, sink.piece)):
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
                f"<tool_call>\n<name>{call.name}</name>\n<arguments>{call.arguments}</arguments>\n</tool_call>"
            )
        return "\n".join(blocks)


DIALECT = _Elements()
