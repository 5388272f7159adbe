"""`functiongemma`: FunctionGemma's notation, the forerunner of Gemma 4's.

    <start_function_call>call:read_file{limit:20,path:<escape>src/a.ts<escape>}<end_function_call>

Source: https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices.
"""

from toolcalls.shapes.keyed import Keyed

RESULT = "<start_function_response>response:{name}{value:<escape>{text}<escape>}<end_function_response>"

DIALECT = Keyed(
    "functiongemma",
    opening=("<start_function_call>",),
    closing=("<end_function_call>",),
    delimiter="<escape>",
)
