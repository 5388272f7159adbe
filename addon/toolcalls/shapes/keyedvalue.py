"""The members of a call in `keyed`'s notation, read piece by piece.

Members stand as `key:value`, the key plain or between delimiters. A value is a string between delimiters, a JSON
string, an object or an array of such values, or bare text, which ends where the grammar can go on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.jsonvalue import string as json_string
from toolcalls.shapes.words import KEY, character, word
from toolcalls.text.scanner import Scanner, Search, Step
from toolcalls.values.conversion import escape, is_json, quote
from toolcalls.values.transducer import MAX_DEPTH

_CLOSERS = {"{": "}", "[": "]"}
_QUOTED_KEY = re.compile(r'[^<"\n]*+')
_ENDS_BARE = re.compile(r"[,}\])<]").search
_ENDS_KEY = re.compile(r"[,}\])]").search
_BEHIND_BRACKET = frozenset(",}])< \t\r\n")
_MAX_LITERAL = 64  # characters of a bare value that may be a literal in front of a bracket with text behind it


@dataclass(frozen=True)
class Notation:
    """What strings stand between, and the markers that end a call, with or without its bracket."""

    delimiter: str
    ends: tuple[str, ...]

    @cached_property
    def key_quotes(self) -> tuple[str, ...]:
        """What may stand on both sides of a key."""
        return (self.delimiter, '"')


@dataclass(frozen=True)
class _Bare:
    """Bare text. `string`: a delimiter stood behind it, so it was a string whose first one is missing."""

    text: str
    string: bool


class Values:
    """Reads the members of one call."""

    def __init__(self, scan: Scanner, sink: CallSink, notation: Notation) -> None:
        self._scan = scan
        self._sink = sink
        self._notation = notation

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
        """Take a key with its colon, and the white space behind it. None where none stands."""
        scan = self._scan
        head = yield from self._head(0)
        if head is None:
            if scan.ended and _ENDS_KEY(scan.text, scan.pos) is None:
                scan.take(scan.rest())  # the text ended inside it
            return None
        key, size = head
        scan.take(size)
        scan.take((yield from scan.space()))
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
        """One value of the call itself, which the schema types where it stands bare."""
        scan = self._scan
        if (yield from scan.starts(self._notation.delimiter)):
            scan.take(len(self._notation.delimiter))
            value = arguments.value(key, string=True)
            if not (yield from self._string(value.add, closer, value.wake_on)):
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
            if not (yield from self._container(value.add)):
                return False
        else:
            bare = yield from self._bare(closer)
            if bare is None:
                return False
            value = arguments.value(key, string=True if bare.string else None)
            value.add(bare.text)
        value.end()
        return True

    def _container(self, keep: Callable[[str], None]) -> Step[bool]:
        """An object or an array, as JSON. False where it is none, or the text ends in it."""
        scan = self._scan
        opened: list[str] = []
        comma = False
        while True:
            scan.take((yield from scan.space()))
            if opened and (yield from scan.starts(opened[-1])):
                if comma:
                    self._sink.note_repair("trailing_comma")
                keep(opened.pop())
                scan.take(1)
            else:
                if comma:
                    keep(",")
                if opened and opened[-1] == "}":
                    key = yield from self._key()
                    if key is None:
                        return False
                    keep(f"{quote(key)}:")
                opener = yield from scan.among(tuple(_CLOSERS))
                if opener is not None:
                    if len(opened) == MAX_DEPTH:
                        return False
                    keep(scan.take(1))
                    opened.append(_CLOSERS[opener])
                    comma = False
                    continue
                if not (yield from self._item(keep, opened[-1])):
                    return False
            while opened:
                scan.take((yield from scan.space()))
                if not (yield from scan.starts(opened[-1])):
                    break
                keep(opened.pop())
                scan.take(1)
            if not opened:
                return True
            if not (yield from scan.starts(",")):
                return False
            scan.take(1)
            comma = True

    def _item(self, keep: Callable[[str], None], closer: str) -> Step[bool]:
        """A string or bare text in a container, which its looks type."""
        scan = self._scan
        if (yield from scan.starts(self._notation.delimiter)):
            scan.take(len(self._notation.delimiter))
            keep('"')
            if not (yield from self._string(lambda text: keep(escape(text)), closer)):
                return False
            keep('"')
        elif (yield from scan.starts('"')):
            text = yield from json_string(scan, self._sink)
            if text is None:
                return False
            self._sink.note_repair("missing_quote")
            keep(quote(text))
        else:
            bare = yield from self._bare(closer)
            if bare is None:
                return False
            keep(bare.text if not bare.string and _is_literal(bare.text) else quote(bare.text))
        return True

    def _string(self, add: Callable[[str], None], closer: str, wake_on: Search | None = None) -> Step[bool]:
        """A string behind its first delimiter, with its second one. False when the text ends in it."""
        scan, delimiter = self._scan, self._notation.delimiter
        while True:
            at = scan.text.find(delimiter[0], scan.pos)
            stop = len(scan.text) if at < 0 else at
            if stop > scan.pos:
                add(scan.take(stop - scan.pos))
            if at < 0:
                if scan.ended:
                    return False
                scan.wake_on = wake_on
                yield
                scan.wake_on = None
            elif (yield from scan.starts(delimiter)):
                if (yield from self._behind(len(delimiter), closer)):
                    scan.take(len(delimiter))
                    return True
                add(scan.take(1))
            elif scan.stops_short((delimiter,)):
                scan.take(scan.rest())  # half of it is not the string's
                return False
            else:
                add(scan.take(1))

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
                return _Bare("".join(parts).strip(), string=False)
            elif (yield from scan.starts(delimiter)):
                scan.take(len(delimiter))
                self._sink.note_repair("missing_quote")
                return _Bare("".join(parts), string=True)
            else:
                parts.append(scan.take(1))
                size += 1

    def _ends_bare(self, char: str, closer: str, parts: list[str], size: int) -> Step[bool]:
        """Whether bare text, `parts` of `size` characters so far, ends at `char`, which stands here."""
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
        """Whether the grammar can go on so many characters from here, behind a value of what `closer` closes."""
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
