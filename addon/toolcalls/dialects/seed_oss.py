"""`seed_oss`: function tags in a `<seed:tool_call>`, values on the line of their tags.

    <seed:tool_call>
    <function=read_file>
    <parameter=path>src/a.ts</parameter>
    </function>
    </seed:tool_call>

Written by ByteDance's Seed-OSS. Source: its chat template, vLLM's `seed_oss` parser (vllm PR#46314 #26573). A
function's tag without the wrapper is read by `qwen3_xml`. The template prints lists and objects as Python does:
they are read where the schema asks for one, and written as JSON, which the engines try first.
"""

from toolcalls.shapes.functiontag import FunctionTag

DIALECT = FunctionTag("seed_oss", wrapper="seed:tool_call", written="inline")
