"""Calls as JSON between marks: `OPEN {"name": N, "arguments": J} CLOSE`, one object or several, or an array of them.

The arguments leave while they arrive (`call_reader`). They are typed by nothing but their JSON. A tag inside a string
is data: the object ends where its braces say. Which closer follows then hardly matters, so the wrong one is taken as
well where a dialect says that models write it, and so is one that lacks its slash at the end of the reply. A code fence
may be around the object: that is what models make of "JSON". Templates that show braces doubled (Qwen 2.5's) are
imitated, too, and some models begin twice.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from toolcalls.events import Repair
from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.spaced_closers import accept, closer_among
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_FENCE = "```"
_FENCES = (f"{_FENCE}json", f"{_FENCE}JSON", _FENCE)
_TAG = re.compile(r"<[A-Za-z_-]+>")
_MAX_ATTRIBUTES = 256  # characters of an opening tag's attributes


@dataclass(frozen=True)
class MarkedJson(Grammar):
    """The form with its marks filled in. Where there are several, all are read and the first one is written.

    wrong        closing tags of other forms that models write instead
    attributed   what an opening tag with attributes begins with, up to its `>`; "" where there is none
    around       what may be in front of a block and after it, and goes with it
    closed       whether the model writes a closer; where not, none is missed
    brackets     what the body may begin with; an array is written where "[" comes first
    between      what is written between objects in one block; "" where each has a block of its own
    arguments    the key of the arguments
    keyed        the key of the arguments is the tool's name
    line         what is between the marks and the body
    own          what is no repair here, since the model prints Python (`CallRules.own`)
    """

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    attributed: str = ""
    around: tuple[str, str] | None = None
    closed: bool = True
    brackets: tuple[str, ...] = ("{", "[")
    between: str = ""
    arguments: str = "arguments"
    keyed: bool = False
    line: str = ""
    own: frozenset[Repair] = frozenset()
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    @cached_property
    def _not_its_own(self) -> tuple[str, ...]:
        """What may take a closer's place: those that are wrong, and its own that lost their bracket or slash, too."""
        tags = [closer for closer in self.closing if closer.startswith("</")]
        return (*self.wrong, *(tag[lost:] for tag in tags for lost in (1, 2)))

    @property
    def _together(self) -> bool:
        """Whether all calls are in one block. Where they are not, and nothing closes a block, it holds one object."""
        return self.brackets[0] == "[" or self.between != ""

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        before = self.around[:1] if self.around else ()
        return (*self.opening, *filter(None, (self.attributed,)), *before, *self._spaced)

    @cached_property
    def _spaced(self) -> tuple[str, ...]:
        """What opening tags begin with that have a blank after their bracket."""
        return tuple(f"< {tag[1:-1]}" for tag in self.opening if _TAG.fullmatch(tag))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One block and its closing tag."""
        scan.take((yield from self._begun_twice(scan)))
        if self.around and (yield from scan.starts(self.around[0])):
            scan.take(len(self.around[0]))
            scan.take((yield from scan.space()))
        noted = yield from self._open(scan)
        if noted is None:
            return False
        fenced = yield from self._fence(scan)
        scan.take((yield from scan.space()))
        block = CallReader(scan, sink, tools, self._rules)
        if not (yield from self._body(block)):
            if block.open and (scan.rest() or not scan.ended):
                sink.fail()
                yield from skip_past(scan, self.closing)
            return False
        for repair in noted:
            sink.note_repair(repair)
        if not self.closed:  # nothing is missing, and a wire that sends a call whole must not wait for what follows
            block.end()
        yield from take_surplus(scan, sink, (_FENCE, *self.closing, *self.wrong, *self.opening))
        if fenced:
            sink.note_repair("alias")
            yield from self._take(scan, (_FENCE,))
            if scan.cut and scan.stops_short((_FENCE,)):
                scan.take(scan.rest())
                return False
        return (yield from self._close(scan, sink, block))

    def _begun_twice(self, scan: Scanner) -> Step[int]:
        """How far away the opening tag stands that the JSON follows, where this one is followed by another."""
        opener = yield from scan.among(self.opening)
        if opener is None:
            return 0
        space = yield from scan.space(len(opener))
        again = yield from scan.among(self.opening, space)
        if again is None:
            return 0
        json = yield from scan.space(space + len(again))
        return 0 if (yield from scan.among(("{", "["), json)) is None else space

    @cached_property
    def _rules(self) -> CallRules:
        follow = (*self.closing, *self.wrong, *self.opening, _FENCE)
        rules = CallRules(arguments=self.arguments, follow=follow, ends=self.closing, closed=self.closed)
        return replace(rules, keyed=self.keyed, own=self.own)

    def _fence(self, scan: Scanner) -> Step[bool]:
        """Take a fence around the body, where one stands. Returns whether."""
        space = yield from scan.space()
        fence = yield from scan.among(_FENCES, space)
        if fence is not None and (yield from scan.among(("{", "["), (yield from scan.space(space + len(fence))))):
            scan.take(space + len(fence))
            return True
        return False

    def _body(self, block: CallReader) -> Step[bool]:
        """What is between the marks. Returns whether it is complete and held a call."""
        scan = block.scan
        if (yield from scan.among(self.brackets)) is None:
            return False
        doubled = yield from scan.starts("{{")
        scan.take(int(doubled))
        whole = yield from (block.body() if self.closed or self._together else block.line())
        if whole and doubled and (yield from accept(scan, "}")):
            block.sink.note_repair("alias")
        return whole and block.begun

    def _open(self, scan: Scanner) -> Step[list[Repair] | None]:
        """Take the opening tag. Returns what is to be noted about it, None where there is none."""
        if not self.opening:  # it was taken
            return []
        opener = yield from scan.among(self.opening)
        if opener is not None:
            scan.take(len(opener))
            return []
        spaced = yield from scan.among(self._spaced)
        if spaced is not None:
            end = yield from scan.space(len(spaced))
            if not (yield from scan.starts(">", end)):
                return None
            scan.take(end + 1)
            return ["misspelt_tag"]
        if not self.attributed or not (yield from scan.starts(self.attributed)):
            return None
        size = len(self.attributed)
        while size <= _MAX_ATTRIBUTES:
            if size < scan.rest():
                char = scan.text[scan.pos + size]
                size += 1
                if char == ">":
                    scan.take(size)
                    return ["alias"]
                if char in "<{\n":
                    return None
            elif scan.ended:
                return None
            else:
                yield
        return None

    def _close(self, scan: Scanner, sink: CallSink, block: CallReader) -> Step[bool]:
        space = yield from scan.space()
        closer, length = yield from closer_among(scan, (*self.closing, *self._not_its_own), space)
        if closer is None and self.closed:
            if not (yield from self._ends_reopened(scan, space)):
                return (yield from take_closer(scan, sink, self.closing, block.end))
            length = scan.rest() - space
        block.end()
        if not length:
            scan.take(scan.rest() if scan.stops_short(self.closing) else 0)
            return True
        scan.take(space + length)
        if closer not in self.closing:
            sink.note_repair("wrong_closer")
            yield from self._take(scan, self.closing)
        if self.around and self.around[1]:
            yield from self._take(scan, self.around[1:])
        return True

    def _ends_reopened(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the reply ends with an opening tag here, in the place of the closing one."""
        opener = yield from scan.among(self.opening, ahead)
        if opener is None:
            return False
        end = yield from scan.space(ahead + len(opener))
        return scan.ended and not scan.cut and end == scan.rest()

    def _take(self, scan: Scanner, literals: tuple[str, ...]) -> Step[None]:
        """Take one of these where it follows."""
        space = yield from scan.space()
        _, length = yield from closer_among(scan, literals, space)
        if length:
            scan.take(space + length)

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        items = [self.write_call(call, tools) for call in calls]
        if self._together and items:
            items = [self.between.join(items) if self.brackets[0] == "{" else f"[{', '.join(items)}]"]
        return "\n".join(map(self._block, items))

    def _block(self, body: str) -> str:
        closing = self.closing[0] if self.closed else ""
        return f"{self.opening[0]}{self.line}{body}{self.line if closing else ''}{closing}"

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        call = checked(call)
        if self.keyed:
            return f"{{{quote(call.name)}: {call.arguments}}}"
        return f'{{"name": {quote(call.name)}, "{self.arguments}": {call.arguments}}}'
