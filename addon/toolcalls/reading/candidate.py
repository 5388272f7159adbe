"""One call that a grammar reports, from its name to its verdict."""

import re
import sys
from dataclasses import InitVar, dataclass, field

import msgspec

from toolcalls.events import Break, Reason, Repair, Status, Verdict
from toolcalls.reading.echo_watch import EchoWatch
from toolcalls.reading.strength import OpenedKeys, Shown
from toolcalls.values.json_tokenizer import Nesting
from toolcalls.values.validation import defect_of
from toolcalls.values.value_mending import ValueMending

# Limits at which a call that was committed stays open.
_LIMITS = frozenset({"max_call_chars", "max_depth", "overflow"})
# Argument JSON as far as its first value. One that has a longer key begins with the key.
_FIRST_VALUE = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\S', re.DOTALL)
_LONGEST_KEY = 256
# Reasons of a call that can be read no further from some place on.
_BROKEN = frozenset({"bad_arguments", "not_a_call", "unclosed"})


@dataclass(slots=True, eq=False)
class Candidate:
    """What is known of one call so far.

    dialect, name  None for a name that was never read
    start, end     offsets in the reply's text
    body           the offset where its arguments start
    reason         why it is no call; None while nothing speaks against it
    complete       all its arguments are closed
    index          its number among the calls of the reply, from its commit on; None before
    repairs        what the grammar accepted that its dialect does not write
    nearest        the declared tools whose names come close to one that is not declared
    pieces         argument JSON that was not emitted yet
    waits          it is undecided, and its text is held
    held_to_value  it is decided when its first value begins: before that, nothing of it is shown
    held_to_end    it is decided when it is complete, and not before
    whole_message  it counts only where the whole message is calls
    in_fence       it is in a fence, and after it only the fence's end in its text
    must_be_last   it counts only where nothing but calls follows it in its message
    size           characters of its argument JSON so far
    collected      characters that its grammar keeps for a piece to come
    nesting        how deep its argument JSON nests
    asked          what it must show, by the strength of its dialect's sign
    opened         which of its arguments have begun, while it waits for those that it must have; None where it does not
    required       the parameters that its tool requires; `declared`: all of them
    echo           compares its text with the request while it waits; None where there is nothing to compare
    broke          where it can be read no further; None for nowhere
    values         mends its values on their way out; None for nothing
    came           its argument JSON as it was read, in pieces, where its values are mended
    """

    dialect: str
    name: str | None
    start: int
    max_depth: InitVar[int] = sys.maxsize
    end: int = field(init=False)
    body: int = field(init=False)
    reason: Reason | None = None
    complete: bool = False
    index: int | None = None
    repairs: list[Repair] = field(default_factory=list)
    nearest: tuple[str, ...] = ()
    pieces: list[str] = field(default_factory=list)
    waits: bool = False
    held_to_value: bool = False
    held_to_end: bool = False
    whole_message: bool = False
    in_fence: bool = False
    must_be_last: bool = False
    size: int = 0
    collected: int = 0
    nesting: Nesting = field(init=False)
    asked: tuple[Shown, ...] = ()
    opened: OpenedKeys | None = None
    required: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    echo: EchoWatch | None = None
    broke: Break | None = None
    values: ValueMending | None = None
    came: list[str] = field(default_factory=list)

    def __post_init__(self, max_depth: int) -> None:
        self.end = self.body = self.start
        self.nesting = Nesting(max_depth)

    @classmethod
    def of_text(cls, dialect: str, reason: Reason, start: int, broke: Break | None = None) -> "Candidate":
        """Text that begins as an opener, most likely of this dialect, and is no call."""
        return cls(dialect, None, start, reason=reason, broke=broke)

    @property
    def between_arguments(self) -> bool:
        """Whether some of its arguments have come, and none of them is open."""
        return self.size > 0 and not (self.collected or self.nesting.in_string or self.nesting.depth > 1)

    @property
    def has_value(self) -> bool:
        """Whether the first value of its arguments has begun, by the pieces that were not emitted yet.

        Where it must have more (`opened`), those that its tool requires have begun as well.
        """
        if self.size < _LONGEST_KEY and _FIRST_VALUE.match("".join(self.pieces)) is None:
            return False
        return self.opened is None or (self.opened.keys >= self.required and self.has_parameter)

    @property
    def has_parameter(self) -> bool:
        """Whether a declared parameter has begun, where the call must have one before it is one."""
        return self.opened is None or not self.declared or not self.opened.keys.isdisjoint(self.declared)

    @property
    def may_echo(self) -> bool:
        """Whether its text was in the request when it was compared last."""
        return self.echo is not None and self.echo.matched

    def echoes(self) -> bool:
        """Whether its text so far is in the request."""
        return self.echo is not None and self.echo.matches()

    def echoes_to_limit(self) -> bool:
        """Whether as much of it as may be held is in the request."""
        return self.echo is not None and self.echo.matches_to_limit()

    def mended(self, json: str, values: ValueMending) -> str:
        """Give the next argument JSON on its way out. Returns what of it leaves, and of what was held."""
        self.came.append(json)
        made = values.feed(json)
        return made + values.end(cut=False) if self.complete else made

    def breaks(self) -> str:
        """The call will never be complete. Returns what leaves of what was held."""
        return "" if self.values is None else self.values.end(cut=True)

    def verdict(self) -> Verdict:
        """What became of it."""
        status: Status = "lifted" if self.reason is None else "declined"
        if self.reason in {"unclosed", "cut_off"} or (self.reason in _LIMITS and self.index is not None):
            status = "truncated"
        elif self.reason in {"not_a_call", "bad_arguments"}:
            status = "malformed"
        span = self.start, self.end
        made = Verdict(
            status, self.reason, self.dialect, self.name, *span, tuple(self.repairs), self.index, nearest=self.nearest
        )
        if self.broke is not None and self.reason in _BROKEN:
            made = msgspec.structs.replace(made, broke=self.broke)
        values = self.values
        if values is None or not values.repairs:
            return made
        came = "".join(self.came)
        repairs = dict.fromkeys((*made.repairs, *values.repairs))
        defects = tuple(defect_of(mismatch, came) for mismatch in values.mismatches)
        return msgspec.structs.replace(made, repairs=tuple(repairs), defects=defects)
