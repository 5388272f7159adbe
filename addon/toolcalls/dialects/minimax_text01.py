"""`minimax_text01`: TypeScript in a fence after a tag, one call with its arguments as JSON.

The fence is the dialect's own.
"""

from toolcalls.shapes import About
from toolcalls.shapes.headers.name_in_words import NameInWords

ABOUT = About(
    form="notations",
    written_by="MiniMax-Text-01, MiniMax-VL-01 and MiniMax's models before M1",
    source="the function call guide of https://huggingface.co/MiniMaxAI/MiniMax-Text-01",
    example="""\
<function_call>```typescript
functions.read_file({"path": "src/a.ts"})
```""",
)

_OPENINGS = tuple(f"<function_call>{gap}```typescript" for gap in ("", "\n"))

DIALECT = NameInWords(
    "minimax_text01",
    opening=_OPENINGS,
    label="functions.",
    behind=(("(", (")", "```")),),
    layout=_OPENINGS[0] + "\nfunctions.{name}({json})\n```",
)
