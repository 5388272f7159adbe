"""`bare_json`: a JSON object in the open, and nothing else in the message.

Also read: `parameters`, `args` or `input` for the arguments, `tool`, `tool_name` or `function` for the name,
`{"action": N, "action_input": J}` (LangChain's), `{"type": "function", "function": {...}}`, `{"tool_call": {...}}`,
`{"tool_calls": [...]}` (also beside an empty `content`), `{"tool_uses": [{"recipient_name": "functions.N", …}]}`
(OpenAI's `multi_tool_use.parallel`), and several objects on lines or with semicolons between them, also where the first
of them is gone. An object with any other key is data, and one whose arguments are a schema declares a tool: neither is
a call.
"""

from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="form", empty=True),
    written_by=(
        "small models whose server has no template for them, and models under the generic templates of Llama 3, "
        "llama.cpp and Ollama"
    ),
    source="those templates, and public reports",
    example="""\
{"name": "read_file", "arguments": {"path": "src/a.ts"}}""",
)

# `{"name": function name, "parameters": dictionary of argument name and its value}`, as Llama 3.1's template says it
TAUGHT = r'\{"name": [^"{}<\n]+, ?"(?:parameters|arguments)": [^"{}<\n]+\}'

_PARTED = (";", ",")  # what llama-server leaves of parallel calls begins with it: the first was native


@dataclass(frozen=True)
class _Bare(UnmarkedJson):
    @override
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*super().openers(names), *(f"{mark}{gap}{{" for mark in _PARTED for gap in ("", " ", "\n")))

    @override
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls, without what parts them from one that is not here."""
        mark = yield from scan.among(_PARTED)
        scan.take((yield from scan.space(len(mark))) if mark else 0)
        return (yield from super().read(scan, sink, tools))


DIALECT = _Bare("bare_json", brackets=("{",))
