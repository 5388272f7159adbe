"""The calls that JSON in a block means, read member by member while they arrive.

For blocks that hold nothing but calls: a call is reported as early as it can be, and what is damaged is read as far as
its meaning is certain. Where an object may be something else as well, `callobject` reads it.

A call is an object with a name and arguments, `{"name": N, "arguments": J}`; models know other keys for both, and wrap
it: `{"type": "function", "function": {...}}`, `{"tool_call": {...}}`, `{"tool_calls": [...]}`, or make the name the
key of the arguments. The arguments leave
while they arrive, as the model wrote them where that is strict JSON. Where they come before the name they are held
until it is there. What comes before the name is bounded but for them, and holds no comments: what turns
out to be no call was never long.

A call is ended where its object is followed by what may follow it; the last one of a block is ended by the block, which
knows whether its own closer must come first. An object that is no call does not touch those after it: one without a
name is passed over, one whose arguments cannot be read or placed is declined. One that is no JSON ends where its
brackets are closed, if the block goes on there. Members beside the name and the arguments are `callmembers`'.

Models drop the last brace. Where arguments are whole and the block's closer or another object follows, the braces that
are missing are taken as read; where the text ends they are not. The bracket of an array of whole calls may be missing
in both places, unless the text was cut off.

Past 300 lines: a block holds objects and an object may hold a block, so the two readers call each other.
"""

import json

from toolcalls.events import Reason, Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.callmembers import OpenArguments, placed
from toolcalls.shapes.json.completejson import (
    MAX_NAME,
    MAX_PASSED,
    QUOTES,
    UNESCAPED,
    bare_key,
    complete_value,
    decoded_string,
)
from toolcalls.shapes.json.jsonvalue import ARGUMENTS, NAMES, accept, argument_object, separated, value
from toolcalls.shapes.words import NAME, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

WRAPPERS = (*NAMES, "tool_call", "function_call", "tool_calls", "toolCalls")
_BRACKETS = ("{", "[")
_SPACES = ("", " ", "\n", "\n ", "\n  ", "\n    ")  # between a brace and the first key
_ESCAPED = ("{\\n", *(f"{{{space}{quote}" for space in _SPACES for quote in ('\\"', "&quot;", "&#34;")))
_MAX_DEPTH = 4  # `{"tool_calls": [{"function": {...}}]}`, and one to spare


