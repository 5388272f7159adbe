"""`granite_20b_fc`: a JSON object behind a tag that nothing closes, once for each call.

    <function_call> {"name": "read_file", "arguments": {"path": "src/a.ts"}}

Written by IBM's granite-20b-functioncalling (https://huggingface.co/ibm-granite/granite-20b-functioncalling). A closing
tag, which others add, goes with the call.
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags(
    "granite_20b_fc", opening=("<function_call>",), closing=("</function_call>",), closed=False, line=" "
)
