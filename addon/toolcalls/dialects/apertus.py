"""`apertus`: a JSON array between special tokens, of objects whose only key is the tool's name.

    <|tools_prefix|>[{"read_file": {"path": "src/a.ts"}}]<|tools_suffix|>

Written by the Swiss AI Initiative's Apertus. Source: the chat template of
https://huggingface.co/swiss-ai/Apertus-8B-Instruct-2509.
"""

from dataclasses import dataclass

from toolcalls.events import Repair
from toolcalls.shapes import Call, Calls, Unwritable
from toolcalls.shapes.callreader import CallReader
from toolcalls.shapes.jsonlist import JsonList
from toolcalls.shapes.jsonvalue import mark, value
from toolcalls.shapes.wholejson import MAX_NAME, QUOTES, text_of, whole
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox


class _Keyed(CallReader):
    """Reads objects whose key is the name and whose value is the arguments."""

    def object(self, depth: int = 0) -> Step[bool]:  # noqa: ARG002 - nothing is wrapped here
        scan, repairs = self.scan, list[Repair]()
        scan.take(1)
        scan.take((yield from scan.space()))
        found = (yield from whole(scan, MAX_NAME)) if (yield from scan.among(QUOTES)) else None
        name = None if found is None else text_of(found, repairs)
        if not name or not (yield from mark(scan, ":")):
            return False
        scan.take((yield from scan.space()))
        if not (yield from scan.starts("{")):
            return False
        self.begin(self.tools.resolve(name), repairs)
        if not (yield from value(scan, self.calls, self.calls.piece)):
            return False
        if (yield from self.lacks_braces()):
            self.calls.repair("missing_brace")
            return True
        return (yield from mark(scan, "}"))


@dataclass(frozen=True)
class _Apertus(JsonList):
    def _reader(self, scan: Scanner, calls: Calls, tools: Toolbox) -> CallReader:
        return _Keyed(scan, calls, tools, follow=self.closing)

    def _item(self, call: Call) -> str:
        if not call.name:
            raise Unwritable("a call without a name")
        members(call.arguments)
        return f"{{{quote(call.name)}: {call.arguments}}}"


DIALECT = _Apertus("apertus", opening=("<|tools_prefix|>",), closing=("<|tools_suffix|>",), place="anywhere")
