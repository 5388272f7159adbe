"""`hunyuan_a13b`: a JSON array in `<tool_calls>` tags, inside an answer.

The answer's tags are removed where they are right around the calls; around text they stay, since `<answer>` is also
what people ask models to write.
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="arrays behind a mark",
    written_by="Tencent's Hunyuan-A13B",
    source="vLLM's `hunyuan_a13b` parser (vllm #47901)",
    example="""\
<answer>
<tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>
</answer>""",
)

DIALECT = MarkedJson(
    "hunyuan_a13b",
    opening=("<tool_calls>",),
    closing=("</tool_calls>",),
    around=("<answer>", "</answer>"),
    brackets=("[",),
)
