"""`gemini_tool_code`: what Gemini prints as text where its API fails to make a call of it.

`<ctrl46>` is the token around strings.
"""

from toolcalls.shapes import About
from toolcalls.shapes.code.delimited_object import DelimitedObject

ABOUT = About(
    form="notations",
    written_by="Gemini, where its API fails to convert a call",
    source="google-gemini/gemini-cli #9346",
    example="""\
[tool_code:read_file{path:<ctrl46>src/a.ts<ctrl46>}]""",
)

DIALECT = DelimitedObject(
    "gemini_tool_code",
    opening=("[tool_code:",),
    closing=("]",),
    delimiter="<ctrl46>",
    before="",
    place="line",
)
