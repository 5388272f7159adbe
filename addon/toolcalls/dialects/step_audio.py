"""`step_audio`: a tag that says `function`, a name on its line and raw JSON.

    <tool_call>function
    read_file
    {"path": "src/a.ts"}</tool_call>

Written by StepFun's Step-Audio 2. Sources: https://github.com/stepfun-ai/Step-Audio2 (its chat template and the
`step_audio_2` tool parser of the servers that it names).
"""

import re

from toolcalls.shapes.header import Header

_OPENING = "<tool_call>function\n"

DIALECT = Header(
    "step_audio",
    opening=(_OPENING,),
    header=re.compile(r"\s*(?P<name>[^\s<>{}\"]+)\s*"),
    end=("</tool_call>",),
    template=_OPENING + "{name}\n{arguments}</tool_call>",
    shows=(_OPENING,),
    between="\n",
    place="line",
)
