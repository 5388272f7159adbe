"""Where a value between tags ends: which of the tags in it is its closer, and the repair that this end needs.

Strategy. Nothing is escaped, so a value may hold anything, its own closer too. A tag in it counts only where the
grammar can go on after it. `read_value` reads from tag to tag and asks `Surroundings`, what this value is in, about
each:

- the value's closer ends it where another value, the call's end or the end of the reply follows. A closer that is
  written twice is one, unless an opener in the value is what the first of them closes;
- a whole call that is quoted in the value is counted through its own closer, and nothing in it counts;
- a closer that is damaged, or another tag in its place, does so where no value follows that the call has already;
- where the value's closer is missing, the call's closer ends it if the block ends there too, and the next value's
  opener if it is one that the call still lacks. Text in which that opener has a closer that does not count is quoted.

Values leave as they come. What is looked at ahead is bounded, so work is linear.
"""

from typing import Final, Literal, Protocol

from toolcalls.events import Repair
from toolcalls.shapes.arguments import Value
from toolcalls.shapes.json.closing import RepairSink
from toolcalls.shapes.tags.raw import find_mark, up_to_tag
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step

# The kinds of tags that mean something inside a value.
CLOSER = "closer"
UNSLASHED = "unslashed"  # a closer that lost its slash
UNBRACKETED = "unbracketed"  # a closer that lost its bracket in front of another tag
WRONG = "wrong"  # what may be in the place of the closer, where keys are in front of values
NEXT = "next"  # the next value's opener, which has the same closer
OTHER = "other"  # the next value's opener, which has a closer of its own
HEAD = "head"  # the beginning of what is in front of the next value
REOPENED = "reopened"  # the next value's opener, or a closer that lost its slash, where both look the same
CALL, CALL_END = "call", "call_end"

_BEGIN = frozenset({NEXT, OTHER, HEAD, REOPENED})
_DAMAGED: dict[str, Repair] = {UNSLASHED: "wrong_closer", UNBRACKETED: "unclosed_tag"}
_MAX_QUOTED = 256  # characters of a quoted value that are looked at to tell it from the next one

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


