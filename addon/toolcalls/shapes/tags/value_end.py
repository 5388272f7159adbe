"""Where a value between tags ends: which of the tags in it is its closer, and the repair that this end needs.

Strategy. Nothing is escaped, so a value may hold anything, its own closer too. A tag in it counts only where the
grammar can go on after it. `read_value` reads from tag to tag and asks `Surroundings`, what this value is in, about
each:

- the value's closer ends it where a value follows that the call lacks, the call's end or the end of the reply. A closer
  that is written twice is one;
- where another value follows, and where an opener or a whole call is in the value, `rest_of_call` looks further;
- a closer that is damaged, or another tag in its place, does so where no value follows that the call has already;
- a closer with the parameter's own name, or one that another form's value has, that nothing in the value opened does so
  in front of the next parameter, or of the call's end where that is missing; so does any other that is a value's first
  tag;
- where the value's closer is missing, the call's closer ends it if the block ends there too.

Values leave as they come, but for those about which `rest_of_call` is asked. What is looked at ahead is bounded, so
work is linear.
"""

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final, Literal, Protocol

from toolcalls.events import Repair
from toolcalls.shapes.arguments import Value
from toolcalls.shapes.json.closing import RepairSink
from toolcalls.shapes.tags.raw import find_mark, trailing_line_end, up_to_tag
from toolcalls.shapes.tags.rest_of_call import RestOfCall
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step

# The kinds of tags that mean something inside a value.
CLOSER = "closer"
FOREIGN = "foreign"  # another form's closer
FOREIGN_OPENER = "foreign_opener"  # what begins a value or a call there
UNSLASHED = "unslashed"  # a closer that lost its slash
UNBRACKETED = "unbracketed"  # a closer that lost its bracket in front of another tag
BARE = "bare"  # one that lost the mark that it begins with
WRONG = "wrong"  # what may be in the place of the closer, where keys are in front of values
NEXT = "next"  # the next value's opener, which has the same closer
OTHER = "other"  # the next value's opener, which has a closer of its own
HEAD = "head"  # the beginning of what is in front of the next value
REOPENED = "reopened"  # the next value's opener, or a closer that lost its slash, where both look the same
CALL: Final = "call"
CALL_END: Final = "call_end"

_BEGIN = frozenset({NEXT, OTHER, HEAD, REOPENED})
_DAMAGED: dict[str, Repair] = {
    FOREIGN: "wrong_closer",
    UNSLASHED: "wrong_closer",
    UNBRACKETED: "unclosed_tag",
    BARE: "damaged_tag",
}
_MAX_QUOTED = 256  # characters of a quoted value that are looked at to tell it from the next one

# What ends a value in other forms: models write it in the place of this form's closer.
_FOREIGN = ("parameter", "param", "arg_value", "argument", "antml:parameter", "｜DSML｜parameter")
_CLOSING = re.compile(r"<[ \t]{0,8}/[ \t]{0,8}([^\s<>/]{1,64})[ \t]{0,8}>")
_CLOSING_PART = re.compile(r"<[ \t]{0,8}(?:/[ \t]{0,8}(?:[^\s<>/]{1,64}[ \t]{0,8})?)?")
_MAX_CLOSING = 128

UNCLOSED_VALUE: Final = "unclosed_value"
DUPLICATE_CLOSER: Final = "duplicate_closer"

# How a value ended: with a repair or without one; None where the reply ended before it did.
type Ended = Repair | Literal[""] | None


class Inside(Protocol):
    """The tags that mean something inside a value, by their kinds."""

    @property
    def marks(self) -> str:
        """The characters that they begin with."""

    @property
    def second(self) -> frozenset[str]:
        """The characters that may follow the first one."""

    def at(self, scan: Scanner, ahead: int = 0) -> Step[tuple[str, int]]:
        """The kind and the length of the tag that stands `ahead` characters from here; ("", 0) for none."""


class Behind(Protocol):
    """What a value's closer may be followed by."""

    def stops_short(self, scan: Scanner, ahead: int = 0) -> bool:
        """Whether the text has ended inside of it, or right before it."""


class GoesOn(Enum):
    """Whether the grammar can go on behind a value."""

    NO = auto()
    ASK = auto()  # with an element that the call has already, or that the tool does not declare
    YES = auto()


