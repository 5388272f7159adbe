"""`olmo3`: one Python call on each line of a block.

    <function_calls>read_file(path="src/a.ts")
    list_files()</function_calls>

Written by Olmo 3. Values may be spelt as in Python or as in JSON. The wrapper is `invoke`'s as well; what stands behind
it decides. Source: https://huggingface.co/allenai/Olmo-3-7B-Instruct, chat_template.jinja.
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic(
    "olmo3",
    opening=("<function_calls>",),
    closing=("</function_calls>",),
    brackets=("", ""),
    between="\n",
    place="line",
)
