"""`xlam`: a JSON array of calls, bare or in a fence.

    [{"name": "read_file", "arguments": {"path": "src/a.ts"}}]

Written by Salesforce's xLAM 2 (https://huggingface.co/Salesforce/Llama-xLAM-2-8b-fc-r), also right behind its
reasoning. Both forms have a dialect of their own too (`json_array`, `fenced_json`); this one is for a route that reads
xLAM alone. In a `<tool_call>` its array is read by `granite3`, behind `[TOOL_CALLS]` by `mistral`: who names this one
means both.
"""

from toolcalls.shapes.openjson import OpenJson

DIALECT = OpenJson("xlam", fences=(("", ""), ("```json", "```"), ("```", "```")), brackets=("[",))
