"""`minimax_m2`: MiniMax-M2's form, `invoke` in a wrapper of its own.

Names may lack their quotes. Values are taken verbatim: no line end is layout, nothing is decoded. Without the wrapper
it is `invoke`.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tag_patterns import FOREIGN_PREFIXES

ABOUT = About(
    form="invoke",
    written_by="MiniMax-M2 and M2.x, where the server does not convert it",
    source="chat_template.jinja of https://huggingface.co/MiniMaxAI/MiniMax-M2",
    example="""\
<minimax:tool_call>
<invoke name="read_file">
<parameter name="path">src/a.ts</parameter>
</invoke>
</minimax:tool_call>""",
)

DIALECT = TagForm(
    "minimax_m2",
    wrappers=("minimax:tool_call",),
    foreign=FOREIGN_PREFIXES,
    content=Verbatim(),
    bare=False,
    hollow="\n",
)

RESULT = "<response>{text}</response>"
