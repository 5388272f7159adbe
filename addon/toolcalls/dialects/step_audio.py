"""`step_audio`: a tag that says `function`, a name on its line and raw JSON."""

import re

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_header import Header

ABOUT = About(
    form="header and JSON",
    written_by="StepFun's Step-Audio 2",
    source=(
        "https://github.com/stepfun-ai/Step-Audio2 (its chat template, and the `step_audio_2` parser of the "
        "servers that it names)"
    ),
    example="""\
<tool_call>function
read_file
{"path": "src/a.ts"}</tool_call>""",
)

_OPENING = "<tool_call>function\n"

DIALECT = Header(
    "step_audio",
    opening=(_OPENING, _OPENING.replace("\n", "\r\n")),
    header=re.compile(r"\s*(?P<name>[^\s<>{}\"]+)\s*"),
    end=("</tool_call>",),
    template=_OPENING + "{name}\n{arguments}</tool_call>",
    between="\n",
    place="line",
)
