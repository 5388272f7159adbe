"""`mimo_xml`: Qwen's function tags without white space between them.

Values are taken verbatim, line ends included (as vLLM does; SGLang decodes HTML entities, which would damage code).
That is the whole difference to `qwen3_xml`, so a block is this dialect's only when its first tags are side by side,
and `qwen3_xml` reads every other, the naked one too.

A tool that takes free text gets it without a parameter's tag, and sometimes with its closer:

    <tool_call><function=exec>const a = 1;</parameter></function></tool_call>

That is read where the tool has one parameter or none that is known; it is called `input` then.
"""

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.tags.call_body import NamedBody
from toolcalls.shapes.tags.call_end import block_end
from toolcalls.shapes.tags.content import Printed
from toolcalls.shapes.tags.form import FunctionTags
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.value_end import UNCLOSED_VALUE, read_value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="function tags",
    written_by="Xiaomi's MiMo V2 and later",
    source="opencodex #5499, and vLLM's and SGLang's parsers",
    example="""\
<tool_call><function=read_file><parameter=path>src/a.ts</parameter></function></tool_call>""",
)

_FREE = "input"


class _MiMo(FunctionTags):
    """The form, and free text in place of parameters."""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Also one call with free text."""
        _, wrapper = yield from self.wrapper_tag.at(scan)
        tag = yield from self.call_here(scan, wrapper)
        if tag is None or tag.is_open or not (yield from self._takes_text(scan, wrapper, tag, tools)):
            return (yield from super().read(scan, sink, tools))
        scan.take(wrapper + tag.length)
        name = sink.begin(tag.name)
        key = (tools.keys(name) or (_FREE,))[0]
        body = NamedBody(self, scan, sink, tools, name)
        value = body.arguments.value(body.values.given(key), string=True)
        repair = yield from read_value(scan, value, body.values)
        if repair is None:
            return False
        value.end()
        sink.note_repair("free_text" if repair == UNCLOSED_VALUE else repair or "free_text")
        complete = yield from body.read()
        return complete and (yield from block_end(scan, sink, self, wrappers=1))

    def _takes_text(self, scan: Scanner, wrapper: int, tag: Tag, tools: Toolbox) -> Step[bool]:
        name = tools.resolve(tag.name)
        if not wrapper or len(tools.keys(name)) > 1 or (tools.names and name not in tools.names):
            return False
        space = yield from scan.space(wrapper + tag.length)
        if (yield from self.ends.at(scan, space))[1] or (yield from self.parameter_at(scan, space)):
            return False
        return scan.rest() > space and not (yield from scan.starts("{", space))


DIALECT = _MiMo(
    "mimo_xml",
    wrappers=("tool_call",),
    content=Printed("verbatim"),
    bare=False,
    line="",
    hollow="",
    compact=True,
)
