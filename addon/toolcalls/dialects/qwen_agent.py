"""`qwen_agent`: a name and JSON on lines that begin with marks of their own, as Qwen-Agent taught Qwen and Qwen2.

Generation stops at `✿RESULT✿`, which is left over where no stop word is set. Parallel calls follow one another.
"""

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_words import NameInWords

ABOUT = About(
    form="agents and gateways",
    written_by="Qwen and Qwen2 under Qwen-Agent's prompt",
    source=(
        "https://qwen.readthedocs.io/en/latest/framework/function_call.html, https://github.com/QwenLM/Qwen-Agent "
        "(the `qwen` prompt for calls)"
    ),
    example="""\
✿FUNCTION✿: read_file
✿ARGS✿: {"path": "src/a.ts"}""",
)

DIALECT = NameInWords(
    "qwen_agent",
    opening=("✿FUNCTION✿:", "✿FUNCTION✿"),
    behind=(("✿ARGS✿:", ()), ("✿ARGS✿", ())),
    layout="✿FUNCTION✿: {name}\n✿ARGS✿: {json}",
)

RESULT = "✿RESULT✿: {text}"
