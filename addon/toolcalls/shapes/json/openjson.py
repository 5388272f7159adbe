"""Calls as JSON in the open: an object or an array that is alone, in a fence, or in tags that hold other JSON too.

Nothing marks such JSON as a call, so each object is read to its end and must be a call by its keys (`completejson`). An
array is read object by object, and so are objects one after the other, on lines or with semicolons or commas between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import Call, CallSink, OpenerPlace
from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.completejson import BrokenObject, calls_meant, complete_object
from toolcalls.shapes.json.jsonvalue import NAMES, checked
from toolcalls.shapes.json.surplus import take_surplus
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class OpenJson:
    """The form with its fences filled in.

    fences    what comes before and after the JSON, ("", "") for nothing; the first is written
    brackets  what the JSON may begin with; an array is written where "[" comes first, else one object a line
    """

    name: str
    fences: tuple[tuple[str, str], ...] = (("", ""),)
    brackets: tuple[str, ...] = ("{", "[")
    place: OpenerPlace = "message"
    stray_words: tuple[str, ...] = ()

    @cached_property
    def _closers(self) -> dict[str, str]:
        return dict(self.fences)

    @cached_property
    def _opening(self) -> tuple[str, ...]:
        return tuple(fence for fence, _ in self.fences if fence)

    @cached_property
    def _ends(self) -> tuple[str, ...]:
        """What no call goes on after. So what is no call is short where it may be read again from there."""
        return tuple(dict.fromkeys(filter(None, (mark for fence in self.fences for mark in fence))))

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The fences; where the JSON may be bare, its brackets, also with a tool's name: that is likelier a call."""
        if "" not in self._closers:
            return self._opening
        leads = ("{" if bracket == "{" else "[{" for bracket in self.brackets)
        heads = [f'{lead}{gap}"{key}":' for lead in leads for gap in ("", " ") for key in NAMES]
        named = (f"{head}{gap}{quote(name)}" for head in heads for gap in (" ", "") for name in names)
        return (*self._opening, *self.brackets, *named)

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One fence with its calls, and those right after it; or the calls that are bare."""
        while (yield from self._block(scan, sink, tools)):
            space = yield from scan.space()
            fence = yield from scan.among(self._opening, space)
            inside = yield from scan.space(space + len(fence or ""))
            if fence is None or (yield from scan.among(self.brackets, inside)) is None:
                return True
            scan.take(space)
        return False

    def _block(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        fence = (yield from scan.among(self._opening)) or ""
        scan.take(len(fence))
        scan.take((yield from scan.space()))
        bracket = yield from scan.among(self.brackets)
        if bracket is None or fence not in self._closers:
            return False
        reader = _Objects(scan, sink, tools, self._ends)
        whole = yield from reader.array() if bracket == "[" else reader.lines()
        if whole and (yield from self._close(scan, sink, self._closers[fence])):
            reader.end()
            return True
        if reader.open and not scan.ended:  # something else is there too, so it is no call
            sink.fail()
        return False

    def _close(self, scan: Scanner, sink: CallSink, closer: str) -> Step[bool]:
        """Take the closer of a fence. Returns whether the fence is closed, or the reply has ended instead."""
        yield from take_surplus(scan, sink, (closer,) if closer else ())
        space = yield from scan.space()
        if not closer:
            return True
        _, length = yield from closer_among(scan, (closer,), space)
        if length:
            scan.take(space + length)
            return True
        if scan.cut or not scan.stops_short((closer,)):
            return False
        sink.note_repair("missing_closer")
        scan.take(scan.rest())
        return True

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        """One block for all calls; "" for none."""
        if not calls:
            return ""
        items = [_item(call) for call in calls]
        body = f"[{', '.join(items)}]" if self.brackets[0] == "[" else "\n".join(items)
        opening, closing = self.fences[0]
        return f"{opening}\n{body}\n{closing}" if opening else body


def _item(call: Call) -> str:
    checked(call)
    return f'{{"name": {quote(call.name)}, "arguments": {call.arguments}}}'


class _Objects:
    """Reads objects whole, each as the calls that it means. `open`: the last one is not ended."""

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, ends: tuple[str, ...]) -> None:
        self._scan = scan
        self._ends = ends
        self._sink = sink
        self._tools = tools
        self.open = False

    def end(self) -> None:
        """The last call is complete."""
        if self.open:
            self._sink.end()
            self.open = False

    def _object(self, *, listed: bool = False) -> Step[bool]:
        broken = BrokenObject()
        found = yield from complete_object(
            self._scan,
            listed=listed,
            broken=broken,
            ends=None if listed else self._ends_here,
            named=self._sink.expect,
        )
        if found is None:
            return (yield from self._broken(broken))
        meaning = calls_meant(found.json, self._tools)
        for call in meaning:
            self.end()
            self._sink.begin(call.name, None if call.arguments else "no_arguments")
            self._sink.piece(call.arguments or "{}")
            self.open = True
        for repair in found.repairs if meaning else ():
            self._sink.note_repair(repair)
        return bool(meaning)

    def _broken(self, found: BrokenObject) -> Step[bool]:
        """Report an object that names a declared tool, and that breaks or breaks off in its arguments.

        Returns whether its end was found: only then is it certain that it was meant as a call of its own.
        """
        scan = self._scan
        if self._tools.resolve(found.name) not in self._tools or not found.given or not found.unclosed:
            return False
        cut_off = scan.ended and not scan.rest()
        if not cut_off and not (yield from skip_json(scan, found.unclosed, self._ends)):
            return False
        self.end()
        self._sink.begin(found.name, None if cut_off else "bad_arguments")
        if cut_off:
            return False
        self._sink.end()
        return True

    def _ends_here(self, ahead: int) -> Step[bool]:
        """Whether the last bracket or brace is missing: the fence closes here, or the text ends as it should."""
        if (yield from closer_among(self._scan, self._ends, ahead))[1]:
            return True
        return not self._scan.cut and self._scan.stops_short(self._ends or ("]",), ahead)

    def lines(self) -> Step[bool]:
        """Objects one after the other. Returns whether they are complete; the last call is not ended."""
        scan = self._scan
        while (yield from self._object()):
            space = yield from scan.space()
            parted = yield from scan.among((";", ","), space)
            if parted is not None:
                space = yield from scan.space(space + 1)
            if not (yield from scan.starts("{", space)):
                if parted == ";" and scan.ended and space == scan.rest():
                    scan.take(space)  # a call was to follow
                return True
            self.end()
            scan.take(space)
        return False

    def array(self) -> Step[bool]:
        """An array that begins here, with its bracket. Returns whether it is complete; the last call is not ended."""
        scan = self._scan
        scan.take(1)
        begun = False
        while True:
            scan.take((yield from scan.space()))
            if begun and (yield from scan.starts("]")):
                scan.take(1)
                self._sink.note_repair("trailing_comma")
                return True
            if not (yield from scan.starts("{")) or not (yield from self._object(listed=True)):
                return False
            space = yield from scan.space()
            if (yield from scan.starts("}", space)):
                after = yield from scan.space(space + 1)
                if (yield from scan.among((",", "]"), after)) is not None:
                    self._sink.note_repair("surplus_bracket")
                    space = after
            follows = yield from scan.among((",", "]"), space)
            if follows is None and (yield from self._ends_here(space)):
                self._sink.note_repair("missing_brace")
                return True
            if follows is None:
                return False
            if follows == ",":
                self.end()
            begun = True
            scan.take(space + 1)
            if follows == "]":
                return True
