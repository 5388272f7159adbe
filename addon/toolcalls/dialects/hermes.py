"""`hermes`: a JSON object in `<tool_call>` tags, the fallback of every small local model.

    <tool_call>
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}
    </tool_call>

Written by Hermes 2 and 3, Qwen 2.5 and 3 (not the coders), Granite 4, SmolLM3, Trinity, ERNIE 4.5 and their fine-tunes.
The template is that of https://github.com/NousResearch/Hermes-Function-Calling; other keys (`tool_name`, `parameters`,
`args`, `input`), a `function` around both, attributes on the tag (tinyagents PR#76), its two other spellings and the
closing tags of other forms (foundry-local PR#1060), a code fence around the object, an array of objects and a
`<tool_calls>` around all of them are what models make of it. `<|tool_call|>` is Granite's and Phi's token, which stands
before an array as a rule (`granite3`).
"""

from toolcalls.shapes.jsontags import JsonTags

DIALECT = JsonTags(
    "hermes",
    opening=("<tool_call>", "<toolcall>", "<tool-call>", "<|tool_call|>"),
    closing=("</tool_call>", "</toolcall>", "</tool-call>", "<|/tool_call|>"),
    wrong=("</arg_value>", "</think>"),
    attributed="<tool_call ",
    around=("<tool_calls>", "</tool_calls>"),
)
RESULT = "<tool_response>\n{text}\n</tool_response>"
