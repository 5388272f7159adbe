"""`hermes`: a JSON object in `<tool_call>` tags, the fallback of every small local model.

    <tool_call>
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}
    </tool_call>

Written by Hermes 2 and 3, Qwen 2.5 and 3 (not the coders), Granite 4, SmolLM3, Trinity, ERNIE and their fine-tunes. The
template is that of https://github.com/NousResearch/Hermes-Function-Calling; `parameters`, `args` and `input` for
`arguments`, and the two other spellings of the tag, are what models make of it.
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags(
    "hermes",
    opening=("<tool_call>", "<toolcall>", "<tool-call>"),
    closing=("</tool_call>", "</toolcall>", "</tool-call>"),
)
