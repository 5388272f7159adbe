"""Where in its Markdown a reply stands: in code, a quote, a comment, reasoning, or in ordinary text.

`position.py` is what others use. It reads text by the state machine in `lines.py`, whose steps are in `line_start.py`
and `line_inside.py`. The state of the line is in `line.py`; what is open around it is in `blocks.py` (containers and
the leaf block) and `inline.py` (inline code, tags). `tokens.py` and `closers.py` hold the marks that open and end a
quotation. Read `position.py` first, then `lines.py`.
"""

from toolcalls.text.markdown.blocks import MAX_DEPTH
from toolcalls.text.markdown.position import MOST_UNREAD, Position

__all__ = ["MAX_DEPTH", "MOST_UNREAD", "Position"]
