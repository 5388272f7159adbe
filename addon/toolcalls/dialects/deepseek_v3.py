"""`deepseek_v3`: DeepSeek's form up to V3 and R1, a name on its line and JSON in a fence between special tokens.

Servers replace the tokens' bars by ASCII and their `▁` by a blank or an underscore, gateways take the bars away
(`<tool_call_begin>function<tool_sep>`), and models leave out the outer marks and the fence, or write the outer one in
other words (llama.cpp reads four for R1). The fence is the dialect's own.
"""

import re

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.shapes.words import deepseek_token

ABOUT = About(
    form="header and JSON",
    written_by="DeepSeek V3, R1, their distills and Cogito",
    source="tokenizer_config.json of the models (https://huggingface.co/deepseek-ai/DeepSeek-V3-0324)",
    example="""\
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
```json
{"path": "src/a.ts"}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>""",
)

_SECTIONS = ("<｜tool▁calls｜>", "<｜tool\\_calls\\_begin｜>", "<|tool_calls_begin|>")
_ASCII = "<|tool_call_begin|>function<|tool_sep|>"  # the first half alone is `kimi_k2`'s

DIALECT = Header(
    "deepseek_v3",
    sections=(*deepseek_token("tool calls begin"), *_SECTIONS),
    opening=(*deepseek_token("tool call begin"), *deepseek_token("tool sep", "function"), _ASCII),
    header=re.compile(r"\s*(?P<name>[^\s<>{}`\"]+)\s*(?:```\w*)?\s*(?:```)?\s*"),
    end=(*deepseek_token("tool call end"), "<|tool_call_end|>"),
    closers=(*deepseek_token("tool calls end"), "<|tool_calls_end|>"),
    fences=("```",),
    template=("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"),
    between="\n",
)
