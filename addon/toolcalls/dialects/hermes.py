"""`hermes`: a JSON object in `<tool_call>` tags, the fallback of every small local model.

Models vary it, and these variants are read, too: other keys (`tool_name`, `parameters`, `args`, `input`), a `function`
around both, attributes on the tag (tinyagents PR#76), its two other spellings and the closing tags of other forms
(foundry-local PR#1060), a code fence around the object, an array of objects and a `<tool_calls>` around all of them.
`<|tool_call|>` is Granite's and Phi's token, which comes before an array as a rule (`granite3`).
"""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by=(
        "Hermes 2 and 3, Qwen 2.5 and 3 (not the coders), Granite 4, SmolLM3, Trinity, ERNIE 4.5 and their fine-tunes"
    ),
    source="the template of https://github.com/NousResearch/Hermes-Function-Calling",
    example="""\
<tool_call>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
</tool_call>""",
)

DIALECT = MarkedJson(
    "hermes",
    opening=("<tool_call>", "<toolcall>", "<tool-call>", "<|tool_call|>"),
    closing=("</tool_call>", "</toolcall>", "</tool-call>", "<|/tool_call|>"),
    wrong=("</arg_value>", "</think>"),
    attributed="<tool_call ",
    around=("<tool_calls>", "</tool_calls>"),
    line="\n",
)
RESULT = "<tool_response>\n{text}\n</tool_response>"
