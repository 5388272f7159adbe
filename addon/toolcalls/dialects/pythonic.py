"""`pythonic`: calls as a Python list of calls, which is the whole message.

Arguments have names, values are Python literals.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    sign=Sign(strength="form", empty=True),
    written_by="Llama 3.2 and 4, ToolACE, and small models under a prompt that teaches it",
    source="https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_2/ (zero-shot function calling)",
    example="""\
[read_file(path="src/a.ts")]""",
)

# `[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]`
TAUGHT = r"\[\w+\(\w+=\w+, ?\w+=\w+(?:\.\.\.)?\)"

DIALECT = Pythonic("pythonic", opening=("[",), place="message")
