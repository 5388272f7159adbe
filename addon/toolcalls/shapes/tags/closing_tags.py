"""A raw value between tags, in forms that escape nothing: which of the tags in it ends it.

Strategy. A value may hold anything, its own closer too, so a tag in it counts only where the grammar can go on after
it. `tag_value` reads from tag to tag and asks `Surroundings`, what this value is in, about each:

- the value's closer ends it where another value, the call's end or the end of the reply follows. A closer that is
  written twice is one, unless an opener in the value is what the first of them closes;
- a whole call that is quoted in the value is counted through its own closer, and nothing in it counts;
- a closer that is damaged, or another tag in its place, does so where no value follows that the call has already;
- where the value's closer is missing, the call's closer ends it if the block ends there too, and the next value's
  opener if it is one that the call still lacks. Text in which that opener has a closer that does not count is quoted.

Values leave as they come. What is looked at ahead is bounded, so work is linear.

A little over 300 lines: what ends a value and what ends its call are one question.
"""

from collections.abc import Callable
from typing import Final, Literal, Protocol

from toolcalls.events import Repair
from toolcalls.shapes.arguments import Value
from toolcalls.shapes.json.surplus import RepairSink
from toolcalls.shapes.tags.raw import up_to_tag
from toolcalls.shapes.tags.tags import Part, Parts, PatternPart, Tags
from toolcalls.shapes.words import LEAKED
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.toolbox import Toolbox

# The kinds of tags that mean something inside a value. Where keys are in front of values, HEAD begins what is in
# front of the next one, and WRONG may be in the place of the closer. UNSLASHED is a closer that lost its slash,
# UNBRACKETED one that lost its bracket in front of another tag.
CLOSER, NEXT, CALL, CALL_END, HEAD, WRONG = "closer", "next", "call", "call_end", "head", "wrong"
UNSLASHED, UNBRACKETED = "unslashed", "unbracketed"
REOPENED = "reopened"  # the next value's opener, or a closer that lost its slash, where both look the same

_MAX_QUOTED = 256  # characters of a quoted value that are looked at to tell it from the next one

_TAG_FOLLOWS = PatternPart(rf"(?=[{SPACE}]{{0,8}}<)", rf"[{SPACE}]{{0,8}}", "")

UNCLOSED_VALUE: Final = "unclosed_value"
DUPLICATE_CLOSER: Final = "duplicate_closer"


class ValueTags(Protocol):
    """The tags around and inside a value."""

    @property
    def inside(self) -> Tags:
        """The tags that mean something inside a value, by their kinds."""

    @property
    def closer(self) -> Tags:
        """The value's closer alone."""

    @property
    def behind(self) -> Tags:
        """What a value's closer may be followed by."""


