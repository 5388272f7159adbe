"""`functionary_v31`: a tag that carries the name, around the arguments as JSON.

    <function=read_file>{"path": "src/a.ts"}</function>

Written by MeetKai's Functionary 3.1, and by Llama 3.1 for custom tools, which also leaves the tag open
(`<function=read_file{"path": "src/a.ts"}></function>`, as `failed_generation` in errors of Groq's API shows it). With
parameters in tags of their own it is `qwen3_xml`. Source: https://github.com/MeetKai/functionary.
"""

import re

from toolcalls.shapes import Calls
from toolcalls.shapes.jsonelement import JsonElement
from toolcalls.shapes.jsonvalue import mark
from toolcalls.shapes.words import word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_OPEN = re.compile(r"[\w.:/@-]++ ?[=(,]? ?")


class _Element(JsonElement):
    """The element, and what is left of it where its opening tag has no bracket."""

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One call."""
        head = yield from word(scan, _OPEN, len(self.start))
        if not head or not (yield from scan.starts("{", len(self.start) + len(head))):
            return (yield from super().read(scan, calls, tools))
        scan.take(len(self.start) + len(head))
        return (yield from self._call(scan, calls, tools, head.rstrip(" =(,")))

    def _between(self, scan: Scanner, calls: Calls) -> Step[None]:
        """The brackets that close the tag behind the object."""
        for literal in (")", ">"):
            if (yield from mark(scan, literal)):
                calls.repair("unclosed_tag")


DIALECT = _Element("functionary_v31", start="<function=", closing="</function>")
