"""`gigachat35`: GigaChat 3.5's form, that of DeepSeek V4 with a token of its own.

Read with the same freedom as DeepSeek's: other bars, other names of the wrapper, an object in place of parameters.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.token_tags import token_tags

ABOUT = About(
    form="invoke",
    written_by="Sber's GigaChat 3.5",
    source="the model's chat template",
    example="""\
<｜GCML｜tool_calls>
<｜GCML｜invoke name="read_file">
<｜GCML｜parameter name="path" string="true">src/a.ts</｜GCML｜parameter>
</｜GCML｜invoke>
</｜GCML｜tool_calls>""",
)

DIALECT = token_tags("gigachat35", "GCML")
