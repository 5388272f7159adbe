"""The one reader of JSON that may be calls: an object, an array of them, or objects one after the other.

A call is an object with a name and arguments, `{"name": N, "arguments": J}`; models know other keys for both
(`call_keys`), and wrap it: `{"type": "function", "function": {...}}`, `{"tool_calls": [...]}`, or make the name the key
of the arguments. When it is one, a form says (`CallRules.commit`):

    name      with its name, where nothing but calls stands: the arguments leave while they arrive. Where they come
              before the name they are held until it is there
    object    when all of its object is there
    message   when all of its object is there and holds nothing else (`strict_calls`): JSON that nothing marks as a
              call. The first key that no call has ends the reading, so other JSON streams on

What comes before the name is bounded but for the arguments: what turns out to be no call was never long.

A call is ended where its object is followed by what may follow it; the last one of a block is ended by the block, which
knows whether its own closer must come first. An object that is no call does not touch those after it: one without a
name is passed over, one whose arguments cannot be read or placed is declined. One that is no JSON ends where its
brackets are closed, if the block goes on there.

Models drop the last brace. Where arguments are whole and the block's closer or another object follows, the braces that
are missing are taken as read; where the text ends they are not. The bracket of an array of whole calls may be missing
in both places, unless the text was cut off.
"""

from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.call_block import CallBlock
from toolcalls.shapes.json.call_object import MAX_DEPTH, CallObject
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.text.scanner import Step


class CallReader(CallBlock):
    """Reads the calls of one block."""

    # Several objects

    def body(self) -> Step[bool]:
        """An array of calls, or objects one after the other. Returns whether it is complete and held a call."""
        if (yield from self.scan.starts("[")):
            return (yield from self.array()) and self.begun
        return (yield from self.lines()) and self.begun

    def lines(self) -> Step[bool]:
        """Objects one after the other, all of them calls. Returns whether they are complete."""
        scan = self.scan
        while True:
            before = self.count
            if not (yield from self.line()) or self.count == before:
                return False
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

    def line(self) -> Step[bool]:
        """One object of those that stand one after the other. Returns whether its end was found."""
        found = yield from self.object()
        behind = ("{", ";", ",", *self._follow) if self.rules.closed else ()
        return self.report(found) if found.whole else (yield from self.skip_broken(found, behind))

    def array(self, depth: int = 0) -> Step[bool]:
        """An array of calls that begins here. Returns whether it is complete."""
        scan = self.scan
        scan.take(1)
        self.unclosed.append("]")
        inside = len(self.unclosed)
        self._listed = True
        begun = False
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts("]")):  # empty, or after a trailing comma
                scan.take(1)
                self.unclosed.pop()
                if begun:
                    self.sink.note_repair("trailing_comma")
                return begun or self.rules.commit != "message"
            if not (yield from scan.starts("{")):
                return False
            begun = True
            found = yield from self.object(depth)
            if not (self.report(found) if found.whole else (yield from self.skip_broken(found, (",", "]"), inside))):
                return False
            space = yield from scan.space()
            if (yield from scan.starts("}", space)):
                after = yield from scan.space(space + 1)
                if (yield from scan.among((",", "]"), after)) is not None:
                    self.sink.note_repair("surplus_bracket")
                    space = after
            follows = yield from scan.among((",", "]"), space)
            if follows is None and not depth and self.begun and (yield from self._ends_here(space)):
                self.sink.note_repair("missing_brace")
                self.unclosed.pop()
                return True
            if follows is None:
                return False
            if follows == ",":
                self.end()
            scan.take(space + 1)
            if follows == "]":
                self.unclosed.pop()
                return True

    def _ends_here(self, ahead: int) -> Step[bool]:
        """Whether the block ends here, or the next one begins: the array's bracket is missing."""
        marks = self.rules.follow
        if (yield from closer_among(self.scan, marks, ahead))[1]:
            return True
        return not self.scan.cut and self.scan.stops_short(marks or ("]",), ahead)

    # One object

    def object(self, depth: int = 0) -> Step[CallObject]:
        """The object that begins here. One that was not reported while it came is for `report` or `skip_broken`."""
        found = CallObject(self, self.array)
        found.whole = depth < MAX_DEPTH and (yield from self.scan.starts("{")) and (yield from found.read(depth))
        return found

    def report(self, found: CallObject) -> bool:
        """Report what a whole object is. Returns whether its block goes on."""
        for number, call in enumerate(found.calls if found.problem is None else ()):
            if number:
                self.end()
            last = number + 1 == len(found.calls)
            repairs = dict.fromkeys((*call.repairs, *(found.repairs if last else ())))
            self.begin(call.name, tuple(repairs), None if call.arguments else "no_arguments")
            self.sink.piece(call.arguments or "{}")
        if found.problem not in {None, "not_a_call"}:
            self.begin(found.written, refused=found.problem)
        self._passed_over = self._passed_over or found.passed_over
        return bool(found.calls) or self.rules.commit != "message"

    def skip_broken(self, found: CallObject, behind: tuple[str, ...] = (), keep: int = 0) -> Step[bool]:
        """Pass over what is left of an object that broke, and report it if it was meant as a call.

        Returns whether its end was found: the block may go on.

        behind   what must come after it, () for anything
        keep     how many brackets are open around it
        """
        scan, rules = self.scan, self.rules
        broke_off = scan.ended and not scan.rest()
        if rules.commit == "message":  # only where its end is found it is certain that it was meant as one of its own
            if found.name not in self.tools or not found.given or found.stray:
                return False
            if not broke_off and not (yield from skip_json(scan, self.unclosed, rules.ends, keep=keep)):
                return False
            self.end()
            self.begin(found.written, refused=None if broke_off else "bad_arguments")
            if not broke_off:
                self.end()
            return not broke_off
        if broke_off or found.name in rules.no_calls:
            return False
        if self.open:
            self.sink.fail()
        elif found.name if not rules.sure else keep and (found.name or self.begun):
            self.begin(found.written, refused="bad_arguments")
        else:
            return False  # after a call, what names no tool is text
        if len(self.unclosed) <= keep or not (yield from skip_json(scan, self.unclosed, rules.ends, keep=keep)):
            return False
        if behind and (yield from scan.among(behind, (yield from scan.space()))) is None:
            return False
        if rules.sure:
            self.end()
        return True
