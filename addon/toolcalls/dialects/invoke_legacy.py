"""`invoke_legacy`: the form of Claude 2's prompt documentation, names as elements.

`</function_calls>` was a stop sequence, so it may be missing. Values are raw on the line of their tags or on lines of
their own. A parameter is an element that the tool declares; where it declares none, any element. One without its closer
ends where a declared one begins that the call lacks, or at the call's closers.
"""

import re
from typing import override

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.tags.call_end import read_block
from toolcalls.shapes.tags.raw import delimited
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.shapes.words import MAX_WORD, NAME, check_name, word
from toolcalls.shapes.writable import check_resolved, plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="Claude 2",
    source="the prompt documentation of Claude 2",
    example="""\
<function_calls>
<invoke>
<tool_name>read_file</tool_name>
<parameters>
<path>src/a.ts</path>
</parameters>
</invoke>
</function_calls>""",
)

_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_WRAPPER = Tags(wrapper=[("<", "function_calls", ">")])
_INVOKE = Tags(call=[("<", "invoke", ">")])
_TOOL_NAME, _TOOL_NAME_END = Tags(name=[("<", "tool_name", ">")]), Tags(name=[("<", "/", "tool_name", ">")])
_PARAMETERS = Tags(parameters=[("<", "parameters", ">")])
_ENDS = Tags(call_end=[("<", "/", "invoke", ">")], wrapper_end=[("<", "/", "function_calls", ">")])


class _Elements(ToolElements):
    @override
    def call_at(self, scan: Scanner, ahead: int, tools: Toolbox) -> Step[bool]:
        return (yield from _opening(scan, ahead)) is not None

    @override
    def quoted(self, scan: Scanner, ahead: int, tool: str, tools: Toolbox) -> Step[int]:
        opening = yield from _opening(scan, ahead)
        return opening[1] - ahead if opening else 0


_FORM = _Elements("invoke_legacy", inner="parameters", wrapper="function_calls", any_key=True)


class _Legacy(Grammar):
    name = "invoke_legacy"
    opening = "<function_calls>", "<invoke>"
    before, after = "<function_calls>\n", "\n</function_calls>"
    ends = _ENDS
    damaged_ends = Tags()
    wrapper_closers = ("</function_calls>",)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call."""
        _, wrapper = yield from _WRAPPER.at(scan)
        if wrapper:
            scan.take(wrapper)
            scan.take((yield from scan.space()))
        return (yield from read_block(scan, sink, self, lambda: _call(scan, sink, tools), wrappers=int(wrapper > 0)))

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        return (yield from _opening(scan, ahead)) is not None

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "in an element")
        check_resolved(call.name, tools)
        lines = ["<invoke>", f"<tool_name>{call.name}</tool_name>", "<parameters>"]
        for key, raw in members(call.arguments):
            if not _KEY.fullmatch(key) or len(key) > MAX_WORD:
                raise Unwritable(f"{call.name}: {key!r} is not a name that a tag can have")
            lines.append(f"<{key}>{delimited(plain_text(call.name, key, raw, tools))}</{key}>")
        return "\n".join((*lines, "</parameters>", "</invoke>"))


def _call(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
    """One call, and whether it is complete; None where none begins here."""
    opening = yield from _opening(scan)
    if opening is None:
        return None
    written, size = opening
    scan.take(size)
    return (yield from _FORM.body(scan, sink, tools, sink.begin(written), "</invoke>"))


def _opening(scan: Scanner, ahead: int = 0) -> Step[tuple[str, int] | None]:
    """A call's name and the place after its `<parameters>`, or after the name where it closes at once."""
    _, length = yield from _INVOKE.at(scan, ahead)
    if not length:
        return None
    space = yield from scan.space(ahead + length)
    _, length = yield from _TOOL_NAME.at(scan, space)
    if not length:
        return None
    start = yield from scan.space(space + length)
    name = yield from word(scan, NAME, start)
    space = yield from scan.space(start + len(name))
    _, length = yield from _TOOL_NAME_END.at(scan, space)
    if not name or not length:
        return None
    end = space + length
    space = yield from scan.space(end)
    _, length = yield from _PARAMETERS.at(scan, space)
    if length:
        return name, space + length
    return (name, end) if (yield from _ENDS.at(scan, space))[1] else None


DIALECT = _Legacy()
