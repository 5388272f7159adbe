"""`qwen3_xml`: function tags in a `<tool_call>`, the form of most open coding models.

Servers leak it damaged in known ways, and it is read all the same: a wrapper without opener or closer (omlx PR#844,
opencode #13762), a second wrapper before the first one's closer, a name still open when the function is closed, a
parameter closed twice, blanks and quotes in tags, an older `<function_invocation>` around the function or its closer
after it (ollama #16383, QwenLM/Qwen3.8 #178), a `<toolcall>`, and one object of JSON in the place of the parameters.

The naked form is this dialect's also where OpenHands' prompt asked for it, and with Seed-OSS's closer after it. The
template prints lists and objects as JSON and every other value as Python does: `True`, `None`, `3`.
"""

from functools import cached_property

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS
from toolcalls.shapes.tags.functiontag import FunctionTag
from toolcalls.shapes.tags.jsonbody import json_body
from toolcalls.shapes.tags.opening_tags import Tag, function_tag
from toolcalls.shapes.tags.tags import Tags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="function tags",
    since="0.1.0",
    written_by="Qwen3-Coder, Qwen3.5 and later, Nemotron-3, Step-3.5, Granite 4.2 and their fine-tunes",
    source="the models' chat templates, and vLLM's and SGLang's `qwen3_coder` parsers",
    example="""\
<tool_call>
<function=read_file>
<parameter=path>
src/a.ts
</parameter>
</function>
</tool_call>""",
)

_OTHERS = ("function_invocation", "toolcall")


class _Qwen3(FunctionTag):
    """The form with other wrappers, and with JSON."""

    @cached_property
    def opener(self) -> Tags:
        """Any wrapper's tag."""
        return Tags(wrapper=[("<", (self.wrapper, *_OTHERS), ">")])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Also the other wrappers'."""
        return (*super().openers(names), *(f"<{other}>" for other in _OTHERS))

    def _first(self, scan: Scanner, *, begun: bool) -> Step[Tag | None]:
        """Also one with JSON after it."""
        return (yield from super()._first(scan, begun=begun)) or (yield from self._before_json(scan, 0))

    def _body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """Also JSON."""
        space = yield from scan.space()
        if (yield from scan.among(OBJECT_STARTS, space)) is None:
            return (yield from super()._body(scan, sink, tools, name))
        scan.take(space)
        return (yield from json_body(scan, sink, self.ends, self._again))

    def _again(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a function's tag with a body of either kind after it, 0 for none."""
        tag = (yield from self.opening(scan, ahead)) or (yield from self._before_json(scan, ahead))
        return tag.length if tag else 0

    def _before_json(self, scan: Scanner, ahead: int) -> Step[Tag | None]:
        tag = yield from function_tag(scan, ahead)
        if tag is None or not tag.closed:
            return None
        space = yield from scan.space(ahead + tag.length)
        return None if (yield from scan.among(OBJECT_STARTS, space)) is None else tag


DIALECT = _Qwen3("qwen3_xml", wrapper="tool_call", orphans=("seed:tool_call", *_OTHERS), naked=True)

RESULT = "<tool_response>\n{text}\n</tool_response>"
