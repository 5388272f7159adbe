"""`minimax_m1`: JSON objects in `<tool_calls>` tags, one a line."""

from toolcalls.shapes import About, Call
from toolcalls.shapes.jsonlist import JsonList

ABOUT = About(
    form="JSON in tags",
    written_by="MiniMax-M1",
    source="the function call guide of https://huggingface.co/MiniMaxAI/MiniMax-M1-80k",
    example="""\
<tool_calls>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
{"name": "list_files", "arguments": {}}
</tool_calls>""",
    calls=(
        Call("read_file", '{"path": "src/a.ts"}'),
        Call("list_files", "{}"),
    ),
    since="0.1.0",
)

DIALECT = JsonList("minimax_m1", opening=("<tool_calls>",), closing=("</tool_calls>",), first=("{",), line="\n")
