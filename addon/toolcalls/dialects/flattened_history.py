"""`flattened_history`: a past call described in three lines, which a model then imitates.

In that report another wording only changed what the model imitated.
"""

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_words import NameInWords

ABOUT = About(
    form="agents and gateways",
    written_by="models that imitate a history that was flattened like this",
    source="Memoh #446",
    example="""\
[Previous assistant tool use]
Tool: read_file
Input: {"path": "src/a.ts"}""",
)

DIALECT = NameInWords(
    "flattened_history",
    opening=("[Previous assistant tool use]",),
    label="Tool:",
    behind=(("Input:", ()),),
    layout="[Previous assistant tool use]\nTool: {name}\nInput: {json}",
)
