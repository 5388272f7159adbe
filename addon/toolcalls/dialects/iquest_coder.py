"""`iquest_coder`: IQuest Coder V2's form, GLM's pairs in a tag of its own.

Values are taken verbatim, white space between tags means nothing. The older models write another tag (`iquest`).
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="IQuest Coder V2",
    source="vLLM's `iquest_coder_v2` parser",
    example="""\
<iquestcoder_tool_call>read_file
<arg_key>path</arg_key><arg_value>src/a.ts</arg_value>
</iquestcoder_tool_call>""",
)

DIALECT = PairForm("iquest_coder", call="iquestcoder_tool_call", line="\n")
