"""`gemini_tool_code`: what Gemini prints as text where its API fails to make a call of it.

    [tool_code:read_file{path:<ctrl46>src/a.ts<ctrl46>}]

`<ctrl46>` is the token that strings stand between. Seen in google-gemini/gemini-cli #9346.
"""

from toolcalls.shapes.keyed import Keyed

DIALECT = Keyed(
    "gemini_tool_code",
    opening=("[tool_code:",),
    closing=("]",),
    delimiter="<ctrl46>",
    before="",
    place="line",
)
