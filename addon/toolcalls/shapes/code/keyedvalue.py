"""The members of a call in `keyed`'s notation, read piece by piece.

Members stand as `key:value`, the key plain or between delimiters. A value is a string between delimiters, a JSON
string, an object or an array of such values, or bare text, which ends where the grammar can go on. The schema types
bare text, also inside objects and arrays; where it says nothing there, the looks do.

Models also put single quotes in the place of delimiters, or in front of them. They are no part of the value where the
second one is in front of what may follow a value. A string whose second delimiter is missing ends where all its
closers follow with the call's closing marker, and after that another call or the reply's end; or at a comma with
another parameter of the call and its string's delimiter after it.

A little over 300 lines: the kinds of values and their damage are read side by side.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.code.notation import QUOTE, Notation, any_of
from toolcalls.shapes.json.jsonvalue import string as json_string
from toolcalls.shapes.words import KEY, character, word
from toolcalls.text.scanner import Scanner, Search, Step
from toolcalls.values.conversion import Types, escape, is_json, quote, to_json
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.transducer import MAX_DEPTH

_CLOSERS = {"{": "}", "[": "]"}
_QUOTED_KEY = re.compile(r'[^<"\n]*+')
_ENDS_BARE = re.compile(r"[,}\])<]").search
_ENDS_KEY = re.compile(r"[,}\])]").search
_BEHIND_BRACKET = frozenset(",}])< \t\r\n")
_BLANKS = re.compile(r"[ \t]*+")
_MAX_QUOTED = 1 << 16  # characters between single quotes
_MAX_LITERAL = 64  # characters of a bare value that may be a literal in front of a bracket with text after it


@dataclass(frozen=True)
class _Bare:
    """Bare text. `string`: a delimiter was after it, so it was a string whose first one is missing."""

    text: str
    string: bool


class Values:
    """Reads the members of one call of a tool."""

    def __init__(self, scan: Scanner, sink: CallSink, notation: Notation, tools: Toolbox, name: str) -> None:
        self._scan = scan
        self._sink = sink
        self._notation = notation
        self._tools = tools
        self._name = name
        self._given = set[str]()

    def members(self, arguments: Arguments, closer: str) -> Step[bool]:
        """All members, up to `closer` or to where it is missing. False where they are none, or the text ends in one."""
        scan = self._scan
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.among((closer, *self._notation.ends))) is not None:
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
        scan = self._scan
        head = yield from self._head(0)
        if head is None:
            if scan.ended and _ENDS_KEY(scan.text, scan.pos) is None:
                scan.take(scan.rest())  # the text ended inside it
            return None
        key, size = head
        scan.take(size)
        space = yield from scan.space()
        marked = yield from scan.among((self._notation.delimiter, '"', QUOTE, *_CLOSERS), space)
        if marked is None:  # line ends are a bare value's own
            blanks = _BLANKS.match(scan.text, scan.pos)
            space = min(space, len(blanks[0]) if blanks else 0)
        scan.take(space)
        return key

    def _head(self, ahead: int) -> Step[tuple[str, int] | None]:
        """The key that stands `ahead` characters from here and its length with the colon."""
        scan = self._scan
        mark = (yield from scan.among(self._notation.key_quotes, ahead)) or ""
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
        """One value of the call itself, which the schema types where it is bare."""
        scan, delimiter = self._scan, self._notation.delimiter
        self._given.add(key)
        quoted = yield from self._quoted(closer)
        if quoted is not None:
            value = arguments.value(key, string=True if self._tools.types(self._name, key) is None else None)
            value.add(quoted)
            value.end()
            return True
        before = yield from self._quote_before()
        if (yield from scan.starts(delimiter)):
            scan.take(len(delimiter))
            value = arguments.value(key, string=True)
            if not (yield from self._string(value.add, closer, before, value.wake_on)):
                return False
        elif (yield from scan.starts('"')):
            text = yield from json_string(scan, self._sink)
            if text is None:
                return False
            self._sink.note_repair("missing_quote")
            value = arguments.value(key, string=True)
            value.add(text)
        elif (yield from scan.among(tuple(_CLOSERS))) is not None:
            value = arguments.value(key)
            if not (yield from self._container(value.add, key, closer)):
                return False
        else:
            bare = yield from self._bare(closer)
            if bare is None:
                return False
            value = arguments.value(key, string=True if bare.string else None)
            value.add(bare.text)
        value.end()
        return True

    def _quote_before(self) -> Step[str]:
        """Take a single quote in front of a delimiter, and note it. Returns it, "" for none."""
        if not (yield from self._scan.starts(QUOTE + self._notation.delimiter)):
            return ""
        self._scan.take(len(QUOTE))
        self._sink.note_repair("single_quotes")
        return QUOTE

    def _quoted(self, closer: str) -> Step[str | None]:
        """Take a value that begins with a single quote, and what ends it. Returns its text, None where none stands.

        What ends it is the second quote, with a delimiter after it or without, or the delimiter alone.
        """
        scan, delimiter = self._scan, self._notation.delimiter
        if not (yield from scan.starts(QUOTE)) or (yield from scan.starts(delimiter, len(QUOTE))):
            return None
        offset = len(QUOTE)
        while offset < _MAX_QUOTED:
            found = self._notation.ends_quoted.search(scan.text, scan.pos + offset, scan.pos + _MAX_QUOTED)
            if found is None:
                if scan.ended or scan.rest() >= _MAX_QUOTED:
                    return None
                offset = max(offset, scan.rest())
                yield
                continue
            offset = found.start() - scan.pos
            end = yield from scan.among((QUOTE + delimiter, delimiter, QUOTE), offset)
            if end is not None and (yield from self._behind(offset + len(end), closer)):
                text = scan.take(offset)[len(QUOTE) :]
                scan.take(len(end))
                self._sink.note_repair("single_quotes")
                return text
            if (yield from scan.among(self._notation.closing, offset)) is not None:
                return None
            offset += 1
        return None

    def _container(self, keep: Callable[[str], None], key: str, closer: str) -> Step[bool]:
        """The object or array at `key`, as JSON. False where it is none, or the text ends in it."""
        scan = self._scan
        opened: list[str] = []
        place: list[str | None] = []  # the way to each container's member that is read
        comma = False
        while True:
            scan.take((yield from scan.space()))
            if opened and (yield from scan.starts(opened[-1])):
                if comma:
                    self._sink.note_repair("trailing_comma")
                keep(opened.pop())
                place.pop()
                scan.take(1)
            else:
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
                types = self._tools.types(self._name, key, *place)
                if not (yield from self._item(keep, "".join(reversed(opened)) + closer, types)):
                    return False
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

    def _item(self, keep: Callable[[str], None], closers: str, types: Types | None) -> Step[bool]:
        """A string or bare text in a container. `closers` close the containers and the call."""
        scan = self._scan
        quoted = yield from self._quoted(closers[0])
        if quoted is not None:
            keep(quote(quoted) if types is None else to_json(quoted, types))
            return True
        before = yield from self._quote_before()
        if (yield from scan.starts(self._notation.delimiter)):
            scan.take(len(self._notation.delimiter))
            keep('"')
            if not (yield from self._string(lambda text: keep(escape(text)), closers, before)):
                return False
            keep('"')
        elif (yield from scan.starts('"')):
            text = yield from json_string(scan, self._sink)
            if text is None:
                return False
            self._sink.note_repair("missing_quote")
            keep(quote(text))
        else:
            bare = yield from self._bare(closers[0])
            if bare is None:
                return False
            if bare.string or (types is None and not _is_literal(bare.text)):
                keep(quote(bare.text))
            else:
                keep(bare.text if types is None else to_json(bare.text, types))
        return True

    def _string(
        self, add: Callable[[str], None], closers: str, quote_behind: str, wake_on: Search | None = None
    ) -> Step[bool]:
        """A string after its first delimiter, with its second one. False when the text ends in it.

        closers       close what it is in, up to the call
        quote_behind  what may come after its second delimiter and goes with it
        """
        scan, delimiter = self._scan, self._notation.delimiter
        others = [key for key in self._tools.keys(self._name) if key not in self._given] if len(closers) == 1 else []
        firsts = "".join(sorted({begins[0] for begins in (*self._notation.key_quotes, *others) if begins and others}))
        stops = any_of(delimiter[0] + closers[0], behind_comma=firsts)
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
                self._sink.note_repair("unclosed_value")
                return True
            elif scan.stops_short((delimiter,)) and scan.text[scan.pos] == delimiter[0]:
                scan.take(scan.rest())  # half of it is not the string's
                return False
            else:
                add(scan.take(1))

    def _lacks_delimiter(self, closers: str) -> Step[bool]:
        """Whether a string ends here though its second delimiter is missing."""
        scan = self._scan
        if (yield from scan.starts(",")):
            space = yield from scan.space(1)
            head = yield from self._head(space)
            if head is None or head[0] in self._given or head[0] not in self._tools.keys(self._name):
                return False
            value = yield from scan.space(space + head[1])
            return (yield from scan.starts(self._notation.delimiter, value))
        offset = 0
        closed = yield from scan.starts(closers[0])
        for closer in closers if closed else "":
            offset = yield from scan.space(offset)
            if not (yield from scan.starts(closer, offset)):
                return False
            offset += 1
        offset = yield from scan.space(offset)
        mark = yield from scan.among(self._notation.closing, offset)
        if mark is None:
            return False
        end = yield from scan.space(offset + len(mark))
        if scan.rest() == end:
            return scan.ended and not scan.cut
        return closed and (yield from scan.among(self._notation.opening, end)) is not None

    def _bare(self, closer: str) -> Step[_Bare | None]:
        """Bare text up to where the grammar goes on, or to a delimiter. None when the text ends in it."""
        scan, delimiter = self._scan, self._notation.delimiter
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
                self._sink.note_repair("missing_quote")
                return _Bare("".join(parts), string=True)
            else:
                parts.append(scan.take(1))
                size += 1

    def _ends_bare(self, char: str, closer: str, parts: list[str], size: int) -> Step[bool]:
        """Whether bare text, `parts` of `size` characters so far, ends at `char`, which is here."""
        scan = self._scan
        if char == ",":
            return closer == "]" or (yield from self._behind(0, closer))
        if char == closer:
            following = yield from character(scan, 1)
            if following == "" or following in _BEHIND_BRACKET:
                return True
            return size <= _MAX_LITERAL and _is_literal("".join(parts).strip())
        return (yield from scan.among(self._notation.ends)) is not None

    def _behind(self, ahead: int, closer: str) -> Step[bool]:
        """Whether the grammar can go on so many characters from here, after a value of what `closer` closes."""
        scan = self._scan
        space = yield from scan.space(ahead)
        mark = yield from scan.among((",", closer, *self._notation.ends), space)
        if mark != ",":
            return mark is not None or scan.stops_short(self._notation.ends, ahead)
        if closer == "]":
            return True
        space = yield from scan.space(space + 1)
        return (yield from scan.starts(closer, space)) or (yield from self._head(space)) is not None


def _is_literal(text: str) -> bool:
    """Whether bare text is a JSON number, true, false or null."""
    return text[:1] not in {"", '"', "{", "["} and is_json(text)
