"""`named_elements`: a tag for calls with the name in an element of its own, and the arguments as JSON in another.

    <tool_call>
    <name>read_file</name>
    <arguments>{"path": "src/a.ts"}</arguments>
    </tool_call>

Taught by many agents' own prompts, under several names for each element; no model's template has it. With elements in
the place of the JSON it is `invoke_legacy` (in `<invoke>`) or `forge` (in `<tool>`).
"""

from collections.abc import Sequence

from toolcalls.shapes import Call, Calls, Place
from toolcalls.shapes.callreader import skip
from toolcalls.shapes.jsonvalue import mark, value
from toolcalls.shapes.words import NAME, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

_CALLS = ("tool_call", "function_call", "tool_use")
_NAMES = ("<name>", "<tool_name>", "<tool>", "<function>")
_GIVEN = ("<arguments>", "<args>", "<parameters>", "<params>", "<input>")


def _closer(tag: str) -> str:
    return f"</{tag[1:]}"


class _Elements:
    name = "named_elements"
    place: Place = "line"
    strays: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The call's tags."""
        return tuple(f"<{name}>" for name in _CALLS)

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form."""
        return any(f"<{name}>\n<name>" in text for name in _CALLS) and "<arguments>{" in text

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
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
        if not written or not (yield from mark(scan, _closer(tag))):
            return False
        end = _closer(opener)
        space = yield from scan.space()
        given = yield from scan.among((*_GIVEN, end), space)
        inside = yield from scan.space(space + len(given or ""))
        empty = given == end or (given is not None and (yield from scan.starts(_closer(given), inside)))
        if given is None or not (empty or (yield from scan.starts("{", inside))):
            return False
        calls.begin(tools.resolve(written))
        if given == end:
            scan.take(space)
        else:
            scan.take(inside)
            if not empty and not (yield from value(scan, calls, calls.piece)):
                if not scan.ended:
                    calls.broken()
                    yield from skip(scan, (end,))
                return False
            if not (yield from mark(scan, _closer(given))):
                if scan.cut and scan.stops_short((_closer(given),)):
                    scan.take(scan.rest())
                    return False
                calls.repair("missing_closer")
        if empty:
            calls.piece("{}")
        return (yield from self._end(scan, calls, end))

    def _end(self, scan: Scanner, calls: Calls, end: str) -> Step[bool]:
        """The call's closer. Returns whether what was taken is the call's."""
        closed = yield from mark(scan, end)
        if not closed and scan.stops_short((end,)):
            scan.take(scan.rest())
            if scan.cut:
                return False
        if not closed:
            calls.repair("missing_closer")
        calls.end()
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