class CallReader:
    """Reads the calls of one block.

    arguments   the key that the dialect writes; a call with others is noted as `alias`
    follow      what may come after the block or begin the next one
    ends        what ends the block wherever it stands
    closed      the block has a closer; where not, a broken call ends where its brackets are closed
    count       how many calls were reported, also those that were declined
    open        a call was reported and has not ended
    passed_over an object that names no tool was passed over, and no call has said so yet
    """

    def __init__(
        self,
        scan: Scanner,
        sink: CallSink,
        tools: Toolbox,
        arguments: str = "arguments",
        follow: tuple[str, ...] = (),
        *,
        ends: tuple[str, ...] = (),
        closed: bool = True,
    ) -> None:
        self.scan = scan
        self.sink = sink
        self.tools = tools
        self.arguments = arguments
        self.count = 0
        self.open = False
        self.passed_over = False
        self.unclosed = list[str]()  # what closes each bracket that is open, where JSON broke
        self._marks = follow
        self._follow = ("]", "{", *follow)
        self._ends = ends
        self._closed = closed

    @property
    def begun(self) -> bool:
        """Whether a call was reported."""
        return self.count > 0

    def begin(self, name: str, repairs: list[Repair]) -> None:
        """A call begins; `repairs` is what was noted before it could be."""
        self.sink.begin(name)
        self.count += 1
        self.open = True
        for repair in repairs:
            self.sink.note_repair(repair)
        self._say_what_was_passed_over()

    def refuse(self, name: str, reason: Reason) -> None:
        """What would be a call is none. What was passed over before it is shown with it."""
        self.passed_over = False
        self.sink.begin(name, reason)
        self.count += 1
        self.open = True

    def end(self) -> None:
        """The call that is open is complete."""
        if self.open:
            self._say_what_was_passed_over()
            self.sink.end()
            self.open = False

    def _say_what_was_passed_over(self) -> None:
        if self.passed_over:
            self.sink.note_repair("left_out")
            self.passed_over = False

    def body(self) -> Step[bool]:
        """An array of calls, or objects one after the other. Returns whether it is complete and held a call."""
        scan = self.scan
        if (yield from scan.starts("[")):
            return (yield from self.array())
        while (yield from self.line()):
            space = yield from scan.space()
            if (yield from scan.among((";", ","), space)):
                space = yield from scan.space(space + 1)
            if not (yield from scan.starts("{", space)):
                return self.begun
            self.end()
            scan.take(space)
        return False

    def line(self) -> Step[bool]:
        """One object of those that stand one after the other. Returns whether its end was found."""
        behind = ("{", ";", ",", *self._follow) if self._closed else ()
        return (yield from self.object()) or (yield from self._skip_broken(behind))

    def _skip_broken(self, behind: tuple[str, ...], keep: int = 0) -> Step[bool]:
        """Pass over what is left of an object that broke. Returns whether its end was found: the block may go on.

        after   what must come after it, () for anything
        keep     how many brackets are open around it
        """
        scan = self.scan
        if not self.begun or not (scan.rest() or not scan.ended):
            return False
        if self.open:
            self.sink.fail()
        elif keep:
            self.refuse("", "bad_arguments")
        else:
            return False  # after a call, what names no tool is text
        if len(self.unclosed) <= keep or not (yield from skip_json(scan, self.unclosed, self._ends, keep=keep)):
            return False
        if behind and (yield from scan.among(behind, (yield from scan.space()))) is None:
            return False
        self.sink.end()
        self.open = False
        return True

    def lacks_braces(self) -> Step[bool]:
        """Whether what follows here ends an object without its brace.

        Where no closer comes after it, the reply's end does, unless it broke off.
        """
        space = yield from self.scan.space()
        if (yield from self.scan.starts(",", space)):
            return (yield from self.scan.starts("{", (yield from self.scan.space(space + 1))))
        if (yield from self.scan.among(self._follow, space)) is not None:
            return True
        return not (self._closed or self.scan.cut) and self.scan.stops_short(("}",), space)

    def array(self, depth: int = 0) -> Step[bool]:
        """An array of calls that begins here. Returns whether it is complete and held a call."""
        scan = self.scan
        scan.take(1)
        self.unclosed.append("]")
        inside = len(self.unclosed)
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts("]")):  # empty, or after a trailing comma
                scan.take(1)
                self.unclosed.pop()
                if self.begun:
                    self.sink.note_repair("trailing_comma")
                return self.begun
            if not (yield from scan.starts("{")):
                return False
            if not ((yield from self.object(depth)) or (yield from self._skip_broken((",", "]"), inside))):
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
                return self.begun

    def _ends_here(self, ahead: int) -> Step[bool]:
        """Whether the block ends here, or the next one begins: the array's bracket is missing."""
        if (yield from self.scan.among(self._marks, ahead)) is not None:
            return True
        return not self.scan.cut and self.scan.stops_short(self._marks or ("]",), ahead)

    def object(self, depth: int = 0) -> Step[bool]:
        """An object that may be a call or hold some. Returns whether it is complete; `count` says what it was."""
        if depth >= _MAX_DEPTH or not (yield from self.scan.starts("{")):
            return False
        self.unclosed.append("}")
        if (yield from self.scan.among(_ESCAPED)):
            self.unclosed.pop()
            return (yield from self._escaped(depth))
        whole = yield from self.members(depth)
        if whole:
            self.unclosed.pop()
        return whole

    def _escaped(self, depth: int) -> Step[bool]:
        """An object all of whose quotes are escaped: read as what the escapes say, when it is whole."""
        found = yield from complete_value(self.scan, None, self.unclosed)
        if found is None:
            return False
        inner = Scanner()
        # What was decoded once is text, also where it looks like an entity.
        inner.feed(found.json.replace("&", "\\u0026") if "entities" in found.repairs else found.json)
        inner.end(cut=False)
        reader = CallReader(inner, self.sink, self.tools, self.arguments)
        whole = yield from reader.object(depth)
        self.count += reader.count
        self.open = self.open or reader.open
        self.passed_over |= reader.passed_over
        for repair in found.repairs if reader.begun else ():
            self.sink.note_repair(repair)
        return whole

    def members(self, depth: int) -> Step[bool]:
        """An object that begins here, as `object`."""
        return (yield from _Object(self, depth).read())


