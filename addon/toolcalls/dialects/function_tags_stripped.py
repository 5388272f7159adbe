"""`function_tags_stripped`: function tags of which the first is damaged, and parameters and closers are whole.

`<function=` is lost or is `<parameter=`, the bracket is, or nothing but the tool's name is left of it. Each of these
could be prose, so it counts only at the start of a line, with the name of a declared tool, and directly in front of
a whole `<parameter=K>`.
"""

import re
from collections.abc import Sequence

from toolcalls.shapes import About, Call, CallSink
from toolcalls.shapes.tags.call_body import NamedBody
from toolcalls.shapes.tags.call_end import block_end
from toolcalls.shapes.tags.form import FunctionTags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="function tags",
    written_by="Qwen's coding models, and servers that cut off the beginning of their calls",
    source="public reports (QwenLM/qwen-code #10692, signalnine/q27 #24, NousResearch/hermes-agent #1883)",
    example="""\
<parameter=read_file>
<parameter=path>
src/a.ts
</parameter>
</function>
</tool_call>""",
)

_WRAPPERS = ("<tool_call>", "<tool_use>", "<function_calls>", "<tool_calls>")
# What may come before the name and after it, with the bracket that belongs to it.
_HEADS = (
    ("<parameter=", ">"),
    ("function=", ">"),
    ("=", ">"),
    ("<name>", "</parameter>"),
    ("<name>", "</name>"),
    ("<parameter=function>", "</parameter>"),
    ("<parameter=name>", "</parameter>"),
    ("", ">"),
    ("", ""),
)
_MAX_HEAD = 320  # characters of it, with the white space in it
_OTHER = re.compile(r"[{(\[]|<(?!/?(?:$|[npf]))")  # what no such tag holds


_PATTERNS = tuple(
    re.compile(rf"{re.escape(before)}(?P<name>[\w.:/-]{{1,200}})\s*{re.escape(behind)}") for before, behind in _HEADS
)


class _Stripped(FunctionTags):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The beginnings of a damaged tag of each declared tool, and the wrappers that may come before it."""
        marks = [f"{before}{name}" for name in names for before, _ in _HEADS if before]
        bare = [f"{name}{behind}\n<parameter=" for name in names for behind in (">", "")]
        return (*_WRAPPERS, *marks, *bare)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call, and the wrapper around it."""
        wrapper = yield from scan.among(_WRAPPERS)
        ahead = (yield from scan.space(len(wrapper))) if wrapper else 0
        head = yield from self._head(scan, tools, ahead)
        if head is None:
            return False
        name, size = head
        scan.take(size)
        sink.begin(name)
        sink.note_repair("missing_opener")
        if not (yield from NamedBody(self, scan, sink, tools, name).read()):
            return False
        return (yield from block_end(scan, sink, self, wrappers=0))

    def _head(self, scan: Scanner, tools: Toolbox, ahead: int) -> Step[tuple[str, int] | None]:
        """The declared tool that a damaged tag names, and how far away its first parameter stands."""
        names = tools.names
        if (yield from scan.among(tuple(before + name for name in names for before, _ in _HEADS), ahead)) is None:
            return None
        while True:
            text, at = scan.text, scan.pos + ahead
            first = text.find("<parameter=", at + 1, at + _MAX_HEAD)
            if first >= 0 or scan.ended or len(text) - at >= _MAX_HEAD or _OTHER.search(text, at + 1):
                break
            yield
        if first < 0:
            return None
        written = text[at:first].rstrip()
        for pattern in _PATTERNS:
            found = pattern.fullmatch(written)
            name = found["name"] if found else ""
            if name in names:
                size = first - scan.pos
                parameter = yield from self.parameter_here(scan, size)
                return (name, size) if parameter is not None and parameter.name != name else None
        return None

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """Each call with its first tag damaged as it is seen most."""
        return "\n".join(
            self.write_call(call, tools).replace("<function=", "<parameter=", 1) + "\n</tool_call>" for call in calls
        )


DIALECT = _Stripped("function_tags_stripped", orphans=("tool_call", "tool_use"), place="start")
