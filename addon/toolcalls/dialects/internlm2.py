"""`internlm2`: a JSON object between special tokens, addressed to the plugin.

    <|action_start|><|plugin|>{"name": "read_file", "parameters": {"path": "src/a.ts"}}<|action_end|>

Written by InternLM 2 and 2.5 (https://huggingface.co/internlm/internlm2_5-7b-chat). What is addressed to the
interpreter is code and no call. Servers detokenize with a space or line end between the tokens (vllm PR#57551).
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags(
    "internlm2",
    opening=tuple(f"<|action_start|>{gap}<|plugin|>" for gap in ("", " ", "\n", "\r\n")),
    closing=("<|action_end|>",),
    arguments="parameters",
    line="",
    place="anywhere",
)
