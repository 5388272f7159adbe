"""`json_array`: a JSON array of calls in the open, and nothing else in the message.

    [{"name": "read_file", "arguments": {"path": "src/a.ts"}}]

What models write that were trained on several forms of it, when a server has no template for them. Its objects are
read as those of `bare_json` are, and every one must be a call.
"""

from toolcalls.shapes.openjson import OpenJson

DIALECT = OpenJson("json_array", brackets=("[",))
