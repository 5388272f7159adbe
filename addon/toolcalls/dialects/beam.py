"""`beam`: Beam's messages, whose header names a tool, with parameters in tags of a namespace.

The channel is that of reasoning, and the header says `xml`; otherwise it is `harmony`'s. The prompt ends with the
header's first words, so a reply may begin with ` to=`. A line end on each side of a value is layout.
"""

import re
from functools import cached_property
from typing import override

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.tags.call_body import NamedBody
from toolcalls.shapes.tags.content import Printed
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tag_patterns import Parts, Tags
from toolcalls.shapes.words import begun_pattern
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="channels",
    written_by="Beam",
    source="SGLang 0.5.23's response templates",
    example="""\
<|start|>assistant to=read_file<|channel|>analysis <|constrain|>xml<|message|><rfl:parameter name="path">\
src/a.ts</rfl:parameter><|call|>""",
)

_CLOSERS = ("<|call|>", "<|end|>", "<|return|>")
_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_MAX_HEADER = 320


_GAP = r"[^\S\n]*"
_LEAD = rf"(?:<\|start\|>{_GAP}assistant)?{_GAP}to="
_BEHIND = rf"{_GAP}<\|channel\|>{_GAP}[a-z]+{_GAP}"
_CHANNELLED = rf"[^\s<]+{_BEHIND}"
_XML = rf"<\|constrain\|>{_GAP}"
_HEADER = re.compile(
    rf"{_LEAD}(?P<name>[^\s<]+){_BEHIND}(?P<xml>{_XML}xml{_GAP})?<\|message\|>\s*(?=(?P<body><rfl:p)|<\|)"
)
_ARRIVES = re.compile(
    rf"<\|start\|>{_GAP}(?:{begun_pattern('assistant')})|(?:<\|start\|>{_GAP}assistant)?{_GAP}(?:{begun_pattern('to=')})"
    rf"|{_LEAD}(?:[^\s<]*{_GAP}(?:{begun_pattern(_CHANNEL)})|[^\s<]+{_GAP}<\|channel\|>{_GAP}"
    rf"|{_CHANNELLED}(?:{begun_pattern(_CONSTRAIN)}|{begun_pattern(_MESSAGE)}|{_XML}(?:{begun_pattern('xml')})"
    rf"|{_XML}xml{_GAP}(?:{begun_pattern(_MESSAGE)})|(?:{_XML}xml{_GAP})?<\|message\|>\s*(?:{begun_pattern('<rfl:p')})))"
)


class _Parameters(TagForm):
    """The parameters of a call, whose closer is the message's."""

    @cached_property
    def call_end(self) -> Parts:
        return (_CLOSERS,)

    @cached_property
    def damaged_ends(self) -> Tags:
        return Tags()


_FORM = _Parameters("beam", wrappers=(), prefix=("rfl:",), content=Printed("inline", {}), line="", json=False)


class _Beam(Grammar):
    name = "beam"
    place = "anywhere"
    opening = (_START, "to=")
    between = ""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One message, from its header to its closer."""
        found = yield from scan.match(_HEADER, _ARRIVES, 0, _MAX_HEADER)
        if found is None or not (found["xml"] or found["body"]):
            return False
        scan.take(len(found.group()))
        return (yield from NamedBody(_FORM, scan, sink, tools, sink.begin(found["name"])).read())

    @override
    def write_call(self, call: Call, tools: Toolbox) -> str:
        body = _FORM.write_call(call, tools).removeprefix(f'<rfl:invoke name="{call.name}">')
        header = f"{_START}assistant to={call.name}{_CHANNEL}analysis {_CONSTRAIN}xml{_MESSAGE}"
        return f"{header}{body.removesuffix('</rfl:invoke>')}{_CLOSERS[0]}"


DIALECT = _Beam()
