"""`apertus`: a JSON array between special tokens, of objects whose only key is the tool's name."""

from dataclasses import dataclass

from toolcalls.events import Repair
from toolcalls.shapes import About, Call, CallSink
from toolcalls.shapes.json.callreader import CallReader
from toolcalls.shapes.json.completejson import MAX_NAME, QUOTES, complete_value, decoded_string
from toolcalls.shapes.json.jsonlist import JsonList
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS, accept, checked, object_arguments
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="arrays behind a mark",
    since="0.1.0",
    written_by="the Swiss AI Initiative's Apertus",
    source="the chat template of https://huggingface.co/swiss-ai/Apertus-8B-Instruct-2509",
    example="""\
<|tools_prefix|>[{"read_file": {"path": "src/a.ts"}}]<|tools_suffix|>""",
)


_NAME = '"name"'


class _Keyed(CallReader):
    """Reads objects whose key is the name and whose value is the arguments."""

    def members(self, depth: int) -> Step[bool]:
        scan, repairs = self.scan, list[Repair]()
        if (yield from self._is_named()):
            return (yield from super().members(depth))
        scan.take(1)
        scan.take((yield from scan.space()))
        found = (yield from complete_value(scan, MAX_NAME)) if (yield from scan.among(QUOTES)) else None
        name = None if found is None else decoded_string(found, repairs)
        if not name or not (yield from accept(scan, ":")):
            return False
        scan.take((yield from scan.space()))
        if (yield from scan.among(OBJECT_STARTS)) is None:
            return False
        self.begin(name, repairs)
        if not (yield from object_arguments(scan, self.sink, self.unclosed)):
            return False
        if (yield from self.lacks_braces()):
            self.sink.note_repair("missing_brace")
            return True
        return (yield from accept(scan, "}"))

    def _is_named(self) -> Step[bool]:
        """Whether the object says the name as others do, under a key of its own: a tool's value is an object."""
        scan = self.scan
        key = yield from scan.space(1)
        if not (yield from scan.starts(_NAME, key)):
            return False
        colon = yield from scan.space(key + len(_NAME))
        return (yield from scan.starts(":", colon)) and (
            yield from scan.starts('"', (yield from scan.space(colon + 1)))
        )


@dataclass(frozen=True)
class _Apertus(JsonList):
    def _reader(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> CallReader:
        return _Keyed(scan, sink, tools, follow=self.closing, ends=self.closing)

    def _item(self, call: Call) -> str:
        checked(call)
        return f"{{{quote(call.name)}: {call.arguments}}}"


DIALECT = _Apertus(
    "apertus",
    opening=("<|tools_prefix|>",),
    closing=("<|tools_suffix|>",),
    first=("[", "{"),
    place="anywhere",
)
