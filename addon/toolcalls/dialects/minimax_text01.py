"""`minimax_text01`: TypeScript in a fence behind a tag, one call with its arguments as JSON.

    <function_call>```typescript
    functions.read_file({"path": "src/a.ts"})
    ```

Written by MiniMax-Text-01, MiniMax-VL-01 and MiniMax's models before M1. The fence is the dialect's own. Source: the
function call guide of https://huggingface.co/MiniMaxAI/MiniMax-Text-01.
"""

from toolcalls.shapes.namedjson import NamedJson

_OPENINGS = tuple(f"<function_call>{gap}```typescript" for gap in ("", "\n"))

DIALECT = NamedJson(
    "minimax_text01",
    opening=_OPENINGS,
    before="functions.",
    behind=(("(", (")", "```")),),
    layout=_OPENINGS[0] + "\nfunctions.{name}({json})\n```",
)
