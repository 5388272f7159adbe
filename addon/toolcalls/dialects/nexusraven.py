"""`nexusraven`: Python calls behind the word `Call:`, which is the whole message.

    Call: read_file(path="src/a.ts"); list_files()<bot_end>

Written by NexusRaven 2. A call as the argument of another is no literal, so such a message is no call. Where generation
does not stop at `<bot_end>`, the model goes on with a `Thought:`, and that is text behind the call. Source:
https://huggingface.co/Nexusflow/NexusRaven-V2-13B.
"""

from toolcalls.shapes.pythonic import Pythonic

_END = "<bot_end>"


class _NexusRaven(Pythonic):
    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call with the token behind it: the word alone stands in any prompt."""
        return _END in text and super().speaks(text)


DIALECT = _NexusRaven(
    "nexusraven",
    opening=("Call:",),
    closing=(_END,),
    brackets=(" ", ""),
    between="; ",
    place="message",
)
