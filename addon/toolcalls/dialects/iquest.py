"""`iquest`: IQuest's form, GLM's pairs in a tag of its own.

Values are taken verbatim, white space between tags means nothing.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="IQuest's models",
    source="the model's chat template",
    example="""\
<iquest_tool_call>read_file<arg_key>path</arg_key><arg_value>src/a.ts</arg_value></iquest_tool_call>""",
)

DIALECT = PairForm("iquest", call="iquest_tool_call")
