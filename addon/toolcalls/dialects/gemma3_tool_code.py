"""`gemma3_tool_code`: Python in a fence of its own, as Gemma 3 and Gemini write it when the prompt names no format.

`print` and `default_api` may be missing; several calls are on lines of their own; Gemini also writes `<tool_code>`
tags in place of the fence.
"""

from toolcalls.shapes import About
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="Gemma 3, and Gemini where no format is given",
    source="https://ai.google.dev/gemma/docs/capabilities/function-calling, and Gemini's leaks",
    example="""\
```tool_code
print(default_api.read_file(path="src/a.ts"))
```""",
)

TAUGHT = r"^[ \t]*```tool_code$"

DIALECT = Pythonic(
    "gemma3_tool_code",
    opening=("```tool_code", "<tool_code>"),
    closing=("```", "</tool_code>"),
    brackets=("\n", "\n"),
    between="\n",
    around=("print(", ")"),
    module="default_api.",
    place="message",
)
