"""`hy_v3`: Tencent's Hy3, GLM's pairs after a separator and in a wrapper.

Values are taken verbatim. Any tag may carry a suffix of the model's tokenizer (`<tool_calls:opensource>`), and the
wrapper may be missing.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="Tencent's Hy3",
    source="the model's chat template",
    example="""\
<tool_calls>
<tool_call>read_file<tool_sep>
<arg_key>path</arg_key>
<arg_value>src/a.ts</arg_value>
</tool_call>
</tool_calls>""",
)

DIALECT = PairForm("hy_v3", wrapper="tool_calls", bare=True, separator="tool_sep", suffixed=True, line="\n")

RESULT = "<tool_responses>\n<tool_response>\n{text}\n</tool_response>\n</tool_responses>"