class Surroundings(Protocol):
    """What a value is in. Places are so many characters `ahead`, and nothing is consumed by asking."""

    @property
    def inside(self) -> Inside:
        """The tags that mean something inside a value."""

    @property
    def closer(self) -> Tags:
        """The value's closer alone."""

    @property
    def behind(self) -> Behind:
        """What a value's closer may be followed by."""

    @property
    def element(self) -> str:
        """What the value's closer is called (`rest_of_call.Seen`)."""

    @property
    def key(self) -> str:
        """The parameter's name, where an element of this name would be a slip; "" where it has this name."""

    @property
    def rest(self) -> RestOfCall:
        """The rest of the call."""

    def goes_on(self, scan: Scanner, ahead: int) -> Step[GoesOn]:
        """Whether the grammar can go on here, after a value."""

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether, after a call's closer, its block goes on or ends, so that the call ends there indeed."""

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag that a whole call's beginning comes after, 0 for none."""

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:
        """Whether another value of this call begins here, one that it lacks so far.

        It is at the start of a line where `ahead` is more than 0. `first`: no tag comes before it in the value.
        """

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether a value is here, after white space, that the call has already."""


def read_value(scan: Scanner, value: Value, place: Surroundings, *, own_lines: bool = False) -> Step[Ended]:
    """Give `value` its text and consume the closer. `value.end` is the caller's.

    own_lines   a line end was after the opening tag, so the one before the closer is layout
    """
    heads = 0  # beginnings of what is in front of a value, in this one
    own_closers = 0  # closers after which the grammar could not go on
    opened = False  # an opener is in the value that nothing was found to balance
    first = True
    begin = scan.passed + scan.pos + scan.streamed
    inside = place.inside
    marks, second = inside.marks, inside.second | {"/"}  # any closing tag may be a slip
    openers, letters = _slips(place.key)
    named: set[str | None] = set()  # elements that begin in the value, of those whose closer may be a slip
    while (kept := (yield from up_to_tag(scan, value, marks))) is not None:
        at = scan.pos + kept + 1
        following = scan.text[at : at + 1]
        if following and following not in second:
            if following in letters and scan.text[at - 1] == "<":
                named.add((yield from scan.among(openers, kept)))
            value.add(scan.take(kept + 1))
            first = False
            continue
        kind, length = yield from inside.at(scan, kept)
        at = scan.pos + kept + 1
        slip = not kind and scan.text.startswith("</", at - 1)
        if not kind and scan.text[at : at + 1] in letters and scan.text[at - 1] == "<":
            named.add((yield from scan.among(openers, kept)))
        if not (kind or slip or scan.ended):
            value.add(scan.take(kept + 1))
            first = False
            continue
        size = max(1, length) if kind != CALL_END else 1  # where two of them are one, the other counts for itself
        asks = misses = False
        if kind == CLOSER:
            going = yield from place.goes_on(scan, kept + length)
            repeated = 0 if going is GoesOn.YES else (yield from _again(scan, place, kept + length, twice=not opened))
            if going is GoesOn.YES or repeated:
                _take_closer(scan, value, kept, length + repeated, own_lines=own_lines)
                return DUPLICATE_CLOSER if repeated else ""
            if going is GoesOn.NO and place.behind.stops_short(scan, kept + length):
                scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                return None
            asks = going is GoesOn.ASK
        elif kind == CALL_END:
            # After a closer of its own, what is there is no part of the value, and nobody knows what it is.
            if not own_closers and (yield from place.block_ends(scan, kept + length)):
                scan.take(kept)  # it was after the closer that is missing
                return UNCLOSED_VALUE
        elif kind == CALL:
            asks = bool((yield from place.quotes(scan, kept)))
        elif kind in _BEGIN:
            closes = kind == REOPENED and not opened and (yield from _tag_at(scan, place, kept + length))
            if closes and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=own_lines)
                return "wrong_closer"
            misses = yield from place.begins_next(scan, kept, first=first)
            heads += kind == HEAD
            asks = misses or kind in {NEXT, REOPENED}
        elif kind == FOREIGN_OPENER:
            opened = True
        elif kind in _DAMAGED:
            if not opened and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=own_lines)
                return _DAMAGED[kind]
            asks = kind == UNSLASHED
        elif kind == WRONG:
            if not heads and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=False)
                return "wrong_closer"
            heads = max(0, heads - 1)
        elif place.closer.stops_short(scan, kept):
            scan.take(scan.rest())
            return None
        elif slip:
            alone = first and scan.passed + scan.pos + scan.streamed > begin
            length = yield from _slipped_closer(scan, place, kept, named, alone=alone)
            if length:
                _take_closer(scan, value, kept, length, own_lines=own_lines)
                return "wrong_closer"
        if asks:
            end = yield from place.rest.end_of(scan, kept, place.element, misses=misses)
            if end.how == "closer":
                line_end = _take_up_to(scan, value, end.at)
                _take_closer(scan, value, line_end, end.length, own_lines=own_lines)
                return ""
            if end.how == "next" or (end.how == "call_end" and not own_closers):
                scan.take(_take_up_to(scan, value, end.at))  # it was after the closer that is missing
                return UNCLOSED_VALUE
            opened = opened or kind != CLOSER
            size = max(size, 0 if kind == CLOSER else end.at - kept)
        own_closers += kind == CLOSER
        value.add(scan.take(kept + size))
        first = False
    return None


def _take_up_to(scan: Scanner, value: Value, ahead: int) -> int:
    """Take so much of the value, all but a line end that it ends with, whose length is returned."""
    line_end = trailing_line_end(scan.text, scan.pos, scan.pos + ahead)
    value.add(scan.take(ahead - line_end))
    return line_end


def _take_closer(scan: Scanner, value: Value, line_end: int, closer: int, *, own_lines: bool) -> None:
    """Take a value's closer and the line end before it, which is layout or the value's.

    It always is layout in front of a closer that has lost all that tells it from a word.
    """
    last = scan.take(line_end)
    if last and not (own_lines or scan.text[scan.pos].isalpha()):
        value.add(last)
    scan.take(closer)


def _goes_on(scan: Scanner, place: Surroundings, ahead: int) -> Step[bool]:
    """Whether the call goes on after a damaged closer. A value that it has already is text about these tags."""
    going = yield from place.goes_on(scan, ahead)
    return going is GoesOn.YES or (going is GoesOn.ASK and not (yield from place.repeats(scan, ahead)))


def _tag_at(scan: Scanner, place: Surroundings, ahead: int) -> Step[bool]:
    """Whether a tag or the end of the reply is here, after white space."""
    space = yield from scan.space(ahead)
    return (yield from character(scan, space)) in place.inside.marks


def _again(scan: Scanner, place: Surroundings, ahead: int, *, twice: bool) -> Step[int]:
    """After a closer: the length of the same closer that is there once more and ends the value; 0 for none.

    twice   it may be there once more
    """
    if not twice:
        return 0
    space = yield from scan.space(ahead)
    _, length = yield from place.closer.at(scan, space)
    again = space + length
    return again - ahead if length and (yield from place.goes_on(scan, again)) is GoesOn.YES else 0


def any_closing_tag(scan: Scanner, ahead: int) -> Step[re.Match[str] | None]:
    """The closing tag that is here, of any name, which is the match's only group."""
    return (yield from scan.match(_CLOSING, _CLOSING_PART, ahead, _MAX_CLOSING))