class _Object:
    """One object, member by member."""

    def __init__(self, block: CallReader, depth: int) -> None:
        self._block = block
        self._depth = depth
        self._written = ""  # the name as it is there
        self._name = ""  # of the tool that it means
        self._arguments: str | None = None  # where they came before the name, or not as an object
        self._unread = ""  # the key of arguments that are no object, "" for none
        self._beside: list[tuple[str, str]] = []  # other members
        self._open: OpenArguments | None = None  # arguments that leave while they arrive
        self._wraps = False  # the calls in it have begun
        self._first = True  # no key was read so far
        self._bare = False  # the first key has no quotes
        self._took_comma = False  # the quote that ends the name is the next key's: the comma was in the name
        self._repairs: list[Repair] = []  # what was noted before

    def read(self) -> Step[bool]:
        scan = self._block.scan
        scan.take(1)
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts("}")):  # after a trailing comma, or an empty object
                break
            key = yield from self._key()
            if key is None:
                return False
            slipped = yield from self._slipped_colon(key)
            if not slipped and not (yield from separated(scan, ":", self._note)):
                return False
            scan.take((yield from scan.space()))
            if not (yield from (self._named_at(key.rstrip(": ")) if slipped else self._member(key))):
                return False
            if (self._open or self._wraps) and (yield from self._block.lacks_braces()):
                self._block.sink.note_repair("missing_brace")
                self._end()
                return True
            if not self._took_comma and not (yield from separated(scan, ",", self._note)):
                break
        if not (yield from accept(scan, "}")):
            return False
        self._end()
        return True

    def _note(self, name: Repair) -> None:
        if self._open or self._wraps:
            self._block.sink.note_repair(name)
        else:
            self._repairs.append(name)

    def _begin(self) -> OpenArguments:
        self._block.begin(self._written, self._repairs)
        return OpenArguments(self._block.sink.piece)

    def _end(self) -> None:
        """The object is whole: report it where it is a call, and what else it held."""
        block = self._block
        given = self._open is not None or self._arguments is not None
        beside = placed(self._beside, self._name, block.tools, given=given or self._wraps)
        if self._wraps or not self._name:
            if self._wraps and beside.left:
                block.sink.note_repair("left_out")
            block.passed_over |= not self._wraps and (beside.left or given)
            return
        if self._open is None:
            if self._unread and self._unread not in dict(beside.arguments):
                block.refuse(self._written, "bad_arguments")
                return
            if beside.left and not given:
                block.refuse(self._written, "unknown_arguments")
                return
            self._open = self._begin()
            self._open.add(self._arguments or "{}")
        self._open.close(beside.arguments)
        if beside.arguments:
            block.sink.note_repair("flat_arguments")
        if beside.left:
            block.sink.note_repair("left_out")

    def _key(self) -> Step[str | None]:
        """A key that begins here, decoded, also a word without its quotes, or without the first; None for no key."""
        scan = self._block.scan
        first, self._first = self._first, False
        if (yield from scan.among(QUOTES)):
            return (yield from self._text())
        found = yield from bare_key(scan)
        self._bare = self._bare or first
        took_comma, self._took_comma = self._took_comma, False
        half = yield from scan.starts('"')
        if found is None or half != took_comma:
            return None
        if half:
            scan.take(1)
            return str(json.loads(found.json))
        if not self._bare:
            return None  # it may as well be part of a string that lost its escapes
        key = decoded_string(found, self._repairs)
        if self._open or self._wraps:
            self._block.sink.note_repair("bare_key")
        return key

    def _slipped_colon(self, key: str) -> Step[bool]:
        """Whether the colon after a name's key is in the key's quotes: `"name: "N"`."""
        if key.rstrip()[-1:] != ":" or key.rstrip(": ") not in NAMES or self._name:
            return False
        return not (yield from self._block.scan.starts(":", (yield from self._block.scan.space())))

    def _text(self) -> Step[str | None]:
        """A string that begins here, decoded; None for anything else, or one that is too long."""
        if not (yield from self._block.scan.among(QUOTES)):
            return None
        found = yield from complete_value(self._block.scan, MAX_NAME, self._block.unclosed)
        return None if found is None else decoded_string(found, self._repairs)

    def _member(self, key: str) -> Step[bool]:
        block = self._block
        bracket = yield from block.scan.among(_BRACKETS)
        if self._open or self._wraps:
            return (yield from self._behind(key))
        if key in WRAPPERS and bracket is not None and not self._name:
            return (yield from self._wrapped(bracket))
        if key in NAMES and not self._name and (yield from self._may_name()):
            return (yield from self._named(key))
        if key in ARGUMENTS and self._arguments in {None, "{}"}:
            return (yield from self._given(key, bracket))
        if not self._name and not self._beside and bracket == "{" and key in block.tools:
            return (yield from self._keyed(key))
        return (yield from self._other(key))

    def _behind(self, key: str) -> Step[bool]:
        """A member after the arguments, kept only where it is one itself."""
        sink, tools = self._block.sink, self._block.tools
        kept = list[str]()
        declared = tools.key(self._name, key) in tools.keys(self._name)

        def keep(made: str) -> None:
            if declared and sink.collect(len(made)):
                kept.append(made)

        if not (yield from value(self._block.scan, sink, keep, self._block.unclosed)):
            return False
        self._beside.append((key, "".join(kept)))
        return True

    def _wrapped(self, bracket: str) -> Step[bool]:
        block = self._block
        read, before = block.array if bracket == "[" else block.object, block.count
        whole_one = yield from read(self._depth + 1)
        self._wraps = block.count > before
        if self._wraps:
            block.sink.note_repair("alias")
        return whole_one

    def _keyed(self, name: str) -> Step[bool]:
        """A declared name as the key of its arguments: `{"N": {...}}`."""
        self._take_name("name", name)
        self._repairs.append("alias")
        self._open = self._begin()
        return (yield from value(self._block.scan, self._block.sink, self._open.add, self._block.unclosed, direct=True))

    def _may_name(self) -> Step[bool]:
        """Whether a string is here, or a declared name that lost its first quote."""
        scan = self._block.scan
        if (yield from scan.among(QUOTES)):
            return True
        found = yield from word(scan, NAME)
        return found in self._block.tools and (yield from scan.starts('"', len(found)))

    def _named(self, key: str) -> Step[bool]:
        if not (yield from self._block.scan.among(QUOTES)):
            return (yield from self._named_at(key))
        name = yield from self._text()
        if name is not None and name.strip() == ":":  # `"name":": "N"`
            return (yield from self._named_at(key))
        if name is not None and name.rstrip()[-1:] == ",":  # `"name": "N, "arguments"`
            name = name.rstrip(", ")
            if self._block.tools.resolve(name) not in self._block.tools:
                return False
            self._repairs.append("missing_quote")
            self._took_comma = True
        self._take_name(key, name or "")
        return name is not None

    def _named_at(self, key: str) -> Step[bool]:
        """A declared name that is here without its first quote."""
        scan = self._block.scan
        name = yield from word(scan, NAME)
        if self._block.tools.resolve(name) not in self._block.tools or not (yield from scan.starts('"', len(name))):
            return False
        scan.take(len(name) + 1)
        self._repairs.append("missing_quote")
        self._take_name(key, name)
        return True

    def _take_name(self, key: str, name: str) -> None:
        self._written = name
        self._name = self._block.tools.resolve(name)
        if key != "name":
            self._repairs.append("alias")

    def _given(self, key: str, bracket: str | None) -> Step[bool]:
        block = self._block
        if self._name and bracket == "{":
            self._note_alias(key)
            self._open = self._begin()
            return (yield from value(block.scan, block.sink, self._open.add, block.unclosed, direct=True))
        if self._name and (yield from block.scan.among(UNESCAPED)):
            self._note_alias(key)
            self._repairs.append("nested_quotes")
            self._open = self._begin()
            block.scan.take(1)
            whole = yield from value(block.scan, block.sink, self._open.add, block.unclosed, direct=True)
            yield from accept(block.scan, '"')  # it may be lost, too
            return whole
        if self._name:
            block.sink.expect(self._name)
        found = yield from complete_value(block.scan, None, block.unclosed)
        if found is None:
            return False
        self._arguments = argument_object(found.json)
        if self._arguments is None:
            self._unread = key
            self._beside.append((key, found.json))
        else:
            self._note_alias(key)
        self._repairs += found.repairs
        return True

    def _note_alias(self, key: str) -> None:
        if key != self._block.arguments:
            self._repairs.append("alias")

    def _other(self, key: str) -> Step[bool]:
        """A member that is no argument by its key. What the tool declares may be long."""
        block = self._block
        declared = bool(self._name) and block.tools.key(self._name, key) in block.tools.keys(self._name)
        found = yield from complete_value(block.scan, None if declared else MAX_PASSED, block.unclosed)
        if found is None:
            return False
        said_again = key in NAMES and found.json == quote(self._written)
        if not said_again:
            self._beside.append((key, found.json))
            self._repairs += found.repairs
        return True
