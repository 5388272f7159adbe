"""`seed_oss`: function tags in a `<seed:tool_call>`, values on the line of their tags.

A function's tag without the wrapper is read by `qwen3_xml`. The template prints lists and objects as Python does: they
are read where the schema asks for one, and written as JSON, which the engines try first.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.content import Printed
from toolcalls.shapes.tags.form import FunctionTags

ABOUT = About(
    form="function tags",
    written_by="ByteDance's Seed-OSS",
    source="the model's chat template, and vLLM's `seed_oss` parser (vllm PR#46314, #26573)",
    example="""\
<seed:tool_call>
<function=read_file>
<parameter=path>src/a.ts</parameter>
</function>
</seed:tool_call>""",
)

DIALECT = FunctionTags("seed_oss", wrappers=("seed:tool_call",), bare=False, content=Printed("inline"))
