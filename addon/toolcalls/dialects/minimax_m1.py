"""`minimax_m1`: JSON objects in `<tool_calls>` tags, one a line.

    <tool_calls>
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}
    {"name": "list_files", "arguments": {}}
    </tool_calls>

Written by MiniMax-M1. Source: the model's function call guide (https://huggingface.co/MiniMaxAI/MiniMax-M1-80k).
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList("minimax_m1", opening=("<tool_calls>",), closing=("</tool_calls>",), first=("{",), line="\n")
