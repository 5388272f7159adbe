"""`plamo3`: PLaMo 3's form, requests within requests, each part between two marks of its own.

All of it stands on one line; `<|plamo:constrain|>json` may be missing. Each mark is several of the model's tokens.
"""

import re

from toolcalls.shapes import About
from toolcalls.shapes.header import Header

ABOUT = About(
    form="header and JSON",
    since="0.1.0",
    written_by="Preferred Networks' PLaMo 3",
    source="the models' chat template (https://huggingface.co/pfnet)",
    example="""\
<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>read_file\
<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json\
<|plamo:msg|>{"path": "src/a.ts"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>\
<|plamo:end_tool_requests:plamo|>""",
)


def _mark(word: str) -> str:
    return f"<|plamo:{word}:plamo|>"


_HEADER = (
    rf"\s*(?P<name>[^\s<>{{}}\"]+)\s*{re.escape(_mark('end_tool_name'))}\s*"
    rf"(?:{re.escape(_mark('begin_tool_arguments'))})?\s*(?:<\|plamo:constrain\|>\s*json\s*)?(?:<\|plamo:msg\|>)?\s*"
    rf"(?:{re.escape(_mark('end_tool_arguments'))}\s*)?"  # at once where there are none
)

DIALECT = Header(
    "plamo3",
    sections=(_mark("begin_tool_requests"),),
    opening=(_mark("begin_tool_request"), _mark("begin_tool_name")),
    header=re.compile(_HEADER),
    end=(_mark("end_tool_request"),),
    closers=(_mark("end_tool_requests"),),
    fences=(_mark("end_tool_arguments"),),
    template=(
        f"{_mark('begin_tool_request')}{_mark('begin_tool_name')}{{name}}{_mark('end_tool_name')}"
        f"{_mark('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>{{arguments}}"
        f"{_mark('end_tool_arguments')}{_mark('end_tool_request')}"
    ),
)
