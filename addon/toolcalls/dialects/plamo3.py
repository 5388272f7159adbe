"""`plamo3`: PLaMo 3's form, requests within requests, each part between two marks of its own.

All of it is on one line; `<|plamo:constrain|>json` may be missing. Each mark is several of the model's tokens. What
is between the marks of a thought is reasoning, also a request in front of the second mark; without that, a request
ends it.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, CallSink
from toolcalls.shapes.channels import ends_first, take_up_to
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="header and JSON",
    written_by="Preferred Networks' PLaMo 3",
    source="the models' chat template (https://huggingface.co/pfnet)",
    example="""\
<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>read_file\
<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json\
<|plamo:msg|>{"path": "src/a.ts"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>\
<|plamo:end_tool_requests:plamo|>""",
)


def _mark(word: str) -> str:
    return f"<|plamo:{word}:plamo|>"


_THINK, _THOUGHT = _mark("begin_think"), _mark("end_think")
_REQUESTS = (_mark("begin_tool_requests"), _mark("begin_tool_request"))
_ENDS_THOUGHT, _BEGINS_THOUGHT = re.compile(re.escape(_THOUGHT)), re.compile(re.escape(_THINK))

_HEADER = (
    rf"\s*(?P<name>[^\s<>{{}}\"]+)\s*{re.escape(_mark('end_tool_name'))}\s*"
    rf"(?:{re.escape(_mark('begin_tool_arguments'))})?\s*(?:<\|plamo:constrain\|>\s*json\s*)?(?:<\|plamo:msg\|>)?\s*"
    rf"(?:{re.escape(_mark('end_tool_arguments'))}\s*)?"  # at once where there are none
)


@dataclass(frozen=True)
class _Plamo(Header):
    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The marks of requests, and those of a thought."""
        return (*super().openers(names), _THINK, _THOUGHT)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Requests, a whole thought, or the end of one that began in the prompt."""
        mark = yield from scan.among((_THINK, _THOUGHT))
        if mark is None:
            return (yield from super().read(scan, sink, tools))
        # Inside a line a thought's first mark is a mention.
        if not sink.may_remove_frame() or (mark == _THINK and not sink.begins_line()):
            return False
        scan.take(len(mark))
        sink.mark_frame()
        if mark == _THINK:
            found = yield from take_up_to(scan, (_THOUGHT, *_REQUESTS), sink.mark_reasoning)
            if found in _REQUESTS and (yield from ends_first(scan, _ENDS_THOUGHT, _BEGINS_THOUGHT)):
                found = yield from take_up_to(scan, (_THOUGHT,), sink.mark_reasoning)  # the request is a draft
            scan.take(len(_THOUGHT) if found == _THOUGHT else 0)
        return True


DIALECT = _Plamo(
    "plamo3",
    sections=(_mark("begin_tool_requests"),),
    opening=(_mark("begin_tool_request"), _mark("begin_tool_name")),
    header=re.compile(_HEADER),
    end=(_mark("end_tool_request"),),
    closers=(_mark("end_tool_requests"),),
    fences=(_mark("end_tool_arguments"),),
    template=(
        f"{_mark('begin_tool_request')}{_mark('begin_tool_name')}{{name}}{_mark('end_tool_name')}"
        f"{_mark('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>{{arguments}}"
        f"{_mark('end_tool_arguments')}{_mark('end_tool_request')}"
    ),
)