class Surroundings(Protocol):
    """What a value is in. Places are so many characters `ahead`, and nothing is consumed by asking."""

    @property
    def inside(self) -> Inside:
        """The tags that mean something inside a value."""

    @property
    def balances(self) -> bool:
        """Whether an opener in the value accounts for one closer; else for any closer but the last."""

    @property
    def closer(self) -> Tags:
        """The value's closer alone."""

    @property
    def behind(self) -> Behind:
        """What a value's closer may be followed by."""

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on here, after a value."""

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether, after a call's closer, its block goes on or ends, so that the call ends there indeed."""

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag that a whole call's beginning comes after, 0 for none."""

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:
        """Whether another value of this call begins here, one that it lacks so far and that is not quoted.

        It is at the start of a line where `ahead` is more than 0. `first`: no tag comes before it in the value.
        """

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether a value is here, after white space, that the call has already."""


def read_value(scan: Scanner, value: Value, place: Surroundings, *, own_lines: bool = False) -> Step[Ended]:
    """Give `value` its text and consume the closer. `value.end` is the caller's.

    own_lines   a line end was after the opening tag, so the one before the closer is layout
    """
    depth = 0  # of calls that the value quotes
    openers = heads = 0  # of values and of keys, in this one, that were not closed so far
    own_closers = 0  # closers that no opener in the value accounts for, after which the grammar could not go on
    opened = False  # an opener is in the value
    first = True
    while (kept := (yield from up_to_tag(scan, value, place.inside.marks))) is not None:
        following = scan.text[scan.pos + kept + 1 : scan.pos + kept + 2]
        if following and following not in place.inside.second:
            value.add(scan.take(kept + 1))
            first = False
            continue
        kind, length = yield from place.inside.at(scan, kept)
        size = max(1, length) if kind != CALL_END else 1  # where two of them are one, the other counts for itself
        if kind == CLOSER:
            if depth == 0:
                repeated = yield from _closes(
                    scan, place, kept + length, twice=not (openers if place.balances else opened)
                )
                if repeated is not None:
                    _take_closer(scan, value, kept, length + repeated, own_lines=own_lines)
                    return DUPLICATE_CLOSER if repeated else ""
                own_closers += openers == 0
                openers = max(0, openers - 1)
            if place.behind.stops_short(scan, kept + length):
                scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                return None
        elif kind == CALL_END and depth:
            depth -= 1
        elif kind == CALL_END:
            # After a closer of its own, what is there is no part of the value, and nobody knows what it is.
            if not own_closers and (yield from place.block_ends(scan, kept + length)):
                scan.take(kept)  # it was after the closer that is missing
                return UNCLOSED_VALUE
        elif kind == CALL:
            nested = yield from place.quotes(scan, kept)
            depth += bool(nested)
            size = max(size, nested)
        elif kind in _BEGIN:
            closes = kind == REOPENED and not depth and not openers and (yield from _tag_at(scan, place, kept + length))
            if closes and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=own_lines)
                return "wrong_closer"
            if not depth and (yield from place.begins_next(scan, kept, first=first)):
                scan.take(kept)  # it was after the closer that is missing
                return UNCLOSED_VALUE
            opens = depth == 0 and kind in {NEXT, REOPENED}
            openers, opened = openers + opens, opened or opens
            heads += depth == 0 and kind == HEAD
        elif kind in _DAMAGED:
            if not depth and not openers and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=own_lines)
                return _DAMAGED[kind]
        elif kind == WRONG:
            if not depth and not heads and (yield from _goes_on(scan, place, kept + length)):
                _take_closer(scan, value, kept, length, own_lines=False)
                return "wrong_closer"
            heads = max(0, heads - 1)
        elif place.closer.stops_short(scan, kept):
            scan.take(scan.rest())
            return None
        value.add(scan.take(kept + size))
        first = False
    return None


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
    return (yield from place.goes_on(scan, ahead)) and not (yield from place.repeats(scan, ahead))


def _tag_at(scan: Scanner, place: Surroundings, ahead: int) -> Step[bool]:
    """Whether a tag or the end of the reply is here, after white space."""
    space = yield from scan.space(ahead)
    return (yield from character(scan, space)) in place.inside.marks


def _closes(scan: Scanner, place: Surroundings, ahead: int, *, twice: bool) -> Step[int | None]:
    """After a closer: the length of the same closer that is there once more, 0 for none; None if it is data.

    twice   it may be there once more
    """
    if (yield from place.goes_on(scan, ahead)):
        return 0
    if not twice:
        return None
    space = yield from scan.space(ahead)
    _, length = yield from place.closer.at(scan, space)
    again = space + length
    return again - ahead if length and (yield from place.goes_on(scan, again)) else None


def is_quoted(scan: Scanner, place: Surroundings, ahead: int, *, twice: bool = True) -> Step[bool]:
    """Whether the value that begins here has a closer, not far away, after which the grammar cannot go on.

    twice   after one that is written twice it can
    """
    offset = ahead
    while (offset := (yield from find_mark(scan, place.inside.marks, offset, ahead + _MAX_QUOTED))) >= 0:
        kind, length = yield from place.inside.at(scan, offset)
        if kind == CLOSER:
            return (yield from _closes(scan, place, offset + length, twice=twice)) is None
        if kind in _BEGIN or kind in {CALL, CALL_END}:
            return False
        offset += 1
    return False


def take_doubled(scan: Scanner, sink: RepairSink, place: Surroundings, tag: str) -> Step[None]:
    """Take the value's opening tag where it comes once more, and note it.

    It is a tag of the value's own where a closer is near that only one of the two accounts for.
    """
    if not (yield from scan.starts(tag)):
        return
    offset = len(tag)
    while (offset := (yield from find_mark(scan, place.inside.marks, offset, len(tag) + _MAX_QUOTED))) >= 0:
        kind, length = yield from place.inside.at(scan, offset)
        if kind == CLOSER and (yield from place.goes_on(scan, offset + length)):
            scan.take(len(tag))
            sink.note_repair("stray_tag")
        if kind == CLOSER or kind in _BEGIN or kind in {CALL, CALL_END}:
            return
        offset += 1
