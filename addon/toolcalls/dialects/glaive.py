"""`glaive`: a JSON object after a tag that nothing closes, with the arguments as a string in single quotes.

Arguments that are an object are read as well, and a closing tag is removed with the call. Arguments are written as an
object: a quote in the string would end it.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="the many models that were tuned on Glaive's data",
    source="https://huggingface.co/datasets/glaiveai/glaive-function-calling-v2",
    example="""\
<functioncall> {"name": "read_file", "arguments": '{"path": "src/a.ts"}'}""",
)

DIALECT = MarkedJson("glaive", opening=("<functioncall>",), closing=("</functioncall>",), closed=False, line=" ")

RESULT = "FUNCTION RESPONSE: {text}"
