"""`apertus`: a JSON array between special tokens, of objects whose only key is the tool's name."""

from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import About, Call
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.jsonlist import JsonList
from toolcalls.shapes.json.jsonvalue import checked
from toolcalls.values.conversion import quote

ABOUT = About(
    form="arrays behind a mark",
    since="0.1.0",
    written_by="the Swiss AI Initiative's Apertus",
    source="the chat template of https://huggingface.co/swiss-ai/Apertus-8B-Instruct-2509",
    example="""\
<|tools_prefix|>[{"read_file": {"path": "src/a.ts"}}]<|tools_suffix|>""",
)


@dataclass(frozen=True)
class _Apertus(JsonList):
    @cached_property
    def _rules(self) -> CallRules:
        return CallRules(arguments="", follow=self.closing, ends=self.closing, keyed=True)

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
