"""`bare_json`: a JSON object in the open, and nothing else in the message.

Also read: `parameters`, `args` or `input` for the arguments, `tool`, `tool_name` or `function` for the name,
`{"action": N, "action_input": J}` (LangChain's), `{"type": "function", "function": {...}}`, `{"tool_call": {...}}`,
`{"tool_calls": [...]}` (also beside an empty `content`), `{"tool_uses": [{"recipient_name": "functions.N", …}]}`
(OpenAI's `multi_tool_use.parallel`), and several objects on lines or with semicolons between them. An object with any
other key is data, and one whose arguments are a schema declares a tool: neither is a call.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.json.unmarked_json import UnmarkedJson

ABOUT = About(
    form="JSON in the open",
    sign=Sign(strength="form", empty=True),
    written_by=(
        "small models whose server has no template for them, and models under the generic templates of Llama 3, "
        "llama.cpp and Ollama"
    ),
    source="those templates, and public reports",
    example="""\
{"name": "read_file", "arguments": {"path": "src/a.ts"}}""",
)

# `{"name": function name, "parameters": dictionary of argument name and its value}`, as Llama 3.1's template says it
TAUGHT = r'\{"name": [^"{}<\n]+, ?"(?:parameters|arguments)": [^"{}<\n]+\}'

DIALECT = UnmarkedJson(
    "bare_json",
    brackets=("{",),
)
