"""`glaive`: a JSON object behind a tag that nothing closes, with the arguments as a string in single quotes.

    <functioncall> {"name": "read_file", "arguments": '{"path": "src/a.ts"}'}

Written by the many models that were tuned on Glaive's data. Arguments that are an object are read as well, and a
closing tag goes with the call. Source: https://huggingface.co/datasets/glaiveai/glaive-function-calling-v2. Arguments
are written as an object: a quote in the string would end it.
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags("glaive", opening=("<functioncall>",), closing=("</functioncall>",), closed=False, line=" ")

RESULT = "FUNCTION RESPONSE: {text}"
