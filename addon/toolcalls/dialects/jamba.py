"""`jamba`: a JSON array in `<tool_calls>` tags.

Apriel and Hunyuan write the same inside frames of their own (`apriel`, `hunyuan_a13b`); which of the three is named for
a block without such a frame means nothing.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="AI21's Jamba",
    source="vLLM's `jamba` parser",
    example="""\
<tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>""",
)

DIALECT = MarkedJson("jamba", opening=("<tool_calls>",), closing=("</tool_calls>",), brackets=("[",))
