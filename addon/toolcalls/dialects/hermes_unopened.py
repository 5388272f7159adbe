"""`hermes_unopened`: a JSON call behind text, of whose tags only the closing one is left.

Where a server takes the opening tag for a token of its own, text stands before the object, so it is no message of its
own (`bare_json`). The closing tag alone says that it was a call; the object names a declared tool and begins its line.
"""

from collections.abc import Sequence

from toolcalls.shapes import About, Call, CallSink, OpenerPlace
from toolcalls.shapes.completejson import calls_meant, complete_object
from toolcalls.shapes.jsonvalue import checked
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    since="0.1.0",
    written_by="servers that remove the opening tag of Hermes' form",
    source="public reports",
    example="""\
I read it.
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_call>""",
)

_CLOSERS = ("</tool_call>", "</toolcall>", "</tool-call>", "</function_call>", "</tool_use>", "<|tool_call_end|>")
_GAPS = ("", " ", "\n  ", "\n")


class _Unopened:
    name = "hermes_unopened"
    place: OpenerPlace = "start"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The beginning of an object that names a declared tool."""
        heads = [f'{{{gap}"{key}":' for gap in _GAPS for key in ("name", "tool")]
        return tuple(f"{head}{gap}{quote(name)}" for head in heads for gap in (" ", "") for name in names)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One object and the closing tag behind it."""
        found = yield from complete_object(scan)
        meaning = calls_meant(found.json, tools) if found is not None else []
        if found is None or len(meaning) != 1 or not meaning[0].arguments or meaning[0].name not in tools:
            return False
        space = yield from scan.space()
        closer = yield from scan.among(_CLOSERS, space)
        if closer is None:
            return False
        sink.begin(meaning[0].name)
        for repair in found.repairs:
            sink.note_repair(repair)
        sink.note_repair("missing_opener")
        sink.piece(meaning[0].arguments)
        scan.take(space + len(closer))
        sink.end()
        return True

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """Each object with the closing tag behind it."""
        for call in calls:
            checked(call)
        return "\n".join(
            f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}\n{_CLOSERS[0]}' for call in calls
        )


DIALECT = _Unopened()
