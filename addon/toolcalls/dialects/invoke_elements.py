"""`invoke_elements`: a call whose tag carries the name, with elements named after the parameters in it.

Models mix the tags of one form with the parameters of another: `<invoke name="N"><K>V</K></invoke>`. The tag's own form
is asked first. Only a declared tool counts, and only where the first thing in the tag is one of its parameters, or an
element that the tool does not declare in front of one.
"""

import re
from functools import lru_cache

from toolcalls.shapes import About, Call, CallSink
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    written_by="models that mix Claude's or Qwen's tags with Cline's elements",
    source="public reports (MiniMax-AI/MiniMax-M3 #31 without its marker, NousResearch/hermes-agent #1883)",
    example="""\
<invoke name="read_file">
<path>src/a.ts</path>
</invoke>""",
)

_WRAPPERS = ("<function_calls>", "<tool_calls>", "<tool_call>", "<tool_use>", "<tool-use>")
# Openers of other dialects, which are asked first, and those in which a tool's name stands.
_SHARED = ("<invoke ", "<tool_call ", "<function=", "<tool_call>", "<tool_use>")
_NAMED = (
    *(f'<{tag} name="{{name}}"' for tag in ("tool_use", "tool-use", "function", "parameter", "tool", "use_tool")),
    *(f"<function>{gap}<{key}>{{name}}" for gap in ("", "\n") for key in ("name", "tool_name")),
    "<parameter={name}>",
    "<invoke={name}>",
)
_PARAMETERS = ('<parameter name="{}">', "<parameter name='{}'>", "<parameter={}>", '<param name="{}">')
_OF_CALLS = ("invoke", "tool_call", "tool_use", "tool-use", "use_tool")  # elements that nothing but a call has
_INNER = ("parameters", "arguments", "args", "params")
_HEAD = re.compile(
    r"""<(?P<tag>[\w-]+)(?:(?:[ \t]+name[ \t]*)?=[ \t]*(?P<quote>["']?)(?P<name>[\w.:/-]{1,200})(?P=quote)[ \t]*>"""
    r"""|>\s*<(?P<element>name|tool_name|tool)>\s*(?P<inside>[\w.:/-]{1,200})\s*</(?P=element)>)"""
    rf"""(?:\s*<(?P<inner>{"|".join(_INNER)})>)?\s*(?=<)"""
)
_FIRST = re.compile(r"<([\w.:-]{1,200})/?>")
_CONTENT = re.compile(r"\s*[^<\s]")  # JSON or text
_MAX_HEAD = 512
_NAME_ELEMENTS = ("<name>", "<tool_name>", "<tool>")
_BEGUN = re.compile(r"<[\w.:-]{0,200}(?:/?>|/?\Z)")  # an element's tag, maybe only its beginning


class _Elements(ToolElements):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tags that carry a name, and the wrappers around them."""
        return _openers(names)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call."""
        head = yield from self._head(scan, tools, 0, sink)
        wrapper = None if head else (yield from scan.among(_WRAPPERS))
        ahead = len(wrapper) if wrapper else 0
        begun = False
        while True:
            if not head:
                ahead = yield from scan.space(ahead)
                head = yield from self._head(scan, tools, ahead, sink)
            if head is None:
                break
            (size, name, tag, inner), head = head, None
            scan.take(size)
            begun = True
            name = sink.begin(name)
            if not (yield from self.body(scan, sink, tools, name, f"</{inner or tag}>")):
                return False
            if inner:
                yield from accept(scan, f"</{tag}>")
            if not wrapper:
                return True
            ahead = 0
        if begun and wrapper:
            yield from accept(scan, f"</{wrapper[1:]}")
        return begun

    def opening(self, name: str, tools: Toolbox) -> dict[str, str]:
        """Also the parameters in the tag's own form: after an element, models go on with either."""
        tags = super().opening(name, tools)
        return tags | {form.format(key): key for key in self.parameters(name, tools) for form in _PARAMETERS}

    def call_at(self, scan: Scanner, ahead: int, tools: Toolbox) -> Step[bool]:
        return (yield from self._head(scan, tools, ahead)) is not None

    def _head(
        self, scan: Scanner, tools: Toolbox, ahead: int, sink: CallSink | None = None
    ) -> Step[tuple[int, str, str, str] | None]:
        """The length of a call's tag up to its first element, the tool, the tag, and the tag inside it, "" for none.

        sink   for a call that may begin with an element that its tool does not declare
        """
        if (yield from scan.among(_openers(tools.names)[len(_WRAPPERS) :], ahead)) is None:
            return None
        while True:
            at = scan.pos + ahead
            text = scan.text[at : at + _MAX_HEAD]
            found = _HEAD.match(text)
            first = _FIRST.match(text, found.end()) if found else None
            if first is not None and first[0][1:-1] in _INNER and not (scan.ended or _CONTENT.match(text, first.end())):
                first = None  # what is in it is to come
            if first is not None or scan.ended or len(text) == _MAX_HEAD or _other(text):
                break
            yield
        if found is None or first is None:
            return None
        written = found["name"] or found["inside"]
        name = tools.resolve(written)
        if name not in tools:
            return None
        behind, tag, inner = ahead + found.end(), found["tag"], found["inner"] or ""
        if first[0] not in self.opening(name, tools):
            of_call = found["element"] is None and (tag in _OF_CALLS or text.startswith(f"<{tag}="))
            if sink is None or not of_call:
                return None
            if not (yield from self.leads_on(scan, sink, behind, name, tools, f"</{inner or tag}>")):
                return None
        return behind, written, tag, inner

    # Writing

    def write_call(self, call: Call, tools: Toolbox) -> str:
        written = super().write_call(call, tools)
        body = written.removeprefix(f"<{call.name}>").removesuffix(f"</{call.name}>")
        return f'<invoke name="{call.name}">{body}</invoke>'


@lru_cache(maxsize=64)
def _openers(names: tuple[str, ...]) -> tuple[str, ...]:
    return (*_WRAPPERS, *_SHARED, *(named.replace("{name}", name) for name in names for named in _NAMED))


def _other(text: str) -> bool:
    """Whether what comes after the tag's bracket is not, and will not be, what a call's tag is followed by."""
    head, bracket, rest = text.partition(">")
    if not bracket or "\n" in head:  # no line ends inside the tag, also where all of it is here at once
        return "\n" in head
    rest = rest.lstrip()
    if not rest:
        return False
    if "=" not in head:  # the name comes in an element of its own
        return not any(element.startswith(rest[: len(element)]) for element in _NAME_ELEMENTS)
    return _BEGUN.match(rest) is None or rest.startswith(("<parameter=", "<parameter ", "</", "<function="))


DIALECT = _Elements("invoke_elements", place="start")
