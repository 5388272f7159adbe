"""`deepseek_dsml`: DeepSeek's form from V3.2 on, `invoke` with a special token in each tag.

V3.2 calls the wrapper `function_calls`, V4 `tool_calls`, V4.1 `calls` and puts a space after the token; servers and
transcripts double, replace or drop the token's bars, or put blanks around them. All of these are read, V4's is written.
The schema says what a value is; where it says nothing, or allows strings beside something else, the attribute `string`
does. Values are taken verbatim. An object in place of the parameters, arguments wrapped in `arguments` or `input`, and
a call's tag that says `parameter` (opencode #50206) are read too.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.token_tags import token_tags

ABOUT = About(
    form="invoke",
    written_by="DeepSeek V3.2, V4 and V4.1",
    source="encoding/encoding_dsv32.py at https://huggingface.co/deepseek-ai/DeepSeek-V3.2",
    example="""\
<｜DSML｜tool_calls>
<｜DSML｜invoke name="read_file">
<｜DSML｜parameter name="path" string="true">src/a.ts</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜tool_calls>""",
)

DIALECT = token_tags("deepseek_dsml", "DSML")

RESULT = "<tool_result>{text}</tool_result>"
