"""`function_tags_stripped`: function tags of which the first is damaged, and parameters and closers are whole.

`<function=` is lost or is `<parameter=`, the bracket is, or nothing but the tool's name is left of it. Each of these
could be prose, so it counts only at the start of a line, with the name of a declared tool, and directly in front of
a whole `<parameter=K>`.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.tags.form import FunctionTags
from toolcalls.shapes.tags.opening_tag import Head

ABOUT = About(
    form="function tags",
    sign=Sign(strength="form"),
    written_by="Qwen's coding models, and servers that cut off the beginning of their calls",
    source="public reports (QwenLM/qwen-code #10692, signalnine/q27 #24, NousResearch/hermes-agent #1883)",
    example="""\
<parameter=read_file>
<parameter=path>
src/a.ts
</parameter>
</function>
</tool_call>""",
)

DIALECT = FunctionTags(
    "function_tags_stripped",
    wrappers=("tool_call", "tool_use", "function_calls", "tool_calls"),
    heads=(
        Head("<parameter=", ">"),
        Head("function=", ">"),
        Head("=", ">"),
        Head("<name>", "</parameter>"),
        Head("<name>", "</name>"),
        Head("<parameter=function>", "</parameter>"),
        Head("<parameter=name>", "</parameter>"),
        Head("", ">"),
        Head("", ""),
    ),
    place="start",
)
