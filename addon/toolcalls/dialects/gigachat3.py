"""`gigachat3`: a JSON object under a role of its own, in messages that special tokens part.

    function call<|role_sep|>
    {"name": "read_file", "arguments": {"path": "src/a.ts"}}

Written by Sber's GigaChat 3, whose text before the call ends at `<|message_sep|>`; also behind `<|function_call|>`.
Source: vLLM's `gigachat3` parser.
"""

from dataclasses import dataclass

from toolcalls.shapes import Calls
from toolcalls.shapes.jsontags import JsonTags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_SEPARATOR = "<|message_sep|>"


@dataclass(frozen=True)
class _GigaChat(JsonTags):
    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """A call, or the end of a message, which goes."""
        if (yield from scan.starts(_SEPARATOR)):
            space = yield from scan.space(len(_SEPARATOR))
            if (yield from scan.among(self.opening, space)) is None:
                if not calls.framed():
                    return False
                scan.take(len(_SEPARATOR))
                calls.layout()
                return True
        return (yield from super().read(scan, calls, tools))


DIALECT = _GigaChat(
    "gigachat3",
    opening=("function call<|role_sep|>", "<|function_call|>"),
    closing=(_SEPARATOR,),
    around=(_SEPARATOR, ""),
    closed=False,
    place="anywhere",
)
