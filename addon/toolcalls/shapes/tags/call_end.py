"""Where a call and its block end: which closers count, and the repairs that they need.

A call ends at its own closer, or at its wrapper's where that is missing. Both come damaged, and twice. Only with
nothing but closers up to another call or to the end of the reply is a damaged tag one of them: else a file that
documents the form would be cut off in its middle.
"""

from collections.abc import Callable
from typing import Protocol

from toolcalls.shapes import CallSink
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.rest_of_call import CALL, CLOSES, EMPTY, OPENS, RestOfCall, Seen
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import CALL_END, CLOSER, DUPLICATE_CLOSER, NEXT, UNSLASHED, GoesOn
from toolcalls.shapes.words import LEAKED
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

FOREIGN_END = "foreign_end"  # the closer of another form's wrapper


class Block(Protocol):
    """A form whose calls may be in a wrapper."""

    @property
    def ends(self) -> Tags:
        """What ends a call: its own closer, of the kind `CALL_END`, and its wrapper's."""

    @property
    def damaged_ends(self) -> Tags:
        """What `ends` becomes where the slash is lost, or the bracket."""

    @property
    def wrapper_closers(self) -> tuple[str, ...]:
        """The wrapper's closer as it may be spelt."""

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here."""


class Form(Block, Protocol):
    """A form whose calls consist of parameters with names in their tags."""

    @property
    def special(self) -> bool:
        """Whether its tags are special tokens, which no value holds by chance."""

    @property
    def inside(self) -> Tags:
        """The tags that mean something inside a value, by their kinds."""

    @property
    def closer(self) -> Tags:
        """A parameter's closer alone."""

    @property
    def behind(self) -> Tags:
        """What a parameter's closer may be followed by."""

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """The parameter's tag that is here."""

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        """The name in the parameter's tag that is here, "" for none."""

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag with a body after it, 0 for none."""

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the call ends in front of the text that is here, after a value's closer, without one."""


def calls_follow(scan: Scanner, ahead: int, ends: Tags, next_call: Callable[[Scanner, int], Step[bool]]) -> Step[bool]:
    """Whether all closers of a block that are here are followed by another call or by the end of the reply.

    Only then is a value's closer missing in front of the first of them.
    """
    while True:
        space = yield from scan.space(ahead)
        if (yield from next_call(scan, space)):
            return True
        _, length = yield from ends.at(scan, space)
        if not length:
            return not scan.cut and ends.stops_short(scan, ahead)
        ahead = space + length


def damaged_end(scan: Scanner, form: Block, ahead: int = 0) -> Step[int]:
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


def block_end(scan: Scanner, sink: CallSink, form: Block, *, wrappers: int) -> Step[bool]:
    """Take the closers after the last call, also those that are damaged or written twice.

    wrappers   how many were opened; the closer of one may be missing where the text ends

    Returns whether what was taken belongs to the block.
    """
    own, left = False, max(1, wrappers)
    while True:
        space = yield from scan.space()
        kind, length = yield from form.ends.at(scan, space)
        if not length and (length := (yield from damaged_end(scan, form, space))):
            sink.note_repair("wrong_closer")
        if not length:
            break
        scan.take(space + length)
        own = True
        left -= kind != CALL_END
        if kind != CALL_END:
            sink.leave_open(())
        if kind == FOREIGN_END:
            sink.note_repair("wrong_closer" if wrappers else "stray_closer")
        elif kind == CALL_END or left < 0:
            sink.note_repair(DUPLICATE_CLOSER)
    if not wrappers or left < wrappers:
        return own
    if not scan.ended:
        sink.leave_open(form.wrapper_closers)
        return own
    sink.note_repair("missing_closer")
    if form.ends.stops_short(scan):
        scan.take(scan.rest())
        return True
    return own


