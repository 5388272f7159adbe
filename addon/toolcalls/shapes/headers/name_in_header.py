"""Calls as a header with a name and raw JSON after it: `BEGIN header SEP J END`, in a section or without one.

The header is everything between the call's first mark and the first character of its arguments. It is looked at whole,
as it is short, and one pattern says whether it is a call's and where the name is in it. The arguments end where
their braces say, so a mark inside a string is data; what is strict JSON leaves as it was written, while it arrives.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import Call, CallSink, OpenerPlace
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked, own_arguments
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

# Characters of a header with all its marks; a name is much shorter.
MAX_HEADER = 512


class Opening(NamedTuple):
    """What begins a call, up to its header; `section`: a section begins with it."""

    length: int
    section: bool


@dataclass(frozen=True)
class Header:
    """The form with its marks filled in.

    opening    what begins a call; several of them may be in a row
    header     all that may be between them and the arguments, with the group `name`
    end        what ends a call, () where nothing does but the arguments' own end
    template   a call as it is written: {name}, {index} from 0, {arguments}
    sections   what begins a section of calls, () for none; the first is written
    closers    what ends a section; the first is written
    fences     what may be between the arguments and the call's end
    between    what is written between two calls
    """

    name: str
    opening: tuple[str, ...]
    header: re.Pattern[str]
    end: tuple[str, ...]
    template: str
    sections: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    fences: tuple[str, ...] = ()
    between: str = ""
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "anywhere"

    @cached_property
    def _begin(self) -> tuple[str, ...]:
        return (*self.sections, *self.opening)

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        return (*self._begin, *self.end, *self.closers)

    @cached_property
    def _stop(self) -> re.Pattern[str]:
        """Where a header ends: at its arguments, or at a mark that says that there are none."""
        return re.compile("|".join(['[{"]', *map(re.escape, self._marks)]))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._marks), default=0)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        return self._begin

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """A section with its calls, or calls that follow each other without one."""
        begun = sectioned = False
        while (opening := (yield from self.opened(scan, tools))) is not None:
            found = self.header.fullmatch((yield from self.heading(scan, opening.length)) or "")
            if found is None:
                return False
            scan.take(opening.length + found.end())
            sectioned = sectioned or opening.section
            name = self.called(found["name"] or "", tools)
            if name:
                sink.begin(name)
                for repair in self.repairs(found["name"] or "", name):
                    sink.note_repair(repair)
                complete = yield from self._arguments(scan, sink)
            else:
                complete = yield from self.nameless(scan, sink, tools)
            begun = True
            if not complete or not (yield from self._ended(scan, sink)):
                return False
            space = yield from scan.space()
            closer = yield from scan.among(self.closers, space)
            if closer is not None:
                scan.take(space + len(closer))
                return True
        return begun and self._unclosed(scan, sink, sectioned=sectioned)

    def opened(self, scan: Scanner, tools: Toolbox) -> Step[Opening | None]:
        """The marks that are here, after white space, not consumed; None where they begin no call.

        Where a form has none, the header itself is the opener.
        """
        if not self._begin:
            space = yield from scan.space()
            opener = yield from scan.among(self.openers(tools.names), space)
            return None if opener is None else Opening(space, section=False)
        ahead = 0
        call = section = False
        while True:
            space = yield from scan.space(ahead)
            mark = yield from scan.among(self._begin, space)
            if mark is None:
                return Opening(ahead, section=section) if call else None
            call = call or mark in self.opening
            section = section or mark in self.sections
            ahead = space + len(mark)
            if ahead > MAX_HEADER:
                return None

    def called(self, written: str, tools: Toolbox) -> str:  # noqa: ARG002 - for other forms
        """The name of the tool that the header calls; "" where it names none."""
        return written

    def repairs(self, written: str, name: str) -> tuple[Repair, ...]:  # noqa: ARG002 - for other forms
        """What is damaged in a header that calls this tool."""
        return ()

    def nameless(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - for other forms
        """Read the arguments of a call whose header names no tool. Returns whether one was found for them."""
        yield from ()
        return False

    def heading(self, scan: Scanner, ahead: int) -> Step[str | None]:
        """What comes before the arguments, `ahead` characters from here, not consumed.

        None where it grows too long or the reply ends in it.
        """
        found = yield from scan.search(self._stop, ahead, ahead + MAX_HEADER, self._longest)
        return None if found is None else scan.text[scan.pos + ahead : found.start()]

    def _arguments(self, scan: Scanner, sink: CallSink) -> Step[bool]:
        """The arguments, which begin here: an object, a string that holds one, or nothing. As `own_arguments`."""
        if (yield from scan.among(("{", '"'))) is not None:
            return (yield from own_arguments(scan, sink, self._marks, self._begin))
        sink.piece("{}")
        return True

    def _ended(self, scan: Scanner, sink: CallSink) -> Step[bool]:
        """What comes after the arguments. Returns whether the call is complete."""
        marks = (*self.fences, *self.end)
        if not self.end:
            sink.end()
        yield from take_surplus(scan, sink, (*self.fences, *self._marks))
        while self.end:
            space = yield from scan.space()
            mark, length = yield from closer_among(scan, marks, space)
            if mark is None:
                break
            scan.take(space + length)
            if mark in self.end:
                sink.end()
                return True
        if self.end:
            if scan.stops_short(marks):
                scan.take(scan.rest())
                if scan.cut:
                    return False
            sink.note_repair("missing_closer")
            sink.end()
        return True

    def _unclosed(self, scan: Scanner, sink: CallSink, *, sectioned: bool) -> bool:
        """No closer comes after the last call. Returns whether what follows it is still the block's own."""
        if not sectioned:
            return True
        sink.note_repair("missing_closer")
        if not scan.stops_short(self.closers):
            return False
        scan.take(scan.rest())
        return True

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """The calls one after the other, in their section where the form has one; "" for no calls."""
        if not calls:
            return ""
        written = self.between.join(self._write_call(index, call) for index, call in enumerate(calls))
        return f"{''.join(self.sections[:1])}{written}{''.join(self.closers[:1])}" if self.sections else written

    def _write_call(self, index: int, call: Call) -> str:
        call = checked(call)
        return self.template.format(name=call.name, index=index, arguments=call.arguments)
