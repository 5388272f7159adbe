"""`qwen_tools_tag`: JSON calls in the tag that declares tools.

The same tag holds the declarations, so the objects in it are read as strictly as `bare_json` reads them: with a
description, or a schema for arguments, they are none.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.unmarked_json import UnmarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="Qwen2.5-Coder, which imitates its own system prompt",
    source="omlx #2565, hermes-agent PR#83023",
    example="""\
<tools>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tools>""",
)

DIALECT = UnmarkedJson("qwen_tools_tag", fences=(("<tools>", "</tools>"),), place="line")
