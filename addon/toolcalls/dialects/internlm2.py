"""`internlm2`: a JSON object between special tokens, addressed to the plugin.

What is addressed to the interpreter is code and no call. Servers detokenize with a space or line end between the tokens
(vllm PR#57551).
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="InternLM 2 and 2.5",
    source="https://huggingface.co/internlm/internlm2_5-7b-chat",
    example="""\
<|action_start|><|plugin|>{"name": "read_file", "parameters": {"path": "src/a.ts"}}<|action_end|>""",
)

DIALECT = MarkedJson(
    "internlm2",
    opening=tuple(f"<|action_start|>{gap}<|plugin|>" for gap in ("", " ", "\n", "\r\n")),
    closing=("<|action_end|>",),
    arguments="parameters",
    place="anywhere",
)
