"""`function_elements`: `function` and `parameter` elements that carry their names in attributes.

The wrapper is Qwen's or Claude's, or missing. With `param` in the place of `parameter` it is `minicpm5`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tag_patterns import FOREIGN_PREFIXES

ABOUT = About(
    form="invoke",
    written_by="models that know both Qwen's form and Claude's",
    source="no model's template; public reports",
    example="""\
<tool_call>
<function name="read_file">
<parameter name="path">src/a.ts</parameter>
</function>
</tool_call>""",
)

DIALECT = TagForm(
    "function_elements",
    wrappers=("tool_call", "tool_calls", "function_calls"),
    call="function",
    foreign=FOREIGN_PREFIXES,
    opened_by=("name",),
)
