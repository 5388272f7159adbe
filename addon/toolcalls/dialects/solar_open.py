"""`solar_open`: Upstage's Solar Open, an id, a name and raw JSON between special tokens.

The mark `<|tool_calls|>` may come before the first call and `<|calls|>` after the last one.
"""

import re

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_header import Header

ABOUT = About(
    form="header and JSON",
    written_by="Upstage's Solar Open",
    source="the chat template of https://huggingface.co/upstage/Solar-Open-100B",
    example="""\
<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>read_file<|tool_call:args|>{"path": "src/a.ts"}<|tool_call:end|>""",
)

DIALECT = Header(
    "solar_open",
    sections=("<|tool_calls|>",),
    opening=("<|tool_call:begin|>",),
    header=re.compile(r"[^<>{}\"]*<\|tool_call:name\|>\s*(?P<name>[^\s<>{}\"]+)\s*(?:<\|tool_call:args\|>)?\s*"),
    end=("<|tool_call:end|>",),
    closers=("<|calls|>",),
    template="<|tool_call:begin|>call{index}<|tool_call:name|>{name}<|tool_call:args|>{arguments}<|tool_call:end|>",
)
