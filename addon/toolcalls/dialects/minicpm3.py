"""`minicpm3`: Python calls on lines of their own, in a fence between markers.

The models write it after a `<|thought_start|>` and its closer. The fence is the dialect's own; the markers are LFM2's
as well (`lfm2`).
"""

from itertools import product

from toolcalls.shapes import About
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    written_by="OpenBMB's MiniCPM3 and MiniCPM4",
    source=(
        "the chat template of https://huggingface.co/openbmb/MiniCPM3-4B, and the training data of MiniCPM4-MCP "
        "at https://github.com/OpenBMB/MiniCPM"
    ),
    example="""\
<|tool_call_start|>
```python
read_file(path="src/a.ts")
```
<|tool_call_end|>""",
)

_START, _END, _FENCE = "<|tool_call_start|>", "<|tool_call_end|>", "```"

DIALECT = Pythonic(
    "minicpm3",
    opening=tuple(f"{_START}{gap}{_FENCE}{info}" for gap, info in product(("\n", "\r\n", ""), ("python", ""))),
    closing=(f"{_FENCE}\n{_END}", f"{_FENCE}\r\n{_END}", f"{_FENCE}{_END}", _FENCE, _END),
    brackets=("\n", "\n"),
    between="\n",
)
