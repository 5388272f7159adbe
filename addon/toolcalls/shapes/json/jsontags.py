"""Calls as a JSON object between tags: `OPEN {"name": N, "arguments": J} CLOSE`.

The object is read by `callreader`, so its arguments leave while they arrive. They are typed by nothing but their JSON.
A tag inside a string is data: the object ends where its braces say. Which closer follows then hardly matters, so the
wrong one is taken as well where a dialect says that models write it, and so is one that lacks its slash at the end of
the reply. A code fence may be around the object, and an array in its place: both are what models make of "JSON".
Templates that show braces doubled (Qwen 2.5's) are imitated, too, and some models begin twice.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.events import Repair
from toolcalls.shapes import Call, CallSink, OpenerPlace
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.jsonvalue import accept, checked
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_FENCE = "```"
_FENCES = (f"{_FENCE}json", f"{_FENCE}JSON", _FENCE)
_TAG = re.compile(r"<[A-Za-z_-]+>")
_MAX_ATTRIBUTES = 256  # characters of an opening tag's attributes


@dataclass(frozen=True)
class JsonTags:
    """The form with its tags filled in. Where there are several, all are read and the first one is written.

    wrong        closing tags of other forms that models write instead
    attributed   what an opening tag with attributes begins with, up to its `>`; "" where there is none
    around       what may be in front of a block and after it, and goes with it
    closed       whether the model writes a closer; where not, none is missed
    arguments    the key of the arguments
    line         what is between the tags and the object
    """

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    attributed: str = ""
    around: tuple[str, str] | None = None
    closed: bool = True
    arguments: str = "arguments"
    line: str = "\n"
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    @cached_property
    def _not_its_own(self) -> tuple[str, ...]:
        """What may take a closer's place: those that are wrong, and its own that lost their bracket or slash, too."""
        tags = [closer for closer in self.closing if closer.startswith("</")]
        return (*self.wrong, *(tag[lost:] for tag in tags for lost in (1, 2)))

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The opening tags, and what may be in front of them."""
        before = self.around[:1] if self.around else ()
        return (*self.opening, *filter(None, (self.attributed,)), *before, *self._spaced)

    @cached_property
    def _spaced(self) -> tuple[str, ...]:
        """What opening tags begin with that have a blank after their bracket."""
        return tuple(f"< {tag[1:-1]}" for tag in self.opening if _TAG.fullmatch(tag))

    # Reading

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
        return CallRules(arguments=self.arguments, follow=follow, ends=self.closing, closed=self.closed)

    def _fence(self, scan: Scanner) -> Step[bool]:
        """Take a fence around the body, where one stands. Returns whether."""
        space = yield from scan.space()
        fence = yield from scan.among(_FENCES, space)
        if fence is not None and (yield from scan.among(("{", "["), (yield from scan.space(space + len(fence))))):
            scan.take(space + len(fence))
            return True
        return False

    def _body(self, block: CallReader) -> Step[bool]:
        """What is between the tags: one object, or several where models put all their calls into one block."""
        scan = block.scan
        if (yield from scan.starts("[")):
            return (yield from block.body())
        doubled = yield from scan.starts("{{")
        if doubled:
            scan.take(1)
        if not (yield from block.line()) or not block.begun:
            return False
        if doubled and (yield from accept(scan, "}")):
            block.sink.note_repair("alias")
        while self.closed:
            space = yield from scan.space()
            if (yield from scan.starts(",", space)):
                space = yield from scan.space(space + 1)
            if not (yield from scan.starts("{", space)):
                return True
            block.end()
            count = block.count
            scan.take(space)
            if not (yield from block.line()) or block.count == count:
                return False  # no call: the text after one whose closer is missing
        return True

    def _open(self, scan: Scanner) -> Step[list[Repair] | None]:
        """Take the opening tag. Returns what is to be noted about it, None where there is none."""
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
        if closer is None and self.closed and (yield from self._ends_reopened(scan, space)):
            block.end()
            sink.note_repair("wrong_closer")
            scan.take(scan.rest())
            return True
        if closer is None:
            if self.closed and scan.cut and scan.stops_short(self.closing):
                scan.take(scan.rest())
                return False
            block.end()
            if self.closed:
                sink.note_repair("missing_closer")
            if scan.stops_short(self.closing):
                scan.take(scan.rest())
            return True
        block.end()
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

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One block a call; "" for no calls."""
        return "\n".join(self._block(self._item(call)) for call in calls)

    def _block(self, body: str) -> str:
        closing = self.closing[0] if self.closed else ""
        return f"{self.opening[0]}{self.line}{body}{self.line if closing else ''}{closing}"

    def _item(self, call: Call) -> str:
        checked(call)
        return f'{{"name": {quote(call.name)}, "{self.arguments}": {call.arguments}}}'
