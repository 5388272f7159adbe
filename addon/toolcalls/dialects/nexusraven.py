"""`nexusraven`: Python calls after the word `Call:`, which is the whole message.

A call as the argument of another is no literal, so such a message is no call. Where generation does not stop at
`<bot_end>`, the model goes on with a `Thought:`, and that is text after the call.
"""

from toolcalls.shapes import About, Sign
from toolcalls.shapes.code.pythonic import Pythonic

ABOUT = About(
    form="Python",
    sign=Sign(strength="form", empty=True),
    written_by="NexusRaven 2",
    source="https://huggingface.co/Nexusflow/NexusRaven-V2-13B",
    example="""\
Call: read_file(path="src/a.ts")<bot_end>""",
)

_END = "<bot_end>"

TAUGHT = _END

DIALECT = Pythonic(
    "nexusraven",
    opening=("Call:",),
    closing=(_END,),
    brackets=(" ", ""),
    between="; ",
    place="message",
)
