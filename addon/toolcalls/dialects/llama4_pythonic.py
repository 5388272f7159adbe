"""`llama4_pythonic`: Llama 4's list of calls between markers, the second of which may be missing.

    <|python_start|>[read_file(path="src/a.ts"), list_files()]<|python_end|>

Without the first marker it is `pythonic`. Where a prompt asked for JSON, an object of Llama 3's stands between the
markers. Source: the model's chat template (https://huggingface.co/meta-llama/Llama-4-Scout-17B-16E-Instruct,
chat_template.jinja).
"""

from dataclasses import dataclass

from toolcalls.shapes import Calls
from toolcalls.shapes.jsonlist import JsonList
from toolcalls.shapes.pythonic import Pythonic
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_START, _END = ("<|python_start|>",), ("<|python_end|>",)
_JSON = JsonList(
    "llama4_pythonic", opening=_START, closing=_END, arguments="parameters", first=("{",), place="anywhere"
)


@dataclass(frozen=True)
class _Llama4(Pythonic):
    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """The calls between the markers."""
        if (yield from scan.starts("{", (yield from scan.space(len(_START[0]))))):
            return (yield from _JSON.read(scan, calls, tools))
        return (yield from super().read(scan, calls, tools))


DIALECT = _Llama4("llama4_pythonic", opening=_START, closing=_END)
