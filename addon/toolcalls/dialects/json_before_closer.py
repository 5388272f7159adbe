"""`json_before_closer`: a JSON call on its own line, of whose tags only the closing one is left.

Servers take the opening tag away, with some of the text in front of it or without. An object like that is data without
the closer, so it is read whole before anything is said, and nothing but calls may come after it.
"""

from toolcalls.events import Repair
from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace, Sign
from toolcalls.shapes.json.call_keys import NAMES
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.json.json_values import whole_value
from toolcalls.shapes.json.strict_calls import calls_meant
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    sign=Sign(strength="rest", alone=True),
    written_by="models that write Hermes' form, where a server takes the opening tag away",
    source="NousResearch/hermes-agent PR#35129",
    example="""\
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_call>""",
)

_NAMES = ("tool_call", "toolcall", "tool-call", "tool_calls", "function_call", "function_calls", "function", "tool_use")
_TAGS = (*_NAMES, "tools", "tool", "invoke")
_CLOSERS = (*(f"</{name}>" for name in _TAGS), "[/TOOL_CALLS]", "[/TOOL_CALL]", "<|tool_call_end|>", "<tool_call|>")
_OPENER: tuple[Repair, ...] = ("missing_opener",)
_GAPS = ("", " ")


class _Noted(list[Repair]):
    """Repairs of a call that has not begun."""

    note_repair = list[Repair].append


class _BeforeCloser(Grammar):
    name = "json_before_closer"
    place: OpenerPlace = "start"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """An object that begins with the name of a declared tool."""
        heads = [f'{{{gap}"{key}":{behind}' for gap in _GAPS for behind in _GAPS for key in NAMES]
        return tuple(f"{head}{quote(name)}" for name in names for head in heads)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One object and the closer after it."""
        opener = (yield from scan.among(self.openers(tools.names))) or ""
        for name in tools.names:
            if opener.endswith(quote(name)):
                sink.expect(name)
        found = yield from whole_value(scan)
        if found is None:
            return False
        noted = _Noted(found.repairs)
        yield from take_surplus(scan, noted, _CLOSERS)
        _, length = yield from closer_among(scan, _CLOSERS, (yield from scan.space()))
        calls = calls_meant(members(found.json), tools) if length else []
        if not calls:
            return False
        for call in calls:
            sink.begin(call.name)
            for repair in (*_OPENER, *noted, *call.repairs):
                sink.note_repair(repair)
            sink.piece(call.arguments or "{}")
            sink.end()
        scan.take((yield from scan.space()) + length)
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        return f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'


DIALECT = _BeforeCloser()
