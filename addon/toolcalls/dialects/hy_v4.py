"""`hy_v4`: Tencent's Hy4, which writes as Hy3 does but for the separator after the name.

Values are taken verbatim, and any tag may carry a suffix of the model's tokenizer. Without the wrapper a call is
`glm_xml`'s.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="Tencent's Hy4",
    source="the model's chat template",
    example="""\
<tool_calls>
<tool_call>read_file
<arg_key>path</arg_key>
<arg_value>src/a.ts</arg_value>
</tool_call>
</tool_calls>""",
)

DIALECT = PairForm("hy_v4", wrapper="tool_calls", suffixed=True, line="\n")

RESULT = "<tool_responses>\n<tool_response>\n{text}\n</tool_response>\n</tool_responses>"
