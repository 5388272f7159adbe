"""`json_behind_word`: a JSON call between tags with a stray word in front of it, as models leak them.

The word is the tool's name once more, `json`, `call` or the like. It is asked before the forms in which a name is
there, so the object must begin with a call's own key, and with none that the tool declares. Where it begins with the
arguments, they must be an object.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="models that write Hermes' form, as a leak",
    source="public reports",
    example="""\
<tool_call>
json
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_call>""",
)

_TAGS = ("tool_call", "tool_use", "function_call", "tool-call", "tool-use", "toolcall")
_WORD = re.compile(
    rf"""\s*(?P<word>[A-Za-z_][\w.-]{{0,63}})\s*\{{\s*["'](?:(?P<key>{"|".join(NAMES)})["']\s*:"""
    rf"""|(?P<given>{"|".join(ARGUMENTS)})["']\s*:\s*\{{)"""
)
_BEGINS = re.compile(
    r"""\s*(?:[A-Za-z_][\w.-]{0,63}\s*(?:\{\s*(?:["'](?:[A-Za-z_]{0,20}(?:["']\s*(?::\s*)?)?)?)?)?)?\Z"""
)
_MAX_HEAD = 160


@dataclass(frozen=True)
class _BehindWord(MarkedJson):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One block, where a word is in it."""
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        found = yield from scan.match(_WORD, _BEGINS, len(opener), _MAX_HEAD)
        if found is None or (found["key"] or found["given"]) in tools.keys(tools.resolve(found["word"])):
            return False
        return (yield from super().read(scan, sink, tools))

    def _fence(self, scan: Scanner) -> Step[bool]:
        """Take the word, which was seen before the object."""
        scan.take(scan.text.index("{", scan.pos) - scan.pos)
        yield from ()
        return True

    def _take(self, scan: Scanner, literals: tuple[str, ...]) -> Step[None]:  # noqa: ARG002 - as the shape has it
        """Nothing but the closing tag comes after the object."""
        yield from ()

    def _block(self, body: str) -> str:
        return super()._block(f"json\n{body}")


DIALECT = _BehindWord(
    "json_behind_word",
    opening=tuple(f"<{tag}>" for tag in _TAGS),
    closing=tuple(f"</{tag}>" for tag in _TAGS),
    line="\n",
)
