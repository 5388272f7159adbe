"""Calls as a name with an object of their own notation: `OPEN call:N{k:<q>text<q>,n:1,o:{x:[true]}} CLOSE`.

Strings are between delimiters that are special tokens, and nothing in them is escaped; so a delimiter counts only
where the grammar can go on after it, and no bracket or comma inside a string does. Everything else is bare: at the
top the schema types it, inside a container its looks do. A bare value is collected, since `10` may become `10.5`; a
string leaves as it comes.

What models get wrong and is read all the same: parentheses for braces, JSON strings and single quotes for delimited
strings, a string without one of its delimiters, the call's last brace or its closing marker missing. A server may have
eaten the opening marker, so that a line begins with `call:N{`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.code.delimited_members import Marks, Members
from toolcalls.shapes.words import KEY, MAX_WORD, NAME, check_name, skip_past, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_BRACKETS = {"{": "}", "(": ")"}
_NEAR = 512  # characters of a call that lost its marker, in which another mark of the form must stand
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')


@dataclass(frozen=True)
class DelimitedObject:
    """The form with its tokens filled in; the first of each is written.

    opening    what a call begins with
    closing    what it ends with
    delimiter  what is on both sides of a string
    before     what comes before the name; any beginning of it that ends a word may be missing
    """

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    delimiter: str
    before: str = "call:"
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "anywhere"

    @cached_property
    def _marks(self) -> Marks:
        return Marks(self.delimiter, self.closing, self.opening)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The opening markers; and each declared name with what comes before it, where the marker was lost."""
        return (*self.opening, *(f"{self.before}{name}{{" for name in names if self.before))

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        opener = (yield from scan.among(self.opening)) or ""
        if not opener and not (yield from self._is_own(scan)):
            return False
        scan.take(len(opener))
        scan.take((yield from scan.space()))
        if self.before:
            before = yield from scan.among((self.before, ":"))
            scan.take(len(before or ""))
        name = yield from word(scan, NAME)
        space = yield from scan.space(len(name))
        bracket = yield from scan.among(tuple(_BRACKETS), space)
        if not name or bracket is None:
            return False
        scan.take(space + 1)
        name = sink.begin(name)
        if bracket != "{":
            sink.note_repair("other_brackets")
        if not opener:
            sink.note_repair("lost_opener")
        return (yield from self._call(scan, sink, tools, name, _BRACKETS[bracket]))

    def _is_own(self, scan: Scanner) -> Step[bool]:
        """Whether a string's delimiter or the closing marker is near after a call without its marker."""
        while True:
            near = scan.text[scan.pos : scan.pos + _NEAR]
            if any(mark in near for mark in (self.delimiter, *self.closing)):
                return True
            if scan.ended or len(near) == _NEAR:
                return False
            yield

    def _call(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str, closer: str) -> Step[bool]:
        """The members, the bracket and the closing marker. Returns whether the call is complete."""
        arguments = Arguments(sink, tools, name)
        if not (yield from Members(scan, sink, self._marks, tools, name).read(arguments, closer)):
            if scan.rest():
                sink.fail()
                yield from skip_past(scan, self.closing)
            return False
        space = yield from scan.space()
        bracket = yield from scan.starts(closer, space)
        if bracket:
            scan.take(space + 1)
            space = yield from scan.space()
        mark = yield from scan.among(self.closing, space)
        if mark is None and scan.cut and scan.stops_short(self.closing):
            scan.take(scan.rest())
            return False
        arguments.end()
        if mark is None or not bracket:
            sink.note_repair("missing_closer")
        if mark is not None:
            scan.take(space + len(mark))
            return True
        if scan.stops_short(self.closing):
            scan.take(scan.rest())
        return True

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One block a call, keys in order of the alphabet as the models' templates have them; "" for no calls."""
        return "".join(self._write_call(call, tools) for call in calls)

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "before a brace")
        pairs = []
        for key, raw in sorted(members(call.arguments), key=lambda pair: pair[0]):
            if not raw.startswith('"') and to_json(raw, tools.types(call.name, key), infer=tools.infer) != raw:
                raise Unwritable(f"{call.name}.{key}: {raw[:80]} would be read back as another value")
            pairs.append(f"{self._key(key)}:{self._value(raw)}")
        return f"{self.opening[0]}{self.before}{call.name}{{{','.join(pairs)}}}{self.closing[0]}"

    def _key(self, key: str) -> str:
        if len(key) > MAX_WORD or not KEY.fullmatch(key) or not key:
            raise Unwritable(f"the key {key!r} cannot be written before a colon")
        return key

    def _value(self, raw: str) -> str:
        """A value's own notation; its JSON has been checked."""
        out: list[str] = []
        opened: list[str] = []
        is_key = False
        for token in _TOKEN.findall(raw):
            if token.startswith('"'):
                text, _ = to_text(token)
                out.append(self._key(text) if is_key else self._quoted(text))
                continue
            if token in {"{", "["}:
                opened.append(token)
            elif token in {"}", "]"}:
                opened.pop()
            is_key = token == "{" or (token == "," and opened[-1:] == ["{"])
            out.append(token)
        return "".join(out)

    def _quoted(self, text: str) -> str:
        if self.delimiter in text:
            raise Unwritable(f"a string holds {self.delimiter}, which nothing can escape")
        return f"{self.delimiter}{text}{self.delimiter}"
