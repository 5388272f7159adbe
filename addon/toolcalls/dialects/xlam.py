"""`xlam`: a JSON array of calls, bare or in a fence.

The model writes it right after its reasoning, too. Both forms have a dialect of their own as well (`json_array`,
`fenced_json`); this one is for a route that reads xLAM alone. In a `<tool_call>` its array is read by `granite3`,
after `[TOOL_CALLS]` by `mistral`: who names this one means both.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="form", empty=True),
    written_by="Salesforce's xLAM 2",
    source="https://huggingface.co/Salesforce/Llama-xLAM-2-8b-fc-r",
    example="""\
[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]""",
)

DIALECT = UnmarkedJson("xlam", fences=(("", ""), ("```json", "```"), ("```", "```")), brackets=("[",))
