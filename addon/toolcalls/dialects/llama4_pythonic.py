"""`llama4_pythonic`: Llama 4's list of calls between markers, the second of which may be missing.

Without the first marker it is `pythonic`. Where a prompt asked for JSON, an object of Llama 3's is between the
markers.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.code.pythonic import Pythonic
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="Python",
    written_by="Llama 4",
    source="chat_template.jinja of https://huggingface.co/meta-llama/Llama-4-Scout-17B-16E-Instruct",
    example="""\
<|python_start|>[read_file(path="src/a.ts")]<|python_end|>""",
)

_START, _END = ("<|python_start|>",), ("<|python_end|>",)
_JSON = MarkedJson(
    "llama4_pythonic",
    opening=_START,
    closing=_END,
    arguments="parameters",
    brackets=("{",),
    place="anywhere",
    between="\n",
)


@dataclass(frozen=True)
class _Llama4(Pythonic):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Calls in JSON where a brace follows the marker, else in Python."""
        if (yield from scan.starts("{", (yield from scan.space(len(_START[0]))))):
            return (yield from _JSON.read(scan, sink, tools))
        return (yield from super().read(scan, sink, tools))


DIALECT = _Llama4("llama4_pythonic", opening=_START, closing=_END)
