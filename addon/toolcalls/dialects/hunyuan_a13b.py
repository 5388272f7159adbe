"""`hunyuan_a13b`: a JSON array in `<tool_calls>` tags, inside an answer.

    <answer>
    <tool_calls>[{"name": "read_file", "arguments": {"path": "src/a.ts"}}]</tool_calls>
    </answer>

Written by Tencent's Hunyuan-A13B. The answer's tags go where they stand right around the calls; around text they stay,
since `<answer>` is also what people ask models to write. Source: vLLM's `hunyuan_a13b` parser (vllm #47901).
"""

from toolcalls.shapes.jsonlist import JsonList

DIALECT = JsonList(
    "hunyuan_a13b", opening=("<tool_calls>",), closing=("</tool_calls>",), around=("<answer>", "</answer>")
)