@lru_cache(maxsize=256)
def _slips(key: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """How elements begin whose closers may be in the place of a value's, and the letters behind the bracket."""
    names = tuple(filter(None, (key, *_FOREIGN)))
    return tuple(f"<{name}" for name in names), frozenset(name[0] for name in names)


def _slipped_closer(
    scan: Scanner, place: Surroundings, ahead: int, named: set[str | None], *, alone: bool
) -> Step[int]:
    """The length of another element's closer in front of the next parameter or of the call's end; 0 for none.

    named   the elements that the value opens
    alone   no tag comes before it in the value, which has some text, so that its name may be any
    """
    found = yield from any_closing_tag(scan, ahead)
    opener = f"<{found[1]}" if found is not None else ""
    if found is None or opener in named or not (alone or opener in _slips(place.key)[0]):
        return 0
    length = len(found[0])
    space = yield from scan.space(ahead + length)
    if (yield from place.begins_next(scan, space, first=True)):
        end = yield from place.rest.end_of(scan, space, place.element, misses=True)
        return length if end == ("next", space, 0) else 0
    kind, more = yield from place.inside.at(scan, space)
    return length if kind == CALL_END and (yield from place.block_ends(scan, space + more)) else 0


def take_doubled(scan: Scanner, sink: RepairSink, place: Surroundings, tag: str) -> Step[None]:
    """Take the value's opening tag where it comes once more, and note it.

    It is a tag of the value's own where a closer is near that only one of the two accounts for.
    """
    if not (yield from scan.starts(tag)):
        return
    offset = len(tag)
    while (offset := (yield from find_mark(scan, place.inside.marks, offset, len(tag) + _MAX_QUOTED))) >= 0:
        kind, length = yield from place.inside.at(scan, offset)
        if kind == CLOSER and (yield from place.goes_on(scan, offset + length)) is GoesOn.YES:
            scan.take(len(tag))
            sink.note_repair("stray_tag")
        if kind == CLOSER or kind in _BEGIN or kind in {CALL, CALL_END}:
            return
        offset += 1
