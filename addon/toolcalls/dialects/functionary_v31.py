"""`functionary_v31`: a tag that carries the name, around the arguments as JSON.

Llama also leaves the tag open (`<function=read_file{"path": "src/a.ts"}></function>`), as `failed_generation` in errors
of Groq's API shows it. With parameters in tags of their own it is `qwen3_xml`.
"""

import re

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.headers.name_in_tag import NameInTag
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="MeetKai's Functionary 3.1, and Llama 3.1 for custom tools",
    source="https://github.com/MeetKai/functionary",
    example="""\
<function=read_file>{"path": "src/a.ts"}</function>""",
)

_OPEN = re.compile(r"[\w.:/@-]++ ?[=(,]? ?")


class _Element(NameInTag):
    """The element, and what is left of it where its opening tag has no bracket."""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        head = yield from word(scan, _OPEN, len(self.start))
        if not head or not (yield from scan.starts("{", len(self.start) + len(head))):
            return (yield from super().read(scan, sink, tools))
        scan.take(len(self.start) + len(head))
        return (yield from self._call(scan, sink, head.rstrip(" =(,")))

    def _between(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """The brackets that close the tag after the object."""
        for literal in (")", ">"):
            if (yield from accept(scan, literal)):
                sink.note_repair("unclosed_tag")


DIALECT = _Element("functionary_v31", start="<function=", closing="</function>")
