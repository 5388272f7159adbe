"""`gigachat35`: GigaChat 3.5's form, that of DeepSeek V4 with a token of its own.

    <｜GCML｜tool_calls>
    <｜GCML｜invoke name="read_file">
    <｜GCML｜parameter name="path" string="true">src/a.ts</｜GCML｜parameter>
    </｜GCML｜invoke>
    </｜GCML｜tool_calls>

Read with the same freedom as DeepSeek's: other bars, other names of the wrapper, an object in place of parameters.
Source: the model's chat template.
"""

from toolcalls.shapes.tokentag import BARS, Marked, TokenTag

DIALECT = TokenTag(
    "gigachat35",
    wrappers=("tool_calls", "function_calls", "toolcalls", "tool", "calls"),
    prefix=(BARS, "GCML", BARS),
    token="GCML",
    content=Marked(),
    hollow="\n",
    place="anywhere",
)
