"""`pythonic_tags`: a Python call in Hermes' tags, as prompts for small models teach it (BitNet and the like).

    <tool_call>read_file(path="src/a.ts")</tool_call>

Brackets around the call are read as well.
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic(
    "pythonic_tags",
    opening=("<tool_call>",),
    closing=("</tool_call>",),
    brackets=("", ""),
    between="\n",
    place="line",
)
