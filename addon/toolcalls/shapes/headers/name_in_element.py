"""Calls as an element with the name in an element of its own, and the arguments as JSON in another.

`OPEN <name>N</name> <arguments>J</arguments> CLOSE`; both elements have several names.
"""

from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, own_arguments, written_arguments
from toolcalls.shapes.spaced_closers import accept, closer_among
from toolcalls.shapes.words import NAME, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

NAME_ELEMENTS = tuple(f"<{key}>" for key in NAMES)
_GIVEN = tuple(f"<{key}>" for key in ARGUMENTS)


def _closer(tag: str) -> str:
    return f"</{tag.removeprefix('<')}"


def _nothing() -> None:
    """The call goes on."""


@dataclass(frozen=True)
class NameInElement(Grammar):
    """The form with the call's opening tags, the first of which is written.

    lost   what the call's closing tag may begin with in place of `</`
    """

    name: str
    opening: tuple[str, ...]
    lost: tuple[str, ...] = ()
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        scan.take(len(opener))
        scan.take((yield from scan.space()))
        tag = yield from scan.among(NAME_ELEMENTS)
        if tag is None:
            return False
        scan.take(len(tag))
        scan.take((yield from scan.space()))
        written = yield from word(scan, NAME)
        scan.take(len(written))
        if not written or not (yield from accept(scan, _closer(tag))):
            return False
        end = _closer(opener)
        ends = (end, *(f"{begin}{end.removeprefix('</')}" for begin in self.lost))
        space = yield from scan.space()
        given, length = yield from closer_among(scan, (*_GIVEN, *ends), space)
        inside = yield from scan.space(space + length)
        empty = given in ends
        if given is not None and not empty:
            empty = (yield from closer_among(scan, (_closer(given),), inside))[1] > 0
        if given is None or not (empty or (yield from scan.among(OBJECT_STARTS, inside)) is not None):
            return False
        sink.begin(written)
        scan.take(space if given in ends else inside)
        if empty:
            sink.piece("{}")
        elif not (yield from own_arguments(scan, sink, ends)):
            return False
        if given not in ends:
            closer = (_closer(given),)
            yield from take_surplus(scan, sink, (*closer, *ends))
            if not (yield from take_closer(scan, sink, closer, _nothing)):
                return False
        return (yield from take_closer(scan, sink, ends, sink.end))

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        check_name(call.name, "in an element")
        arguments = written_arguments(call)
        body = f"<name>{call.name}</name>\n<arguments>{arguments}</arguments>"
        return f"{self.opening[0]}\n{body}\n{_closer(self.opening[0])}"
