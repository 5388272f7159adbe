"""Pairs of key and value, `<arg_key>K</arg_key><arg_value>V</arg_value>`: what is in front of a value.

Models leave out tags, and servers eat them. A pair of which half is missing is read where the schema leaves one
reading: its key is a declared parameter that the call lacks so far (without a schema, a plain word). So a key in front
of a value may lack its opening or its closing tag, and a value its opening tag; a value that has no closing tag ends at
the next such key (`value_end`). Tags also come twice, in the place of others, or where they mean nothing: in front
of such a key, and after it. What is damaged is noted. In a value, the same pair is data where it has a closing
tag of its own after which the call cannot go on.

`keyvalue` is the form that these pairs are in.

A little over 300 lines: whole pairs and damaged ones begin with the same tags, so both are read here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.tags.call_end import calls_follow
from toolcalls.shapes.tags.tag_patterns import Parts, PatternPart, Tags, unbracketed
from toolcalls.shapes.tags.value_end import (
    CALL,
    CALL_END,
    CLOSER,
    HEAD,
    REOPENED,
    UNBRACKETED,
    WRONG,
    is_quoted,
)
from toolcalls.shapes.words import word
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.toolbox import Toolbox

STRAYS = frozenset({"key", "key_end", "value_end", "call"})  # tags that come where they mean nothing
_BEHIND_VALUE = STRAYS - {"value_end"}  # after a value, one more closer of its own is `duplicate_closer`
_OPENERS = frozenset({"key"})
_MAX_STRAYS = 2
_MAX_LOOK = 256  # characters of a key, and of a value without an opening tag, in which the next tag is looked for
_WORD = re.compile(r"[\w.:-]*+")  # a key that no tag marks
_SUFFIX = PatternPart(full=r"(?::[\w.-]{1,64})?", partial=r"|:[\w.-]{0,64}", first=":")
_ESCAPED_LINE_ENDS = ("\\r\\n", "\\n")  # as models write them that escape too much


class Opening(NamedTuple):
    """A call's opening tag with its name."""

    name: str
    length: int


class Head(NamedTuple):
    """What comes before a value: its key, and whether the text itself says that the value is a string."""

    key: str
    length: int
    string: bool = False
    repairs: tuple[Repair, ...] = ()


class _Key(NamedTuple):
    """A key, the place after it, and what is damaged about it."""

    word: str
    end: int
    closed: bool
    repairs: tuple[Repair, ...] = ()


def gap(scan: Scanner, ahead: int = 0) -> Step[int]:
    """The offset of the first character, from `ahead` on, that is neither white space nor an escaped line end."""
    while True:
        ahead = yield from scan.space(ahead)
        escaped = yield from scan.among(_ESCAPED_LINE_ENDS, ahead)
        if escaped is None:
            return ahead
        ahead += len(escaped)


def take_gap(scan: Scanner, sink: CallSink) -> Step[None]:
    """Take layout; escaped line ends are noted."""
    if "\\" in scan.take((yield from gap(scan))):
        sink.note_repair("escaped_line_end")


def glued(word: str, tools: Toolbox) -> str:
    """The one tool whose name `word` begins with and ends with one of its parameters, "" for none or several."""
    found = [name for name in tools.names if word.startswith(name) and word[len(name) :] in tools.keys(name)]
    return found[0] if len(found) == 1 else ""


