"""Tools that a prompt declares in prose, as agents do that write their calls as text.

Read: the Cline family's sections (`## read_file`, `Description: …`, `Parameters:`, `- path: (required) …`). All their
parameters are strings.
"""

import re

from toolcalls.request import Tool

_SECTION = re.compile(r"^#{2,3} ([A-Za-z_][\w.-]*)[ \t]*$", re.MULTILINE)
_PARAMETERS = re.compile(r"^Parameters:[ \t]*(?:None)?[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"^- ([A-Za-z_][\w.-]*): ?\((required|optional)\)", re.MULTILINE)


def tools_in(prompt: str) -> tuple[Tool, ...]:
    """The tools that `prompt` declares, in its order; () for a prompt that declares none in a form known here."""
    heads = list(_SECTION.finditer(prompt))
    found = []
    ends = [*(head.start() for head in heads[1:]), len(prompt)]
    for head, end in zip(heads, ends, strict=False):
        section = prompt[head.end() : end]
        start = _PARAMETERS.search(section)
        if start is None:
            continue
        parameters = _PARAMETER.findall(section, start.end())
        schema = {
            "type": "object",
            "properties": {key: {"type": "string"} for key, _ in parameters},
            "required": [key for key, need in parameters if need == "required"],
        }
        found.append(Tool(head[1], schema))
    return tuple(found)
