"""`gemma3_tool_code`: Python in a fence of its own, as Gemma 3 and Gemini write it when they are told of no format.

    ```tool_code
    print(default_api.read_file(path="src/a.ts"))
    ```

`print` and `default_api` may be missing; several calls stand on lines of their own; Gemini also writes `<tool_code>`
tags in place of the fence. Source: https://ai.google.dev/gemma/docs/capabilities/function-calling and what Gemini
prints as text.
"""

from toolcalls.shapes.pythonic import Pythonic

DIALECT = Pythonic(
    "gemma3_tool_code",
    opening=("```tool_code", "<tool_code>"),
    closing=("```", "</tool_code>"),
    brackets=("\n", "\n"),
    between="\n",
    around=("print(", ")"),
    module="default_api.",
    place="message",
)
