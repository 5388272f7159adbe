"""`deepseek_v3`: DeepSeek's form up to V3 and R1, a name on its line and JSON in a fence between special tokens.

Servers replace the tokens' bars by ASCII, gateways take them away (`<tool_call_begin>function<tool_sep>`), and models
leave out the outer marks and the fence, or write the outer one in other words (llama.cpp reads four for R1). The fence
is the dialect's own.
"""

import re

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_header import Header

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

_BARS = (("<｜", "▁", "｜>"), ("<|", "▁", "|>"), ("<", "_", ">"))
_SECTIONS = (
    "<｜tool▁calls｜>",
    "<｜tool calls begin｜>",
    "<｜tool\\_calls\\_begin｜>",
    "<｜tool_calls_begin｜>",
    "<|tool_calls_begin|>",
)
_ASCII = "<|tool_call_begin|>function<|tool_sep|>"  # the first half alone is `kimi_k2`'s


def _tokens(before: str, token: str) -> tuple[str, ...]:
    """A special token in each spelling, the model's own first."""
    return tuple(f"{before}{left}{token.replace(' ', blank)}{right}" for left, blank, right in _BARS)


DIALECT = Header(
    "deepseek_v3",
    sections=(*_tokens("", "tool calls begin"), *_SECTIONS),
    opening=(*_tokens("", "tool call begin"), *_tokens("function", "tool sep"), _ASCII),
    header=re.compile(r"\s*(?P<name>[^\s<>{}`\"]+)\s*(?:```\w*)?\s*(?:```)?\s*"),
    end=(*_tokens("", "tool call end"), "<|tool_call_end|>"),
    closers=(*_tokens("", "tool calls end"), "<|tool_calls_end|>", "<｜tool_calls_end｜>"),
    fences=("```",),
    template=("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"),
    between="\n",
)