class Surroundings(ValueTags, Protocol):
    """What a value is in. Places are so many characters `ahead`, and nothing is consumed by asking."""

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on here, after a value."""

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether, after a call's closer, its block goes on or ends, so that the call ends there indeed."""

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag that a whole call's beginning comes after, 0 for none."""

    def begins_next(self, scan: Scanner, ahead: int) -> Step[int]:
        """How much of another value of this call is here, one that it lacks so far: what is no part of its text.

        It is at the start of a line where `ahead` is more than 0. 0 where none stands.
        """

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether a value is here, after white space, that the call has already."""


def tag_value(
    scan: Scanner, value: Value, place: Surroundings, *, own_lines: bool = False
) -> Step[Repair | Literal[""] | None]:
    """Give `value` its text and consume the closer. `value.end` is the caller's.

    own_lines   a line end was after the opening tag, so the one before the closer is layout

    Returns the repair that this end needs, "" for none; None when the reply ended before the value did.
    """
    depth = 0
    openers = heads = 0  # of values and of keys, in this one, that were not closed so far
    own_closers = 0  # closers that no opener in the value accounts for, after which the grammar could not go on
    while (kept := (yield from up_to_tag(scan, value))) is not None:
        following = scan.text[scan.pos + kept + 1 : scan.pos + kept + 2]
        if following and following not in place.inside.second:
            value.add(scan.take(kept + 1))
            continue
        kind, length = yield from place.inside.at(scan, kept)
        size = 1
        if kind == CLOSER:
            if depth == 0:
                repeated = yield from _closes(scan, place, kept + length, twice=openers == 0)
                if repeated is not None:
                    line_end = scan.take(kept)
                    if kept and not own_lines:
                        value.add(line_end)
                    scan.take(length + repeated)
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
            size = max(1, nested)
        elif kind in {NEXT, HEAD, REOPENED}:
            closes = kind == REOPENED and not depth and not openers and (yield from _tag_at(scan, kept + length))
            if closes and (yield from _goes_on(scan, place, kept + length)):
                line_end = scan.take(kept)
                if kept and not own_lines:
                    value.add(line_end)
                scan.take(length)
                return "wrong_closer"
            next_ = 0 if depth else (yield from place.begins_next(scan, kept))
            if next_ and not (yield from _quoted(scan, place, kept + next_, twice=kind != HEAD)):
                scan.take(kept)  # it was after the closer that is missing
                return UNCLOSED_VALUE
            openers += depth == 0 and kind != HEAD
            heads += depth == 0 and kind == HEAD
        elif kind in {UNSLASHED, UNBRACKETED}:
            if not depth and not openers and (yield from _goes_on(scan, place, kept + length)):
                line_end = scan.take(kept)
                if kept and not own_lines:
                    value.add(line_end)
                scan.take(length)
                return "wrong_closer" if kind == UNSLASHED else "unclosed_tag"
        elif kind == WRONG:
            if not depth and not heads and (yield from _goes_on(scan, place, kept + length)):
                value.add(scan.take(kept))
                scan.take(length)
                return "wrong_closer"
            heads = max(0, heads - 1)
        elif place.closer.stops_short(scan, kept):
            scan.take(scan.rest())
            return None
        value.add(scan.take(kept + size))
    return None


def _goes_on(scan: Scanner, place: Surroundings, ahead: int) -> Step[bool]:
    """Whether the call goes on after a damaged closer. A value that it has already is text about these tags."""
    return (yield from place.goes_on(scan, ahead)) and not (yield from place.repeats(scan, ahead))


def _tag_at(scan: Scanner, ahead: int) -> Step[bool]:
    """Whether a tag is here, after white space."""
    return (yield from scan.starts("<", (yield from scan.space(ahead))))


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


def _quoted(scan: Scanner, place: Surroundings, ahead: int, *, twice: bool) -> Step[bool]:
    """Whether the value that begins here has a closer, not far away, after which the grammar cannot go on.

    twice   after one that is written twice it can
    """
    offset, limit = ahead, ahead + _MAX_QUOTED
    while offset < limit:
        found = scan.text.find("<", scan.pos + offset, scan.pos + limit)
        if found < 0:
            if scan.ended or scan.rest() >= limit:
                return False
            offset = max(offset, scan.rest())
            yield
            continue
        offset = found - scan.pos
        kind, length = yield from place.inside.at(scan, offset)
        if kind == CLOSER:
            return (yield from _closes(scan, place, offset + length, twice=twice)) is None
        if kind in {NEXT, HEAD, REOPENED, CALL, CALL_END}:
            return False
        offset += 1
    return False


def take_doubled(scan: Scanner, sink: RepairSink, place: Surroundings, tag: str) -> Step[None]:
    """Take the value's opening tag where it comes once more, and note it.

    It is a tag of the value's own where a closer is near that only one of the two accounts for.
    """
    if not (yield from scan.starts(tag)):
        return
    offset, limit = len(tag), len(tag) + _MAX_QUOTED
    while offset < limit:
        found = scan.text.find("<", scan.pos + offset, scan.pos + limit)
        if found < 0:
            if scan.ended or scan.rest() >= limit:
                return
            offset = max(offset, scan.rest())
            yield
            continue
        offset = found - scan.pos
        kind, length = yield from place.inside.at(scan, offset)
        if kind == CLOSER and (yield from place.goes_on(scan, offset + length)):
            scan.take(len(tag))
            sink.note_repair("stray_tag")
        if kind in {CLOSER, NEXT, HEAD, REOPENED, CALL, CALL_END}:
            return
        offset += 1


def calls_follow(scan: Scanner, ahead: int, ends: Tags, next_call: Callable[[Scanner, int], Step[bool]]) -> Step[bool]:
    """Whether all closers of a block that are here are followed by another call or by the end of the reply.

    Only then is a value's closer missing in front of the first of them: else a file that documents the form would be
    cut off in its middle.
    """
    while True:
        space = yield from scan.space(ahead)
        if (yield from next_call(scan, space)):
            return True
        _, length = yield from ends.at(scan, space)
        if not length:
            return not scan.cut and ends.stops_short(scan, ahead)
        ahead = space + length


class Form(ValueTags, Protocol):
    """A form whose calls consist of parameters with names in their tags. A value is a parameter's."""

    @property
    def special(self) -> bool:
        """Whether its tags are special tokens, which no value holds by chance."""

    @property
    def ends(self) -> Tags:
        """What ends a call: its own closer, and its wrapper's, of the kind `wrapper_end`."""

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        """The name in the parameter's tag that is here, "" for none."""

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag with a body after it, 0 for none."""

    @property
    def damaged_ends(self) -> Tags:
        """What `ends` becomes where the slash is lost, or the bracket."""

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here."""

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the call ends in front of the text that is here, after a value's closer, without one."""


