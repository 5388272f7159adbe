"""Calls as an element that carries the name, around the arguments as JSON: `<function=N>{...}</function>`."""

from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace, Unwritable
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, checked, own_arguments
from toolcalls.shapes.json.json_values import MAX_NAME
from toolcalls.shapes.spaced_closers import section_end
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_NO_NAME = frozenset("<>{}()[]\"'`/= \t\r\n")


@dataclass(frozen=True)
class NameInTag(Grammar):
    """The form with its tags filled in; `{name}` in `closing` is the call's own.

    start           what is in front of the name, which ends at `>`
    before, after   the tags around all calls, "" for none
    """

    name: str
    start: str
    closing: str
    before: str = ""
    after: str = ""
    between: str = "\n"
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        return (self.before or self.start,)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        """One call, or the calls of one wrapper."""
        if self.before:
            scan.take(len(self.before))
            scan.take((yield from scan.space()))
        begun = False
        while (written := (yield from self._name(scan))) is not None:
            begun = True
            if not (yield from self._call(scan, sink, written)):
                return False
            if not self.before:
                return True
            scan.take((yield from scan.space()))
        return begun and bool(self.before) and (yield from section_end(scan, sink, (self.after,)))

    def _name(self, scan: Scanner) -> Step[str | None]:
        """Take an opening tag with an object after it. Returns the name as it is written; None: no such tag."""
        if not (yield from scan.starts(self.start)):
            return None
        size = len(self.start)
        while True:
            if size == scan.rest():
                if scan.ended:
                    return None
                yield
                continue
            char = scan.text[scan.pos + size]
            if char == ">":
                break
            if char in _NO_NAME or size - len(self.start) >= MAX_NAME:
                return None
            size += 1
        space = yield from scan.space(size + 1)
        if size == len(self.start) or (yield from scan.among(OBJECT_STARTS, space)) is None:
            return None
        return scan.take(space)[len(self.start) : size]

    def _call(self, scan: Scanner, sink: CallSink, written: str) -> Step[bool]:
        closing = (self.closing.format(name=written),)
        sink.begin(written)
        if not (yield from own_arguments(scan, sink, closing)):
            if self.before and not scan.ended:
                sink.end()
                return True
            return False
        yield from take_surplus(scan, sink, closing)
        yield from self._between(scan, sink)
        return (yield from take_closer(scan, sink, closing, sink.end))

    def _between(self, scan: Scanner, sink: CallSink) -> Step[None]:  # noqa: ARG002 - for other forms
        """What may be between the arguments and the closing tag."""
        yield from ()

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        if not _NO_NAME.isdisjoint(call.name):
            raise Unwritable(f"{call.name!r} cannot stand in a tag")
        return f"{self.start}{call.name}>{call.arguments}{self.closing.format(name=call.name)}"
