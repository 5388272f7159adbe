"""`kimi_k2`: a header token with the tool's name and a counter, and raw JSON.

The counter runs over the whole conversation; on writing it starts from 0. A header that holds no name, only a counter
or the id of another API, means the one tool whose parameters the arguments fit; those are held until they are whole. A
declared name also counts between the marks of such an id (`functions_read_file_3`). Section marks may be missing or in
the singular; a name with neither counter, mark nor JSON after it is no call.
"""

import re
from dataclasses import dataclass

from toolcalls.events import Repair
from toolcalls.shapes import About, CallSink, Sign
from toolcalls.shapes.headers.name_in_header import Header, Opening
from toolcalls.shapes.json.json_arguments import call_arguments
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    sign=Sign(rests=("functions.",), alone=True),
    written_by="Moonshot's Kimi K2, K2-Thinking and K2.5",
    source=(
        "docs/tool_call_guidance.md at https://huggingface.co/moonshotai/Kimi-K2-Instruct; vllm PR#38579, #28543 "
        "(leaks)"
    ),
    example="""\
<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0\
<|tool_call_argument_begin|>{"path": "src/a.ts"}<|tool_call_end|><|tool_calls_section_end|>""",
)

_PREFIX = "functions."
_ARGUMENTS = "<|tool_call_argument_begin|>"
_HEADER = re.compile(
    r"\s*(?:(?P<name>[^\s<>{}\"]+)\s*(?:<\|tool_call_argument_begin\|>)?|<\|tool_call_argument_begin\|>)\s*"
)
_MARKED = re.compile(r"functions\.[^\s<>{}\"]+:\d+\s*<\|tool_call_argument_begin\|>")
_MARKING = re.compile(r"functions\.[^\s<>{}\"]*\s*(?:<(?:\|[a-z_]*\|?)?)?")
_MAX_HEADER = 320
_COUNTER = re.compile(r":\d+\Z")
# A history with the ids of other APIs teaches a model to put one in the name's place, or the name between their marks.
_FOREIGN_ID = re.compile(
    r"call_(?:\d{1,3}_)?(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}|call_\d+|(?:toolu|srvtoolu|tooluse|fc|chatcmpl-tool)[_-](?=\D*\d)[\w-]+"
    r"|[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}"
)
_FOREIGN_MARKS = re.compile(r"(?:functions?|tools?|call|function_call|tool_call)[._:-](?=.)")
_FOREIGN_COUNTER = re.compile(r"[._:-]?\d+\Z")

RESULT = "## Return of {id}\n{text}"


@dataclass(frozen=True)
class _Kimi(Header):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Also the header of a declared tool, of which a server took the marks in front away."""
        return (*super().openers(names), *(f"{_PREFIX}{name}:" for name in names))

    def opened(self, scan: Scanner, tools: Toolbox) -> Step[Opening | None]:
        """Also the header of a declared tool without the call's own mark, after a section's or with the next mark."""
        found = yield from super().opened(scan, tools)
        if found is not None:
            return found
        if (yield from scan.starts(_PREFIX)):
            marked = yield from scan.match(_MARKED, _MARKING, 0, _MAX_HEADER)
            return None if marked is None else Opening(0, section=False)
        space = yield from scan.space()
        mark = yield from scan.among(self.sections, space)
        if mark is None:
            return None
        header = yield from scan.space(space + len(mark))
        named = yield from scan.among(tuple(f"{_PREFIX}{name}:" for name in tools.names), header)
        return None if named is None else Opening(header, section=True)

    def called(self, written: str, tools: Toolbox) -> str:
        """The name without its prefix and counter; "" for a counter alone, or for the id of another API."""
        if written in tools.names:
            return written
        name = _COUNTER.sub("", written, count=1)
        name = name if name in tools.names else name.removeprefix(_PREFIX)
        if tools.resolve(name) in tools:
            return name
        if name.isdigit() or _FOREIGN_ID.fullmatch(name):
            return ""
        return next((each for each in _without_marks(name) if tools.resolve(each) in tools), name)

    def repairs(self, written: str, name: str) -> tuple[Repair, ...]:
        """The name was between other marks than the form's."""
        return () if name in {written, _COUNTER.sub("", written, count=1).removeprefix(_PREFIX)} else ("name",)

    def heading(self, scan: Scanner, ahead: int) -> Step[str | None]:
        """Rejects a bare word between the call marks."""
        found = yield from super().heading(scan, ahead)
        if found is None or _ARGUMENTS in found or _COUNTER.search(found.rstrip()):
            return found
        return found if (yield from scan.among(("{", '"'), ahead + len(found))) else None

    def nameless(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The one tool that has all the arguments' keys as parameters, and none that it requires besides them."""
        if not (yield from scan.starts("{")):
            return False
        written = yield from call_arguments(scan, sink)
        if written is None:
            return False
        keys = {key for key, _ in members(written)}
        fitting = [
            name for name in tools.names if keys.issuperset(tools.required(name)) and keys.issubset(tools.keys(name))
        ]
        exact = [name for name in fitting if len(tools.keys(name)) == len(keys)]
        if len(exact or fitting) != 1:
            return False
        sink.begin((exact or fitting)[0])
        sink.note_repair("inferred_name")
        sink.piece(written)
        return True


def _without_marks(written: str) -> tuple[str, ...]:
    """What is left of a header without the marks of another API's ids, the most of it first."""
    bare = _FOREIGN_MARKS.sub("", written, count=1) if _FOREIGN_MARKS.match(written) else written
    return bare, _FOREIGN_COUNTER.sub("", written), _FOREIGN_COUNTER.sub("", bare)


DIALECT = _Kimi(
    "kimi_k2",
    sections=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    opening=("<|tool_call_begin|>",),
    header=_HEADER,
    end=("<|tool_call_end|>",),
    closers=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    template="<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
)
