"""`granite_20b_fc`: a JSON object after a tag that nothing closes, once for each call.

A closing tag, which others add, is removed with the call.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="IBM's granite-20b-functioncalling",
    source="https://huggingface.co/ibm-granite/granite-20b-functioncalling",
    example="""\
<function_call> {"name": "read_file", "arguments": {"path": "src/a.ts"}}""",
)

DIALECT = MarkedJson(
    "granite_20b_fc", opening=("<function_call>",), closing=("</function_call>",), closed=False, line=" "
)
