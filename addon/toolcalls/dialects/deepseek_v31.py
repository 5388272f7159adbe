"""`deepseek_v31`: DeepSeek V3.1's form, name and JSON on either side of one special token.

Servers replace the tokens' bars by ASCII and their `▁` by a blank or an underscore, gateways take the bars away, and
models leave out the outer marks.
"""

import re

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.shapes.words import deepseek_token

ABOUT = About(
    form="header and JSON",
    written_by="DeepSeek V3.1",
    source="the chat template of https://huggingface.co/deepseek-ai/DeepSeek-V3.1",
    example="""\
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "src/a.ts"}<｜tool▁call▁end｜>\
<｜tool▁calls▁end｜>""",
)


def _tokens(word: str) -> tuple[str, ...]:
    """A special token in each spelling, also in the one that is other models' as well: the header tells them apart."""
    return *deepseek_token(word), f"<|{word.replace(' ', '_')}|>"


RESULT = "<｜tool▁output▁begin｜>{text}<｜tool▁output▁end｜>"

DIALECT = Header(
    "deepseek_v31",
    sections=_tokens("tool calls begin"),
    opening=_tokens("tool call begin"),
    header=re.compile(r"\s*(?P<name>[^\s<>{}`\"]+)\s*<[｜|]?tool[▁_ ]sep[｜|]?>\s*(?:```\w*\s*)?"),
    end=_tokens("tool call end"),
    closers=_tokens("tool calls end"),
    fences=("```",),
    template="<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
)
