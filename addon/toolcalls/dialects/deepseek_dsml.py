"""`deepseek_dsml`: DeepSeek's form from V3.2 on, `invoke` with a special token in each tag.

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="read_file">
    <｜DSML｜parameter name="path" string="true">src/a.ts</｜DSML｜parameter>
    <｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

V3.2 calls the wrapper `function_calls`, V4 `tool_calls`, V4.1 `calls` and puts a space behind the token; servers and
transcripts double, replace or drop the token's bars. All of these are read, V4's is written. Whether a value is a
string is said in the text and holds whatever the schema says; without `string` the schema decides. Values stand as
they are. An object in place of the parameters, arguments wrapped in `arguments` or `input`, and a call's tag that says
`parameter` (opencode #50206) are read too. Source: encoding/encoding_dsv32.py at
https://huggingface.co/deepseek-ai/DeepSeek-V3.2.
"""

from toolcalls.shapes.tokentag import BARS, Marked, TokenTag

DIALECT = TokenTag(
    "deepseek_dsml",
    wrappers=("tool_calls", "function_calls", "toolcalls", "tool", "calls"),
    prefix=(BARS, "DSML", BARS),
    token="DSML",
    content=Marked(),
    hollow="\n",
    place="anywhere",
)

RESULT = "<tool_result>{text}</tool_result>"