def read_block(
    scan: Scanner, sink: CallSink, form: Block, one: Callable[[], Step[bool | None]], *, wrappers: int
) -> Step[bool]:
    """One call, or in a wrapper all that follow each other, and the closers after them.

    one   reads the call that begins here. Returns whether it is complete, None where none begins.

    Returns whether what was taken after the last call belongs to the block.
    """
    begun = False
    while (complete := (yield from one())) is not None:
        begun = True
        if not complete:
            return False
        if not wrappers:
            break
        scan.take((yield from scan.space()))
    return begun and (yield from block_end(scan, sink, form, wrappers=wrappers))


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
    """What the parameters of one call are in (`value_end.Surroundings`), and which of them it has so far."""

    element = ""

    def __init__(self, form: Form, tools: Toolbox, name: str) -> None:
        self.inside = form.inside
        self.marks = form.inside.marks
        self.closer = form.closer
        self.behind = form.behind
        self.quotes = form.call_at
        self.layout = Scanner.space
        self.key = ""
        self.rest = RestOfCall(self)
        self._form = form
        self._tools = tools
        self._name = name
        self._given: set[str] = set()

    def given(self, written: str) -> str:
        """The key of a parameter, which the call has from now on."""
        key = self._tools.key(self._name, written)
        self._given.add(key)
        self.key = key
        return key

    def missing(self) -> tuple[str, ...]:
        """The declared parameters that the call does not have so far."""
        return tuple(key for key in self._tools.keys(self._name) if key not in self._given)

    def lacks(self, key: str) -> bool:
        """A declared parameter that was not given; any other one among special tokens, or without a schema."""
        declared = self._tools.keys(self._name)
        return bool(key) and key not in self._given and (self._form.special or not declared or key in declared)

    def goes_on(self, scan: Scanner, ahead: int) -> Step[GoesOn]:
        """Another parameter, a closer, the next call, the end of the reply, or text where that ends a call."""
        space = yield from scan.space(ahead)
        if (yield from self._form.ends.at(scan, space))[1]:
            return GoesOn.YES
        written = yield from self._form.parameter_at(scan, space)
        if written:
            return GoesOn.YES if self.lacks(self._tools.key(self._name, written)) else GoesOn.ASK
        return GoesOn.YES if (yield from self._over(scan, ahead, space)) else GoesOn.NO

    def _over(self, scan: Scanner, ahead: int, space: int) -> Step[bool]:
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

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:  # noqa: ARG002 - a tag is whole
        """A parameter that the call lacks; without a schema at the start of a line."""
        written = yield from self._form.parameter_at(scan, ahead)
        if not written or not self.lacks(self._tools.key(self._name, written)):
            return False
        return self._form.special or ahead > 0 or bool(self._tools.keys(self._name))

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:
        written = yield from self._form.parameter_at(scan, (yield from scan.space(ahead)))
        return bool(written) and self._tools.key(self._name, written) in self._given

    # `rest_of_call.Grammar`

    def seen(self, scan: Scanner, ahead: int) -> Step[Seen | None]:
        kind, length = yield from self.inside.at(scan, ahead)
        if kind == CLOSER:
            return Seen(CLOSES, length)
        if kind == CALL_END:
            return Seen(CALL_END, length)
        if kind == CALL:
            length = yield from self.quotes(scan, ahead)
            return Seen(CALL, length) if length else None
        if kind not in {NEXT, UNSLASHED}:
            return None
        tag = yield from self._form.parameter_here(scan, ahead)
        if tag is None:
            return Seen(OPENS, length)
        return Seen(EMPTY if tag.empty else OPENS, tag.length, key=self._tools.key(self._name, tag.name))

    def call_over(self, scan: Scanner, ahead: int) -> Step[bool]:
        space = yield from scan.space(ahead)
        kind, _ = yield from self._form.ends.at(scan, space)
        if kind:
            return kind != CALL_END
        return not (yield from self._form.parameter_at(scan, space)) and (yield from self._over(scan, ahead, space))
