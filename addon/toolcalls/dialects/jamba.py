"""`jamba`: a JSON array in `<tool_calls>` tags.

    <tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>

Written by AI21's Jamba. Apriel and Hunyuan write the same inside frames of their own (`apriel`, `hunyuan_a13b`); which
of the three is named for a block without such a frame means nothing. Source: vLLM's `jamba` parser.
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList("jamba", opening=("<tool_calls>",), closing=("</tool_calls>",))
