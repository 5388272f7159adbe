"""`gigachat3`: a JSON object under a role of its own, in messages that special tokens part.

The text before the call ends at `<|message_sep|>`. The object is read after `<|function_call|>`, too.
"""

from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="Sber's GigaChat 3",
    source="vLLM's `gigachat3` parser",
    example="""\
function call<|role_sep|>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}""",
)

_SEPARATOR = "<|message_sep|>"


@dataclass(frozen=True)
class _GigaChat(MarkedJson):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """A call, or the end of a message, which goes."""
        if (yield from scan.starts(_SEPARATOR)):
            space = yield from scan.space(len(_SEPARATOR))
            if (yield from scan.among(self.opening, space)) is None:
                if not sink.may_remove_frame():
                    return False
                scan.take(len(_SEPARATOR))
                sink.mark_frame()
                return True
        return (yield from super().read(scan, sink, tools))


DIALECT = _GigaChat(
    "gigachat3",
    opening=("function call<|role_sep|>", "<|function_call|>"),
    closing=(_SEPARATOR,),
    around=(_SEPARATOR, ""),
    closed=False,
    place="anywhere",
    line="\n",
)
