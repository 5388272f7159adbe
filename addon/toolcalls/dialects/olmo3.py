"""`olmo3`: one Python call on each line of a block.

Values may be spelt as in Python or as in JSON. The wrapper is `invoke`'s as well; the text after it decides.
"""

from toolcalls.shapes import About
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="Olmo 3",
    source="chat_template.jinja of https://huggingface.co/allenai/Olmo-3-7B-Instruct",
    example="""\
<function_calls>read_file(path="src/a.ts")</function_calls>""",
)

DIALECT = Pythonic(
    "olmo3",
    opening=("<function_calls>",),
    closing=("</function_calls>",),
    brackets=("", ""),
    between="\n",
    place="line",
)
