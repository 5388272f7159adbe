"""`pythonic_tags`: a Python call in Hermes' tags, as prompts for small models teach it (BitNet and the like).

Brackets around the call are read as well.
"""

from toolcalls.shapes import About
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="small models under prompts that teach it, BitNet's and the like",
    source="those prompts, and public reports",
    example="""\
<tool_call>read_file(path="src/a.ts")</tool_call>""",
)

DIALECT = Pythonic(
    "pythonic_tags",
    opening=("<tool_call>",),
    closing=("</tool_call>",),
    brackets=("", ""),
    between="\n",
    place="line",
)
