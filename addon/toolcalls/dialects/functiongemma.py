"""`functiongemma`: FunctionGemma's notation, the forerunner of Gemma 4's."""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.code.delimited_object import DelimitedObject

ABOUT = About(
    form="notations",
    sign=Sign(rests=("call:",), alone=True),
    written_by="Google's FunctionGemma",
    source="https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices",
    example="""\
<start_function_call>call:read_file{path:<escape>src/a.ts<escape>}<end_function_call>""",
)

RESULT = "<start_function_response>response:{name}{value:<escape>{text}<escape>}<end_function_response>"

DIALECT = DelimitedObject(
    "functiongemma",
    opening=("<start_function_call>",),
    closing=("<end_function_call>",),
    delimiter="<escape>",
)
