"""`flattened_history`: a past call told in three lines, which a model then imitates.

    [Previous assistant tool use]
    Tool: read_file
    Input: {"path": "src/a.ts"}

Source: Memoh #446, where another wording only changed what the model imitated.
"""

from toolcalls.shapes.namedjson import NamedJson

DIALECT = NamedJson(
    "flattened_history",
    opening=("[Previous assistant tool use]",),
    before="Tool:",
    behind=(("Input:", ()),),
    layout="[Previous assistant tool use]\nTool: {name}\nInput: {json}",
)
