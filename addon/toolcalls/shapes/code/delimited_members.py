"""The members of a call in the notation of `DelimitedObject`, read piece by piece.

Members stand as `key:value`, the key plain or between delimiters. A value is a string between delimiters, a JSON
string, an object or an array of such values, or bare text, which ends where the grammar can go on. The schema types
bare text, also inside objects and arrays; where it says nothing there, the looks do.

Models also put single quotes in the place of delimiters, or in front of them. They are no part of the value where the
second one is in front of what may follow a value. A string whose second delimiter is missing ends where all its
closers follow with the call's closing marker, and after that another call or the reply's end; or at a comma with
another parameter of the call and its string's delimiter after it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Protocol

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.json.json_values import string as json_string
from toolcalls.shapes.words import KEY, character, word
from toolcalls.text.scanner import Scanner, Search, Step
from toolcalls.values.conversion import Types, escape, is_json, quote, to_json
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.transducer import MAX_DEPTH

_QUOTE = "'"  # models put it in the place of a string's mark
_CLOSERS = {"{": "}", "[": "]"}
_QUOTED_KEY = re.compile(r'[^<"\n]*+')
_ENDS_BARE = re.compile(r"[,}\])<]").search
_ENDS_KEY = re.compile(r"[,}\])]").search
_BEHIND_BRACKET = frozenset(",}])< \t\r\n")
_BLANKS = re.compile(r"[ \t]*+")
_MAX_QUOTED = 1 << 16  # characters between single quotes
_MAX_LITERAL = 64  # characters of a bare value that may be a literal in front of a bracket with text after it


@dataclass(frozen=True)
class Marks:
    """What strings are between, and the markers that end a call and begin one."""

    delimiter: str
    closing: tuple[str, ...]
    opening: tuple[str, ...]

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The markers that end a call, with or without its bracket."""
        return (*self.closing, *self.opening)

    @cached_property
    def key_quotes(self) -> tuple[str, ...]:
        """What may be on both sides of a key."""
        return (self.delimiter, '"')


class _Open(Protocol):
    """Opens a value. `string`: True where the text says that it is one, None where it says nothing."""

    def __call__(self, *, string: bool | None = None) -> Value: ...


class _Item:
    """A value inside a container. The schema types what is not surely a string, or its looks do."""

    wake_on = None

    def __init__(self, keep: Callable[[str], None], types: Types | None, *, string: bool | None = None) -> None:
        self._keep = keep
        self._types = types
        self._string = string
        if string:
            keep('"')

    def add(self, piece: str) -> None:
        if self._string:
            self._keep(escape(piece))
        elif self._types is not None:
            self._keep(to_json(piece, self._types))
        else:
            self._keep(piece if _is_literal(piece) else quote(piece))

    def end(self, *, literal: bool = False) -> None:  # noqa: ARG002 - the text says what is one
        if self._string:
            self._keep('"')


@dataclass(frozen=True)
class _Bare:
    """Bare text. `string`: a delimiter was after it, so it was a string whose first one is missing."""

    text: str
    string: bool