def unslashed(*tags: Parts) -> tuple[Parts, ...]:
    """Closing tags without their slash. No blank comes before the bracket: that is how an opening tag begins."""
    return tuple((tag[0], *tag[2:-2], _bracketed(tag[-2])) for tag in tags if tag[1] == "/")


def unbracketed(*tags: Parts) -> tuple[Parts, ...]:
    """Closing tags without their bracket, with another tag after them."""
    return tuple((*tag[:-1], _TAG_FOLLOWS) for tag in tags)


def _bracketed(part: Part) -> Part:
    if isinstance(part, PatternPart):
        return part._replace(full=f"{part.full}>")
    return f"{part}>" if isinstance(part, str) else tuple(f"{spelling}>" for spelling in part)


def damaged_end(scan: Scanner, form: Form, ahead: int = 0) -> Step[int]:
    """The length of a call's or a wrapper's closer that lost its slash or its bracket, 0 for none.

    Nothing but closers comes after it up to another call or the end of the reply: else it is an opening tag. A
    wrapper's opens another one where anything follows.
    """
    kind, length = yield from form.damaged_ends.at(scan, ahead)
    if not length:
        return 0
    behind, wrapper = ahead + length, kind != CALL_END
    while True:
        space = yield from scan.space(behind)
        if not wrapper and (yield from form.next_call(scan, space)):
            return length
        kind, more = yield from form.ends.at(scan, space)
        if not more:
            kind, more = yield from form.damaged_ends.at(scan, space)
        if not more:
            return length if not scan.cut and form.ends.stops_short(scan, behind) else 0
        wrapper = wrapper or kind != CALL_END
        behind = space + more


def leaked_word(scan: Scanner, form: Form, ahead: int = 0) -> Step[int]:
    """The length of a word that the model leaked, with the white space after it; 0 for none.

    It is alone in front of a parameter or of what ends the call.
    """
    word = yield from scan.among(LEAKED, ahead)
    if word is None:
        return 0
    behind = ahead + len(word)
    space = yield from scan.space(behind)
    if space == behind:
        return 0
    if (yield from form.parameter_at(scan, space)) or (yield from form.ends.at(scan, space))[1]:
        return space - ahead
    return 0


class Parameters:
    """What the parameters of one call are in, and which of them it has so far."""

    def __init__(self, form: Form, tools: Toolbox, name: str) -> None:
        self.inside = form.inside
        self.closer = form.closer
        self.behind = form.behind
        self.quotes = form.call_at
        self._form = form
        self._tools = tools
        self._name = name
        self._given: set[str] = set()

    def given(self, written: str) -> str:
        """The key of a parameter, which the call has from now on."""
        key = self._tools.key(self._name, written)
        self._given.add(key)
        return key

    def missing(self) -> tuple[str, ...]:
        """The declared parameters that the call does not have so far."""
        return tuple(key for key in self._tools.keys(self._name) if key not in self._given)

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Another parameter, a closer, the next call, the end of the reply, or text where that ends a call."""
        space = yield from scan.space(ahead)
        if (yield from self._form.ends.at(scan, space))[1] or (yield from self._form.parameter_at(scan, space)):
            return True
        if (yield from self._form.next_call(scan, space)):
            return True
        if (yield from leaked_word(scan, self._form, space)) or (yield from damaged_end(scan, self._form, space)):
            return True
        if not scan.cut and self._form.ends.stops_short(scan, ahead):
            return True
        return (yield from self._form.ends_before_text(scan, space))

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """The wrapper's closer, and then the next call or the end of the reply."""
        return (yield from calls_follow(scan, ahead, self._form.ends, self._form.next_call))

    def begins_next(self, scan: Scanner, ahead: int) -> Step[int]:
        """A declared parameter that was not given; any other one among special tokens, or at the start of a line."""
        written = yield from self._form.parameter_at(scan, ahead)
        key, declared = self._tools.key(self._name, written), self._tools.keys(self._name)
        if not written or key in self._given:
            return 0
        return int(self._form.special or (key in declared if declared else ahead > 0))

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        """A parameter that was given."""
        written = yield from self._form.parameter_at(scan, (yield from scan.space(ahead)))
        return bool(written) and self._tools.key(self._name, written) in self._given
