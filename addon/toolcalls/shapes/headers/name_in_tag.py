"""Calls as an element that carries the name, around the arguments as JSON: `<function=N>{...}</function>`."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.jsonvalue import MAX_NAME, OBJECT_STARTS, own_arguments
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

_NO_NAME = frozenset("<>{}()[]\"'`/= \t\r\n")


@dataclass(frozen=True)
class NameInTag:
    """The form with its tags filled in; `{name}` in `closing` is the call's own.

    start     what is in front of the name, which ends at `>`
    wrapper   the tags around the calls, None for none
    """

    name: str
    start: str
    closing: str
    wrapper: tuple[str, str] | None = None
    place: OpenerPlace = "line"
    stray_words: tuple[str, ...] = ()

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, else what is in front of the name."""
        return (self.wrapper[0] if self.wrapper else self.start,)

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        """One call, or the calls of one wrapper."""
        if self.wrapper:
            scan.take(len(self.wrapper[0]))
            scan.take((yield from scan.space()))
        begun = False
        while (written := (yield from self._name(scan))) is not None:
            begun = True
            if not (yield from self._call(scan, sink, written)):
                return False
            if self.wrapper is None:
                return True
            scan.take((yield from scan.space()))
        if not begun or self.wrapper is None:
            return False
        _, length = yield from closer_among(scan, self.wrapper[1:])
        if length:
            scan.take(length)
            return True
        if scan.stops_short((self.wrapper[1],)) and not scan.cut:
            sink.note_repair("missing_closer")
            scan.take(scan.rest())
            return True
        return False

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
            if self.wrapper and not scan.ended:
                sink.end()
                return True
            return False
        yield from take_surplus(scan, sink, closing)
        yield from self._between(scan, sink)
        return (yield from take_closer(scan, sink, closing, sink.end))

    def _between(self, scan: Scanner, sink: CallSink) -> Step[None]:  # noqa: ARG002 - for other forms
        """What may be between the arguments and the closing tag."""
        yield from ()

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One call after the other; "" for none."""
        if not calls:
            return ""
        for call in calls:
            if not call.name or not _NO_NAME.isdisjoint(call.name):
                raise Unwritable(f"{call.name!r} cannot stand in a tag")
            members(call.arguments)
        blocks = [f"{self.start}{call.name}>{call.arguments}{self.closing.format(name=call.name)}" for call in calls]
        return "".join((self.wrapper[0], *blocks, self.wrapper[1])) if self.wrapper else "\n".join(blocks)