@dataclass(slots=True)
class Members:
    """Reads the members of one call of a tool. `given`: the keys that have come."""

    scan: Scanner
    sink: CallSink
    marks: Marks
    tools: Toolbox
    name: str
    given: set[str] = field(default_factory=set)

    def read(self, arguments: Arguments, closer: str) -> Step[bool]:
        """All members, up to `closer` or to where it is missing. False where they are none, or the text ends in one."""
        scan = self.scan
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.among((closer, *self.marks.ends))) is not None:
                return True
            key = yield from self._key()
            if key is None or not (yield from self._member(arguments, key, closer)):
                return False
            scan.take((yield from scan.space()))
            if not (yield from scan.starts(",")):
                return (yield from self._behind(0, closer))
            scan.take(1)

    # Keys

    def _key(self) -> Step[str | None]:
        """Take a key with its colon, and the white space after it. None where none stands."""
        scan = self.scan
        head = yield from self._head(0)
        if head is None:
            if scan.ended and _ENDS_KEY(scan.text, scan.pos) is None:
                scan.take(scan.rest())  # the text ended inside it
            return None
        key, size = head
        scan.take(size)
        space = yield from scan.space()
        marked = yield from scan.among((self.marks.delimiter, '"', _QUOTE, *_CLOSERS), space)
        if marked is None:  # line ends are a bare value's own
            blanks = _BLANKS.match(scan.text, scan.pos)
            space = min(space, len(blanks[0]) if blanks else 0)
        scan.take(space)
        return key

    def _head(self, ahead: int) -> Step[tuple[str, int] | None]:
        """The key that stands `ahead` characters from here and its length with the colon."""
        scan = self.scan
        mark = (yield from scan.among(self.marks.key_quotes, ahead)) or ""
        start = ahead + len(mark)
        key = yield from word(scan, _QUOTED_KEY if mark else KEY, start)
        end = start + len(key)
        if mark:
            if not (yield from scan.starts(mark, end)):
                return None
            end += len(mark)
        elif not key:
            return None
        end = yield from scan.space(end)
        colon = yield from scan.among((":", "="), end)
        return None if colon is None else (key, end + 1 - ahead)

    # Values

    def _member(self, arguments: Arguments, key: str, closer: str) -> Step[bool]:
        """One value of the call itself."""
        self.given.add(key)
        if (yield from self.scan.among(tuple(_CLOSERS))) is not None:
            value = arguments.value(key)
            if not (yield from self._container(value.add, key, closer)):
                return False
            value.end()
            return True
        return (yield from self._value(partial(arguments.value, key), closer, self.tools.types(self.name, key)))

    def _value(self, opened: _Open, closers: str, types: Types | None) -> Step[bool]:
        """A string or bare text. False where the text ends in it. `closers` close what it is in, up to the call."""
        scan, delimiter = self.scan, self.marks.delimiter
        quoted = yield from self._quoted(closers[0])
        if quoted is not None:
            value = opened(string=True if types is None else None)
            value.add(quoted)
            value.end()
            return True
        before = yield from self._quote_before()
        if (yield from scan.starts(delimiter)):
            scan.take(len(delimiter))
            value = opened(string=True)
            if not (yield from self._string(value.add, closers, before, value.wake_on)):
                return False
        elif (yield from scan.starts('"')):
            text = yield from json_string(scan, self.sink)
            if text is None:
                return False
            self.sink.note_repair("missing_quote")
            value = opened(string=True)
            value.add(text)
        else:
            bare = yield from self._bare(closers[0])
            if bare is None:
                return False
            value = opened(string=True if bare.string else None)
            value.add(bare.text)
        value.end()
        return True

    def _quote_before(self) -> Step[str]:
        """Take a single quote in front of a delimiter, and note it. Returns it, "" for none."""
        if not (yield from self.scan.starts(_QUOTE + self.marks.delimiter)):
            return ""
        self.scan.take(len(_QUOTE))
        self.sink.note_repair("single_quotes")
        return _QUOTE

    def _quoted(self, closer: str) -> Step[str | None]:
        """Take a value that begins with a single quote, and what ends it. Returns its text, None where none stands.

        What ends it is the second quote, with a delimiter after it or without, or the delimiter alone.
        """
        scan, delimiter = self.scan, self.marks.delimiter
        if not (yield from scan.starts(_QUOTE)) or (yield from scan.starts(delimiter, len(_QUOTE))):
            return None
        offset, ends = len(_QUOTE), _any_of(_QUOTE + delimiter[0])
        while offset < _MAX_QUOTED:
            found = ends.search(scan.text, scan.pos + offset, scan.pos + _MAX_QUOTED)
            if found is None:
                if scan.ended or scan.rest() >= _MAX_QUOTED:
                    return None
                offset = max(offset, scan.rest())
                yield
                continue
            offset = found.start() - scan.pos
            end = yield from scan.among((_QUOTE + delimiter, delimiter, _QUOTE), offset)
            if end is not None and (yield from self._behind(offset + len(end), closer)):
                text = scan.take(offset)[len(_QUOTE) :]
                scan.take(len(end))
                self.sink.note_repair("single_quotes")
                return text
            if (yield from scan.among(self.marks.closing, offset)) is not None:
                return None
            offset += 1
        return None

    def _container(self, keep: Callable[[str], None], key: str, closer: str) -> Step[bool]:
        """The object or array at `key`, as JSON. False where it is none, or the text ends in it."""
        scan = self.scan
        opened: list[str] = []
        place: list[str | None] = []  # the way to each container's member that is read
        comma = False
        while True:
            scan.take((yield from scan.space()))
            if not opened or not (yield from scan.starts(opened[-1])):
                if comma:
                    keep(",")
                if opened and opened[-1] == "}":
                    inside = yield from self._key()
                    if inside is None:
                        return False
                    place[-1] = inside
                    keep(f"{quote(inside)}:")
                opener = yield from scan.among(tuple(_CLOSERS))
                if opener is not None:
                    if len(opened) == MAX_DEPTH:
                        return False
                    keep(scan.take(1))
                    opened.append(_CLOSERS[opener])
                    place.append(None)
                    comma = False
                    continue
                scan.take((yield from scan.space()))
                types = self.tools.types(self.name, key, *place)
                if not (yield from self._value(partial(_Item, keep, types), "".join(reversed(opened)) + closer, types)):
                    return False
            elif comma:
                self.sink.note_repair("trailing_comma")
            while opened:
                scan.take((yield from scan.space()))
                if not (yield from scan.starts(opened[-1])):
                    break
                keep(opened.pop())
                place.pop()
                scan.take(1)
            if not opened:
                return True
            if not (yield from scan.starts(",")):
                return False
            scan.take(1)
            comma = True

    def _string(
        self, add: Callable[[str], None], closers: str, quote_behind: str, wake_on: Search | None = None
    ) -> Step[bool]:
        """A string after its first delimiter, with its second one. False when the text ends in it.

        closers       close what it is in, up to the call
        quote_behind  what may come after its second delimiter and goes with it
        """
        scan, delimiter = self.scan, self.marks.delimiter
        others = [key for key in self.tools.keys(self.name) if key not in self.given] if len(closers) == 1 else []
        firsts = "".join(sorted({begins[0] for begins in (*self.marks.key_quotes, *others) if begins and others}))
        stops = _any_of(delimiter[0] + closers[0], behind_comma=firsts)
        while True:
            found = stops.search(scan.text, scan.pos)
            stop = len(scan.text) if found is None else found.start()
            if stop > scan.pos:
                add(scan.take(stop - scan.pos))
            if found is None:
                if scan.ended:
                    return False
                scan.wake_on = stops.search if wake_on is not None else None
                yield
                scan.wake_on = None
            elif (yield from scan.starts(delimiter)):
                end = len(delimiter)
                if quote_behind and (yield from scan.starts(quote_behind, end)):
                    end += len(quote_behind)
                if (yield from self._behind(end, closers[0])):
                    scan.take(end)
                    return True
                add(scan.take(1))
            elif (yield from self._lacks_delimiter(closers)):
                self.sink.note_repair("unclosed_value")
                return True
            elif scan.stops_short((delimiter,)) and scan.text[scan.pos] == delimiter[0]:
                scan.take(scan.rest())  # half of it is not the string's
                return False
            else:
                add(scan.take(1))

    def _lacks_delimiter(self, closers: str) -> Step[bool]:
        """Whether a string ends here though its second delimiter is missing."""
        scan = self.scan
        if (yield from scan.starts(",")):
            space = yield from scan.space(1)
            head = yield from self._head(space)
            if head is None or head[0] in self.given or head[0] not in self.tools.keys(self.name):
                return False
            value = yield from scan.space(space + head[1])
            return (yield from scan.starts(self.marks.delimiter, value))
        offset = 0
        closed = yield from scan.starts(closers[0])
        for closer in closers if closed else "":
            offset = yield from scan.space(offset)
            if not (yield from scan.starts(closer, offset)):
                return False
            offset += 1
        offset = yield from scan.space(offset)
        mark = yield from scan.among(self.marks.closing, offset)
        if mark is None:
            return False
        end = yield from scan.space(offset + len(mark))
        if scan.rest() == end:
            return scan.ended and not scan.cut
        return closed and (yield from scan.among(self.marks.opening, end)) is not None

    def _bare(self, closer: str) -> Step[_Bare | None]:
        """Bare text up to where the grammar goes on, or to a delimiter. None when the text ends in it."""
        scan, delimiter = self.scan, self.marks.delimiter
        parts: list[str] = []
        size = 0
        while True:
            found = _ENDS_BARE(scan.text, scan.pos)
            parts.append(scan.take((len(scan.text) if found is None else found.start()) - scan.pos))
            size += len(parts[-1])
            if found is None:
                if scan.ended:
                    return None
                yield
            elif (yield from self._ends_bare(found.group(), closer, parts, size)):
                return _Bare("".join(parts).rstrip(), string=False)
            elif (yield from scan.starts(delimiter)):
                scan.take(len(delimiter))
                self.sink.note_repair("missing_quote")
                return _Bare("".join(parts), string=True)
            else:
                parts.append(scan.take(1))
                size += 1

    def _ends_bare(self, char: str, closer: str, parts: list[str], size: int) -> Step[bool]:
        """Whether bare text, `parts` of `size` characters so far, ends at `char`, which is here."""
        scan = self.scan
        if char == ",":
            return closer == "]" or (yield from self._behind(0, closer))
        if char == closer:
            following = yield from character(scan, 1)
            if following == "" or following in _BEHIND_BRACKET:
                return True
            return size <= _MAX_LITERAL and _is_literal("".join(parts).strip())
        return (yield from scan.among(self.marks.ends)) is not None

    def _behind(self, ahead: int, closer: str) -> Step[bool]:
        """Whether the grammar can go on so many characters from here, after a value of what `closer` closes."""
        scan = self.scan
        space = yield from scan.space(ahead)
        mark = yield from scan.among((",", closer, *self.marks.ends), space)
        if mark != ",":
            return mark is not None or scan.stops_short(self.marks.ends, ahead)
        if closer == "]":
            return True
        space = yield from scan.space(space + 1)
        return (yield from scan.starts(closer, space)) or (yield from self._head(space)) is not None


def _is_literal(text: str) -> bool:
    """Whether bare text is a JSON number, true, false or null."""
    return text[:1] not in {"", '"', "{", "["} and is_json(text)


@lru_cache(maxsize=256)
def _any_of(characters: str, behind_comma: str = "") -> re.Pattern[str]:
    """Finds one of these characters, or a comma that one of `behind_comma`, or the end, may follow."""
    comma = rf"|,(?=[ \t\r\n]*+(?:[{re.escape(behind_comma)}]|\Z))" if behind_comma else ""
    return re.compile(f"[{re.escape(characters)}]{comma}")
