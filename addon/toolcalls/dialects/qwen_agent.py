"""`qwen_agent`: a name and JSON on lines that begin with marks of their own, as Qwen-Agent taught Qwen and Qwen2.

    ✿FUNCTION✿: read_file
    ✿ARGS✿: {"path": "src/a.ts"}

Generation stops at `✿RESULT✿`, which is left over where no stop word is set; calls in parallel stand one behind the
other. Sources: https://qwen.readthedocs.io/en/latest/framework/function_call.html, https://github.com/QwenLM/Qwen-Agent
(the `qwen` prompt for calls).
"""

from toolcalls.shapes.namedjson import NamedJson

DIALECT = NamedJson(
    "qwen_agent",
    opening=("✿FUNCTION✿:", "✿FUNCTION✿"),
    behind=(("✿ARGS✿:", ()), ("✿ARGS✿", ())),
    layout="✿FUNCTION✿: {name}\n✿ARGS✿: {json}",
)

RESULT = "✿RESULT✿: {text}"
