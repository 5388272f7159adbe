"""`minimax_m2`: MiniMax-M2's form, `invoke` in a wrapper of its own.

    <minimax:tool_call>
    <invoke name="read_file">
    <parameter name="path">src/a.ts</parameter>
    </invoke>
    </minimax:tool_call>

Written by MiniMax-M2 and M2.x where the server does not convert it. Names may lack their quotes. Values stand as they
are: no line end is layout, nothing is decoded. Without the wrapper it is `invoke`. Source: the model's chat template
(https://huggingface.co/MiniMaxAI/MiniMax-M2, chat_template.jinja).
"""

from toolcalls.shapes.attributed import Attributed
from toolcalls.shapes.content import Verbatim

DIALECT = Attributed("minimax_m2", wrappers=("minimax:tool_call",), content=Verbatim(), bare=False, hollow="\n")

RESULT = "<response>{text}</response>"
