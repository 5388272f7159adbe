"""Calls as Python writes them: `f(a="x", n=1)`, one after the other, in brackets, between markers, or on lines.

A call begins only where its name is followed by a parenthesis and then by nothing, or by a parameter's name with its
`=` and what may be a literal. So prose, positional arguments and other code are no calls. Parameters' names may be what
Python reserves. Values are literals (`python_literal.py`) and typed by nothing but their own form; a value that is none
breaks the call. White space between tokens means nothing, so calls in brackets may be on lines as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.code.python_literal import literal, starts_literal
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.words import KEY, MAX_WORD, NAME, character, skip_past, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote
from toolcalls.values.toolbox import Toolbox

# What models put before a tool's name as though it was in a module.
_MODULES = ("functions.", "default_api.", "tools.")

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|true|false|null')
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}
_SEPARATORS = (",", ";")
_HALF_KEY = re.compile(r"[\w.$/@-]*+\s*+=?\Z")


@dataclass(frozen=True)
class _Head:
    """A call up to its parenthesis: its name, its length, and whether it is in what `Pythonic.around` says."""

    name: str
    length: int
    inside: bool


@dataclass(frozen=True)
class Pythonic:
    """The form with its markers filled in; the first of each is written.

    opening   what the block begins with; `[` where nothing is around the brackets
    closing   what it ends with, () for nothing
    brackets  what is written around the calls; brackets are read either way
    between   what is written between two calls
    around    what may be around each call, as in `print(f())`
    module    what is written before a name
    """

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...] = ()
    brackets: tuple[str, str] = ("[", "]")
    between: str = ", "
    around: tuple[str, str] = ("", "")
    module: str = ""
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "anywhere"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The markers, or the bracket, also with a tool's name after it, which is likelier a call."""
        return (*self.opening, *(f"[{name}(" for name in names)) if self.opening == ("[",) else self.opening

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One block of calls with its markers."""
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        scan.take(len(opener))
        return (yield from Block(self, scan, sink, tools).read(bracketed=opener == "["))

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:  # noqa: ARG002 - Python says its own types
        """One block with all calls; "" for none."""
        if not calls:
            return ""
        written = self.between.join(self.around[0] + self._write_call(call) + self.around[1] for call in calls)
        opener = "" if self.opening[0] == "[" else self.opening[0]
        closer = self.closing[0] if self.closing else ""
        return f"{opener}{self.brackets[0]}{written}{self.brackets[1]}{closer}"

    def _write_call(self, call: Call) -> str:
        name = f"{self.module}{call.name}"
        if not call.name or len(name) > MAX_WORD or not NAME.fullmatch(name):
            raise Unwritable(f"{call.name!r} cannot be written as a name before a parenthesis")
        pairs = []
        for key, raw in members(call.arguments):
            if not key or len(key) > MAX_WORD or not KEY.fullmatch(key):
                raise Unwritable(f"{call.name}: the key {key!r} cannot be written as a name before an equals sign")
            pairs.append(f"{key}={python_text(raw)}")
        return f"{name}({', '.join(pairs)})"


@dataclass(slots=True)
class Block:
    """The calls of one block, read after its opening marker."""

    form: Pythonic
    scan: Scanner
    sink: CallSink
    tools: Toolbox
    _bracketed: bool = False

    def read(self, *, bracketed: bool) -> Step[bool]:
        """Up to the closing marker. `bracketed`: the opening bracket has been taken."""
        scan = self.scan
        if not bracketed:
            scan.take((yield from scan.space()))
            bracketed = yield from scan.starts("[")
            scan.take(int(bracketed))
        self._bracketed = bracketed
        ahead, begun = (yield from scan.space()), False
        while (head := (yield from self._head(ahead))) is not None:
            scan.take(ahead + head.length)
            self.sink.begin(head.name)
            begun = True
            if not (yield from self._call(head)):
                return False
            ahead = yield from scan.space()
            if (yield from scan.among(_SEPARATORS, ahead)) is not None:
                ahead = yield from scan.space(ahead + 1)
        return begun and (yield from self._end())

    def _head(self, ahead: int) -> Step[_Head | None]:
        """A call's name with its parenthesis, None where no call can follow from what is here."""
        scan, opening = self.scan, self.form.around[0]
        inside = bool(opening) and (yield from scan.starts(opening, ahead))
        start = (yield from scan.space(ahead + len(opening))) if inside else ahead
        name = yield from word(scan, NAME, start)
        end = yield from scan.space(start + len(name))
        if not name or not (yield from scan.starts("(", end)):
            return None
        behind = yield from scan.space(end + 1)
        if not (yield from scan.starts(")", behind)):
            sign = yield from self._parameter(behind)
            if not sign or not (yield from starts_literal(scan, (yield from scan.space(behind + sign)))):
                return None
        return _Head(self._called(name), end + 1 - ahead, inside)

    def _parameter(self, ahead: int) -> Step[int]:
        """The length of a parameter's name with its `=`, `ahead` characters from here; 0 where none stands."""
        scan = self.scan
        key = yield from word(scan, KEY, ahead)
        space = yield from scan.space(ahead + len(key))
        if not key or not (yield from scan.starts("=", space)) or (yield from scan.starts("==", space)):
            return 0
        return space + 1 - ahead

    def _called(self, name: str) -> str:
        """The name without the module that models write before functions."""
        if name not in self.tools:
            for module in _MODULES:
                name = name.removeprefix(module)
        return name

    def _call(self, head: _Head) -> Step[bool]:
        """The arguments with their parenthesis. Returns whether the call is complete."""
        scan, sink = self.scan, self.sink
        if not (yield from self._arguments(head)) or not (yield from self._goes_on(0)):
            if scan.rest():
                sink.fail()
                yield from skip_past(scan, self.form.closing or ("\n",))
            return False
        if scan.cut and (yield from scan.space()) == scan.rest():
            return False  # nobody knows whether the block would have gone on
        sink.end()
        return True

    def _arguments(self, head: _Head) -> Step[bool]:
        scan, sink = self.scan, self.sink
        seen: set[str] = set()
        sink.piece("{")
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts(")")):
                break
            if not (yield from self._parameter(0)):
                if scan.ended and _HALF_KEY.match(scan.text, scan.pos):
                    scan.take(scan.rest())  # the text ended inside it
                return False
            key = scan.take(len((yield from word(scan, KEY))))
            scan.take((yield from scan.space()) + 1)
            scan.take((yield from scan.space()))
            if key in seen:
                sink.note_repair("duplicate_argument")
            sink.piece(f"{',' if seen else ''}{quote(key)}:")
            seen.add(key)
            if not (yield from literal(scan, sink, sink.piece, self._behind_value)):
                return False
            scan.take((yield from scan.space()))
            if not (yield from scan.starts(",")):
                break
            scan.take(1)
        for closer in (")", self.form.around[1]) if head.inside else (")",):
            scan.take((yield from scan.space()))
            if not (yield from scan.starts(closer)):
                return False
            scan.take(len(closer))
        sink.piece("}")
        return True

    def _behind_value(self, ahead: int) -> Step[bool]:
        """Whether the call can go on so many characters from here, after an argument."""
        scan = self.scan
        space = yield from scan.space(ahead)
        char = yield from character(scan, space)
        if char == ",":
            space = yield from scan.space(space + 1)
            return (yield from scan.starts(")", space)) or (yield from self._parameter(space)) > 0
        return char == ")" and (yield from self._goes_on(space + 1))

    def _goes_on(self, ahead: int) -> Step[bool]:
        """Whether the block can go on so many characters from here, after a call."""
        scan = self.scan
        space = yield from scan.space(ahead)
        char = yield from character(scan, space)
        if char == "" or char in "])" or (yield from closer_among(scan, self.form.closing, space))[1]:
            return True
        if char in _SEPARATORS:
            space = yield from scan.space(space + 1)
            if (yield from scan.starts("]", space)):
                return True
        elif not self._bracketed and self.form.closing:
            return True  # what follows is no call's: the closing marker is what is missing
        if (yield from self._head(space)) is not None or scan.stops_short(self.form.closing, ahead):
            return True
        return self.form.opening != ("[",) and (yield from scan.among(self.form.opening, space)) is not None

    def _end(self) -> Step[bool]:
        """The closing bracket and the closing marker. Returns whether what was taken is the block's."""
        scan, closing = self.scan, self.form.closing
        space = yield from scan.space()
        if (yield from scan.among(_SEPARATORS, space)) is not None:
            space = yield from scan.space(space + 1)
        own = not self._bracketed
        if self._bracketed and (yield from scan.starts("]", space)):
            scan.take(space + 1)
            space, own = (yield from scan.space()), True
        closer, length = yield from closer_among(scan, closing, space)
        if closer is None or not own:
            if closing or not own:
                self.sink.note_repair("missing_closer")
            if closer is None and scan.stops_short((*closing, "]")):
                scan.take(scan.rest())
                return True
        if closer is not None:
            scan.take(space + length)
        return own or closer is not None


def python_text(json: str) -> str:
    """JSON as Python writes the same value."""
    return _TOKEN.sub(_python, json.strip())


def _python(found: re.Match[str]) -> str:
    """A JSON token as Python writes it. A string may stand as it is, but for the escape that only JSON knows."""
    token = found.group()
    if not token.startswith('"'):
        return _CONSTANTS[token]
    return re.sub(r"\\(.)", lambda escape: "/" if escape[1] == "/" else escape[0], token)
