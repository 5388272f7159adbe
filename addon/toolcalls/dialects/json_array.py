"""`json_array`: a JSON array of calls in the open, and nothing else in the message.

Its objects are read as those of `bare_json` are, and every one must be a call.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="form", empty=True),
    written_by="models that were trained on several forms of it, where a server has no template for them",
    source="public reports",
    example="""\
[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]""",
)

DIALECT = UnmarkedJson("json_array", brackets=("[",))