@dataclass(frozen=True)
class PairTags:
    """The tags of the form. `KeyValue` documents the fields."""

    call: str
    key: str
    value: str
    wrapper: str
    separator: str
    kind: str
    suffixed: bool

    def _open(self, element: str) -> Parts:
        return ("<", element, _SUFFIX, ">") if self.suffixed else ("<", element, ">")

    def _close(self, element: str) -> Parts:
        return ("<", "/", element, _SUFFIX, ">") if self.suffixed else ("<", "/", element, ">")

    @cached_property
    def _elements(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.wrapper, self.call, self.separator, self.key, self.kind, self.value)))

    @cached_property
    def opening(self) -> dict[str, Tags]:
        """Each element's opening tag."""
        return {element: Tags(tag=[self._open(element)]) for element in self._elements}

    @cached_property
    def closing(self) -> dict[str, Tags]:
        """Each element's closing tag."""
        return {element: Tags(tag=[self._close(element)]) for element in self._elements}

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return Tags(call_end=[self._close(self.call)], wrapper_end=[self._close(self.wrapper)] if self.wrapper else ())

    @cached_property
    def inside(self) -> Tags:
        """What means something inside a value."""
        kinds = {CLOSER: self._close(self.value), WRONG: self._close(self.key)}
        kinds[UNBRACKETED] = unbracketed(self._close(self.value))[0]
        kinds |= {REOPENED: self._open(self.value), HEAD: self._open(self.key)}
        kinds |= {CALL: self._open(self.call), CALL_END: self._close(self.call)}
        return Tags(**{kind: [parts] for kind, parts in kinds.items()})

    @cached_property
    def behind(self) -> Tags:
        """What a value's closer may be followed by."""
        ends = [self._close(element) for element in (self.call, self.wrapper) if element]
        return Tags(any=[*ends, self._open(self.key), self._open(self.call)])

    @cached_property
    def _around_key(self) -> Tags:
        """The tags that end a key, by what is there."""
        kinds = {
            "key_end": self._close(self.key),
            "value": self._open(self.value),
            "value_end": self._close(self.value),
            "cut_key_end": unbracketed(self._close(self.key))[0],
        }
        kinds |= {"key": self._open(self.key), "call": self._open(self.call), "call_end": self._close(self.call)}
        return Tags(**{kind: [parts] for kind, parts in kinds.items()})

    def head(self, scan: Scanner, ahead: int = 0) -> Step[Head | None]:
        """A key up to its value's first character, None where none stands or can come of what is here.

        Of its tags only the key's own closing one may be missing.
        """
        key = yield from self.whole_key(scan, ahead)
        if key is None:
            return None
        start, string = yield from self.value_opening(scan, key)
        return Head(key.word, start - ahead, string, key.repairs) if start else None

    def value_opening(self, scan: Scanner, key: _Key) -> Step[tuple[int, bool]]:
        """The place after the opening tag of the value of `key`, 0 for none, and whether a type says string."""
        end, kind = key.end, ""
        if self.kind and key.closed:
            kind, end = yield from self._kind(scan, end)
        space = yield from gap(scan, end)
        _, length = yield from self.opening[self.value].at(scan, space)
        return (space + length if length else 0), kind == "string"

    def _kind(self, scan: Scanner, ahead: int) -> Step[tuple[str, int]]:
        """The type that is named here, and the place after it; "" where none is."""
        start = yield from gap(scan, ahead)
        _, length = yield from self.opening[self.kind].at(scan, start)
        if not length:
            return "", ahead
        start = yield from scan.space(start + length)
        kind = yield from word(scan, _WORD, start)
        space = yield from scan.space(start + len(kind))
        _, length = yield from self.closing[self.kind].at(scan, space)
        return (kind, space + length) if length else ("", ahead)

    def whole_key(self, scan: Scanner, ahead: int) -> Step[_Key | None]:
        """A key with its opening tag. Where its closing tag is missing, the value's opening tag follows at once."""
        _, length = yield from self.opening[self.key].at(scan, ahead)
        if not length:
            return None
        start = ahead + length
        kind, end, length = yield from self._tag_behind(scan, start)
        written = scan.text[scan.pos + start : scan.pos + end]
        key = written.strip(SPACE)
        if not key:
            return None
        if kind == "key_end":
            return _Key(key, end + length, closed=True)
        if kind == "cut_key_end":
            return _Key(key, end + length, closed=True, repairs=("unclosed_tag",))
        if any(map(str.isspace, key)) or written.strip("\r\n") != key:
            return None  # with a blank it is prose about these tags
        if kind == "value":
            return _Key(self._without_rest(key), end, closed=False, repairs=("unclosed_key",))
        following = yield from gap(scan, end + length)
        _, value = yield from self.opening[self.value].at(scan, following)
        if kind not in {"value_end", "key"} or not value:
            return None
        return _Key(key, end + length, closed=True, repairs=("wrong_closer",))

    def _without_rest(self, key: str) -> str:
        """A key without what is left of its closing tag."""
        for rest in (f"/{self.key}>", f"{self.key}>"):
            if key.endswith(rest) and key != rest:
                return key.removesuffix(rest)
        return key

    def _tag_behind(self, scan: Scanner, start: int) -> Step[tuple[str, int, int]]:
        """The first of the form's tags, not far from `start`: its kind, its place, its length; "" where none is."""
        offset, limit = start, start + _MAX_LOOK
        while offset < limit:
            found = scan.text.find("<", scan.pos + offset, scan.pos + limit)
            if found < 0:
                if scan.ended or scan.rest() >= limit:
                    break
                offset = max(offset, scan.rest())
                yield
                continue
            offset = found - scan.pos
            kind, length = yield from self._around_key.at(scan, offset)
            if length:
                return kind, offset, length
            offset += 1
        return "", offset, 0

    def unopened_value(self, scan: Scanner, ahead: int, *, begun: bool) -> Step[bool]:
        """Whether text that lacks a value's opening tag is here: what may end a value comes after it.

        begun   the call's end may do so as well
        """
        kind, at, _ = yield from self._tag_behind(scan, ahead)
        if kind in {"key", "call_end"}:
            return (begun or kind == "key") and not scan.text[scan.pos + ahead : scan.pos + at].isspace() and at > ahead
        return kind == "value_end" or (not kind and scan.rest() >= ahead + _MAX_LOOK)

    def past_strays(self, scan: Scanner, ahead: int, kinds: frozenset[str] = STRAYS) -> Step[int]:
        """The place after a tag or two of these kinds that are here, with the gap; `ahead` where none does."""
        for _ in range(_MAX_STRAYS):
            kind, length = yield from self._around_key.at(scan, ahead)
            if kind not in kinds:
                break
            ahead = yield from gap(scan, ahead + length)
        return ahead

    def damaged_opening(self, scan: Scanner, ahead: int) -> Step[int]:
        """The place after what stands for a value's opening tag here, 0 for nothing.

        It is the key's closing tag once more and then the opening tag, or the key's opening tag in front of a value
        that is closed.
        """
        _, length = yield from self.closing[self.key].at(scan, ahead)
        if length:
            space = yield from gap(scan, ahead + length)
            _, value = yield from self.opening[self.value].at(scan, space)
            return space + value if value else 0
        _, length = yield from self.opening[self.key].at(scan, ahead)
        if not length:
            return 0
        kind, _, _ = yield from self._tag_behind(scan, ahead + length)
        return ahead + length if kind == "value_end" else 0


