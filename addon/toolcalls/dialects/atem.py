"""`atem`: Muse Glimmer's messages, whose header names a recipient; one to a tool holds `invoke` with its namespace.

The prompt ends with the header's first words, so a reply begins with ` to=`. A tool is called by its own name or, where
it is its own namespace, as `read_file.read_file`. A message to `self` is reasoning, one to
`user` is text. Calls count only in a message to a tool. Values are taken verbatim: no line end is layout, nothing is
decoded.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.channels import take_up_to
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.words import begun_pattern
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    written_by="Muse Glimmer",
    source="vllm #55395, PR#55419",
    example="""\
<|start|>assistant to=read_file<|message|><atem:function_calls>
<atem:invoke name="read_file">
<atem:parameter name="path">src/a.ts</atem:parameter>
</atem:invoke>
</atem:function_calls><|eom|>""",
)


class _Calls(TagForm):
    """The calls' elements."""

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        """One call, of the tool that its tag names once or twice."""
        name = tag.name if tag.name in tools else _once(tag.name)
        return (yield from super().one(scan, sink, tools, tag._replace(name=name)))


def _once(name: str) -> str:
    """`tool` for `tool.tool`, any other name as it is."""
    half = len(name) // 2
    return name[:half] if name[half:] == f".{name[:half]}" else name


_CALLS = _Calls("atem", prefix=("atem:",), content=Verbatim(), place="anywhere")
_START, _MESSAGE = "<|start|>", "<|message|>"
_CLOSERS = ("<|eom|>", "<|eot|>")
_MAX_HEADER = 320
_HEADER = re.compile(r"(?:<\|start\|>[^\S\n]*assistant)?[^\S\n]*to=(?P<recipient>[^\s<]+)[^\S\n]*<\|message\|>")


# What may still become a header. Harmony's begins alike, and must not wait for this one.
_ARRIVING = re.compile(
    rf"<\|start\|>[^\S\n]*(?:{begun_pattern('assistant')})"
    rf"|(?:<\|start\|>[^\S\n]*assistant)?[^\S\n]*(?:to=[^\s<]*[^\S\n]*(?:{begun_pattern(_MESSAGE)})|{begun_pattern('to=')})"
)
_CHANNELS = frozenset({"self", "user"})


class _Atem(Grammar):
    name = "atem"
    place = "anywhere"
    opening = (_START, "to=")  # where the prompt has the header's token, a reply begins with the recipient
    between = ""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One message, from its header to its closer."""
        header = yield from self._header(scan)
        if header is None:
            return False
        recipient, size = header
        if recipient in _CHANNELS:
            if not sink.may_remove_frame():
                return False
            scan.take(size)
            sink.mark_frame()
            mark = yield from take_up_to(
                scan, (*_CLOSERS, _START), sink.mark_reasoning if recipient == "self" else sink.mark_text
            )
            scan.take(len(mark) if mark in _CLOSERS and mark else 0)
            return True
        size = yield from scan.space(size)
        if not (yield from scan.starts("<atem:", size)):
            return False
        scan.take(size)
        own = yield from _CALLS.read(scan, sink, tools)
        if own:
            yield from accept(scan, *_CLOSERS)
        return own

    def _header(self, scan: Scanner) -> Step[tuple[str, int] | None]:
        """The recipient, and how long the header is with its last token; None where none is here."""
        found = yield from scan.match(_HEADER, _ARRIVING, 0, _MAX_HEADER)
        return None if found is None else (found["recipient"], len(found.group()))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return f"{_START}assistant to={call.name}{_MESSAGE}{_CALLS.write([call], tools)}{_CLOSERS[0]}"


DIALECT = _Atem()
