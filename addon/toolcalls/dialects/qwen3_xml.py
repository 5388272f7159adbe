"""`qwen3_xml`: function tags in a `<tool_call>`, the form of most open coding models.

Servers leak it damaged in known ways, and it is read all the same: a wrapper without opener or closer (omlx PR#844,
opencode #13762), a second wrapper before the first one's closer, a name still open when the function is closed, a
parameter closed twice, blanks and quotes in tags, an older `<function_invocation>` around the function or its closer
after it (ollama #16383, QwenLM/Qwen3.8 #178), a `<toolcall>`, and one object of JSON in the place of the parameters.

The naked form is this dialect's also where OpenHands' prompt asked for it, and with Seed-OSS's closer after it. The
template prints lists and objects as JSON and every other value as Python does: `True`, `None`, `3`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.form import FunctionTags

ABOUT = About(
    form="function tags",
    written_by="Qwen3-Coder, Qwen3.5 and later, Nemotron-3, Step-3.5, Granite 4.2 and their fine-tunes",
    source="the models' chat templates, and vLLM's and SGLang's `qwen3_coder` parsers",
    example="""\
<tool_call>
<function=read_file>
<parameter=path>
src/a.ts
</parameter>
</function>
</tool_call>""",
)

DIALECT = FunctionTags(
    "qwen3_xml",
    wrappers=("tool_call", "function_invocation", "toolcall"),
    orphans=("seed:tool_call",),
    json=True,
)

RESULT = "<tool_response>\n{text}\n</tool_response>"