class Pairs:
    """What the values of one call are in (`value_end.Surroundings`), and which it has so far.

    first   a call that begins so many characters from here, None for none
    """

    def __init__(
        self,
        tags: PairTags,
        tools: Toolbox,
        name: str,
        first: Callable[[Scanner, int, Toolbox | None], Step[Opening | None]],
    ) -> None:
        self.inside = tags.inside
        self.closer = tags.closing[tags.value]
        self.behind = tags.behind
        self._tags = tags
        self._tools = tools
        self._name = name
        self._first = first
        self._given = set[str]()
        self._begun = False

    def given(self, written: str) -> str:
        """The key of a pair, which the call has from now on."""
        key = self._tools.key(self._name, written)
        self._given.add(key)
        self._begun = True
        return key

    def _lacks(self, written: str) -> bool:
        """Whether this is a parameter of the call that it does not have so far."""
        key, declared = self._tools.key(self._name, written), self._tools.keys(self._name)
        return key not in self._given and (key in declared if declared else _WORD.fullmatch(written) is not None)

    def head(
        self, scan: Scanner, ahead: int = 0, *, damaged: bool = False, strays: frozenset[str] = STRAYS
    ) -> Step[Head | None]:
        """What is in front of a value, None where nothing does.

        damaged   also where the key's opening tag or the value's is missing, and the call lacks this key
        strays    the tags that may then are in front of it
        """
        key = yield from self._tags.whole_key(scan, ahead)
        if key is None and damaged:
            key = yield from self._unopened_key(scan, ahead)
        if key is None and damaged:
            key = yield from self._behind_strays(scan, ahead, strays)
        if key is None:
            return None
        start, string = yield from self._tags.value_opening(scan, key)
        if start:
            return Head(key.word, start - ahead, string, key.repairs)
        if not damaged or not key.closed or not self._lacks(key.word):
            return None
        space = yield from scan.space(key.end)
        start = yield from self._tags.damaged_opening(scan, space)
        if start:
            return Head(key.word, start - ahead, string, (*key.repairs, "stray_tag"))
        if not (yield from self._tags.unopened_value(scan, space, begun=self._begun)):
            return None
        line_end = yield from scan.among(("\r\n", "\n"), key.end)
        return Head(key.word, key.end + len(line_end or "") - ahead, string, (*key.repairs, "unopened_value"))

    def _behind_strays(self, scan: Scanner, ahead: int, strays: frozenset[str]) -> Step[_Key | None]:
        """A key after tags that mean nothing there, of those that the call lacks."""
        start = yield from self._tags.past_strays(scan, ahead, strays)
        key = (yield from self._tags.whole_key(scan, start)) if start > ahead else None
        if key is None and start > ahead:
            key = yield from self._unopened_key(scan, start)
            key = key and key._replace(repairs=())  # the tag is there, in another's place
        if key is None or not key.closed or not self._lacks(key.word):
            return None
        return key._replace(repairs=(*key.repairs, "stray_tag"))

    def ends_behind_strays(self, scan: Scanner, ahead: int, strays: frozenset[str] = STRAYS) -> Step[int]:
        """How far away the call's closer comes after tags that mean nothing there; 0 where none does."""
        start = yield from self._tags.past_strays(scan, ahead, strays)
        kind, _ = yield from self._tags.ends.at(scan, start)
        return start if start > ahead and kind == CALL_END else 0

    def _unopened_key(self, scan: Scanner, ahead: int) -> Step[_Key | None]:
        """A key without its opening tag, of those that the call lacks."""
        key = yield from word(scan, _WORD, ahead)
        if not key or not self._lacks(key):
            return None
        space = yield from scan.space(ahead + len(key))
        _, length = yield from self._tags.closing[self._tags.key].at(scan, space)
        return _Key(key, space + length, closed=True, repairs=("unopened_key",)) if length else None

    # `value_end.Surroundings`

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Another pair, a closer, the next call, or the end of the reply."""
        space = yield from gap(scan, ahead)
        if (yield from self._tags.ends.at(scan, space))[1]:
            return True
        if (yield from self.head(scan, space, damaged=True, strays=_BEHIND_VALUE)):
            return True
        if (yield from self.ends_behind_strays(scan, space, _OPENERS)):
            return True
        if (yield from self._next_call(scan, space)):
            return True
        return not scan.cut and self._tags.ends.stops_short(scan, ahead)

    def _next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        wrapper = self._tags.opening.get(self._tags.wrapper)
        if wrapper is not None:
            _, length = yield from wrapper.at(scan, ahead)
            ahead = (yield from scan.space(ahead + length)) if length else ahead
        return (yield from self._first(scan, ahead, self._tools)) is not None

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """The block's closers, and then another call or the end of the reply."""
        return (yield from calls_follow(scan, ahead, self._tags.ends, self._next_call))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag and name with a body after it, 0 for none."""
        opening = yield from self._first(scan, ahead, None)
        return opening.length if opening else 0

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:  # noqa: ARG002 - a head is whole
        """Another value of this call, one that it lacks so far."""
        if not scan.text.startswith("<", scan.pos + ahead):
            return False
        head = yield from self.head(scan, ahead, damaged=True, strays=_BEHIND_VALUE)
        if head is None or not self._lacks(head.key):
            return False
        return not (yield from is_quoted(scan, self, ahead + head.length, twice=False))

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """A pair whose key was given."""
        head = yield from self.head(scan, (yield from gap(scan, ahead)))
        return head is not None and self._tools.key(self._name, head.key) in self._given
