"""`mimo_xml`: Qwen's function tags without white space between them.

    <tool_call><function=read_file><parameter=path>src/a.ts</parameter></function></tool_call>

Written by Xiaomi's MiMo V2 and later. Values are what stands between the tags, line ends too; nothing is decoded (so
vLLM; SGLang decodes HTML entities, which would damage code). That is all the difference to `qwen3_xml`, so a block is
this dialect's only when its first tags stand side by side, and `qwen3_xml` reads every other, the naked one too.
"""

from toolcalls.shapes.functiontag import FunctionTag

DIALECT = FunctionTag("mimo_xml", wrapper="tool_call", compact=True, between="", layout="verbatim")
