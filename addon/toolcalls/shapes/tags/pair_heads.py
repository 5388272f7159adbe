"""What is in front of a value in pairs of key and value, `<arg_key>K</arg_key><arg_value>V</arg_value>`.

Models leave out tags, and servers eat them. A pair of which half is missing is read where the schema leaves one
reading: its key is a declared parameter that the call lacks so far (without a schema, a plain word). So a key in front
of a value may lack its opening or its closing tag, and a value its opening tag; a value that has no closing tag ends at
the next such key (`value_end`). Tags also come twice, in the place of others, or where they mean nothing: in front
of such a key, and after it. What is damaged is named here, in the repairs of the `Tag` that stands for all of it.

`PairTags` has the tags of the form and reads what is whole or nearly so; `pair_form` knows what the call has already.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.raw import find_mark
from toolcalls.shapes.tags.tag_patterns import Parts, PatternPart, Tags, lost, unbracketed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, HEAD, REOPENED, UNBRACKETED, WRONG
from toolcalls.shapes.words import word
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.toolbox import Toolbox

STRAYS = frozenset({"key", "key_end", "value_end", "call"})  # tags that come where they mean nothing
_MAX_STRAYS = 2
_MAX_LOOK = 256  # characters of a key, and of a value without an opening tag, in which the next tag is looked for
WORD = re.compile(r"[\w.:-]*+")  # a key that no tag marks
_SUFFIX = PatternPart(full=r"(?::[\w.-]{1,64})?", partial=r"|:[\w.-]{0,64}", first=":")
_ESCAPED_LINE_ENDS = ("\\r\\n", "\\n")  # as models write them that escape too much


class Key(NamedTuple):
    """A key, the place after it, and what is damaged about it."""

    word: str
    end: int
    closed: bool
    repairs: tuple[Repair, ...] = ()


_TEXT = {"type": "string"}


def head_of(key: Key, end: int, *, string: bool, repairs: tuple[Repair, ...] = ()) -> Tag:
    """What is in front of a value, `end` characters long. `string`: it says itself that the value is one."""
    return Tag(key.word, end, attributes=_TEXT if string else {}, repairs=(*key.repairs, *repairs))


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
    """The tags of the form. `PairForm` documents the fields."""

    call: str
    key: str
    value: str
    wrapper: str
    separator: str
    kind: str
    suffixed: bool
    lost: bool

    def _open(self, element: str) -> Parts:
        whole: Parts = ("<", element, _SUFFIX, ">") if self.suffixed else ("<", element, ">")
        return lost(whole) if self.lost else whole

    def _close(self, element: str) -> Parts:
        whole: Parts = ("<", "/", element, _SUFFIX, ">") if self.suffixed else ("<", "/", element, ">")
        return lost(whole) if self.lost else whole

    def _cut(self, element: str) -> tuple[Parts, ...]:
        """The closing tag without its bracket, where it has its others."""
        return () if self.lost else unbracketed(self._close(element))

    @cached_property
    def _elements(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.wrapper, self.call, self.separator, self.key, self.kind, self.value)))

    @cached_property
    def opening(self) -> dict[str, Tags]:
        """The opening tag of each element, by its name."""
        return {element: Tags(tag=[self._open(element)]) for element in self._elements}

    @cached_property
    def closing(self) -> dict[str, Tags]:
        """The closing tag of each element, by its name."""
        return {element: Tags(tag=[self._close(element)]) for element in self._elements}

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return Tags(call_end=[self._close(self.call)], wrapper_end=[self._close(self.wrapper)] if self.wrapper else ())

    @cached_property
    def inside(self) -> Tags:
        """The tags that mean something inside a value, by kind."""
        key, closed_key = self._open(self.key), self._close(self.key)
        kinds: dict[str, tuple[Parts, ...]] = {CLOSER: (self._close(self.value),)}
        kinds |= {HEAD: (key,), WRONG: (closed_key,)} if self.lost else {WRONG: (closed_key,), HEAD: (key,)}
        kinds |= {UNBRACKETED: self._cut(self.value), REOPENED: (self._open(self.value),)}
        return Tags(**kinds, **{CALL: [self._open(self.call)], CALL_END: [self._close(self.call)]})

    @cached_property
    def behind(self) -> Tags:
        """The tags that may follow a value's closer."""
        ends = [self._close(element) for element in (self.call, self.wrapper) if element]
        return Tags(any=[*ends, self._open(self.key), self._open(self.call)])

    @cached_property
    def _around_key(self) -> Tags:
        """The tags that end a key, by what is there."""
        return Tags(
            key_end=[self._close(self.key)],
            value=[self._open(self.value)],
            value_end=[self._close(self.value)],
            cut_key_end=self._cut(self.key),
            key=[self._open(self.key)],
            call=[self._open(self.call)],
            call_end=[self._close(self.call)],
        )

    def head(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """A key up to its value's first character, None where none stands or can come of what is here.

        Of its tags only the key's own closing one may be missing.
        """
        key = yield from self.whole_key(scan, ahead)
        if key is None:
            return None
        start, string = yield from self.value_opening(scan, key)
        return head_of(key, start - ahead, string=string) if start else None

    def value_opening(self, scan: Scanner, key: Key) -> Step[tuple[int, bool]]:
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
        kind = yield from word(scan, WORD, start)
        space = yield from scan.space(start + len(kind))
        _, length = yield from self.closing[self.kind].at(scan, space)
        return (kind, space + length) if length else ("", ahead)

    def whole_key(self, scan: Scanner, ahead: int) -> Step[Key | None]:
        """A key with its opening tag. Where its closing tag is missing, the value's opening tag follows at once."""
        _, length = yield from self.opening[self.key].at(scan, ahead)
        if not length:
            return None
        start = ahead + length
        kind, end, length = yield from self._tag_behind(scan, start)
        if not kind:
            return None
        written = scan.text[scan.pos + start : scan.pos + end]
        key = written.strip(SPACE)
        if not key or (self.lost and not (kind == "key_end" and WORD.fullmatch(key))):
            return None
        if kind == "key_end":
            return Key(key, end + length, closed=True)
        if kind == "cut_key_end":
            return Key(key, end + length, closed=True, repairs=("unclosed_tag",))
        if any(map(str.isspace, key)) or written.strip("\r\n") != key:
            return None  # with a blank it is prose about these tags
        if kind == "value":
            return Key(self._without_rest(key), end, closed=False, repairs=("unclosed_key",))
        following = yield from gap(scan, end + length)
        _, value = yield from self.opening[self.value].at(scan, following)
        if kind not in {"value_end", "key"} or not value:
            return None
        return Key(key, end + length, closed=True, repairs=("wrong_closer",))

    def _without_rest(self, key: str) -> str:
        """A key without what is left of its closing tag."""
        for rest in (f"/{self.key}>", f"{self.key}>"):
            if key.endswith(rest) and key != rest:
                return key.removesuffix(rest)
        return key

    def _tag_behind(self, scan: Scanner, start: int) -> Step[tuple[str, int, int]]:
        """The first of the form's tags, not far from `start`: its kind, its place, its length; "" where none is."""
        offset = start
        while (offset := (yield from find_mark(scan, self._around_key.marks, offset, start + _MAX_LOOK))) >= 0:
            kind, length = yield from self._around_key.at(scan, offset)
            if length:
                return kind, offset, length
            offset += 1
        return "", 0, 0

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
