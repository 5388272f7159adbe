"""`olmo3`: one Python call on each line of a block.

Values may be spelt as in Python or as in JSON. The wrapper is `invoke`'s as well; the text behind it decides.
"""

from toolcalls.shapes import About, Call
from toolcalls.shapes.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="Olmo 3",
    source="chat_template.jinja of https://huggingface.co/allenai/Olmo-3-7B-Instruct",
    example="""\
<function_calls>read_file(path="src/a.ts")
list_files()</function_calls>""",
    calls=(
        Call("read_file", '{"path": "src/a.ts"}'),
        Call("list_files", "{}"),
    ),
    since="0.1.0",
)

DIALECT = Pythonic(
    "olmo3",
    opening=("<function_calls>",),
    closing=("</function_calls>",),
    brackets=("", ""),
    between="\n",
    place="line",
)
