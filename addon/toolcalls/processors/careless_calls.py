"""The calls that a careless parser has begun to read, and what is decided about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolcalls.processors.access import Gate, Judgement, Refusal
from toolcalls.processors.careless_tags import calls_in_objects


class Hidden(Exception):
    """What follows cannot be judged, so it must not be shown; the text says why."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The next `size` characters: whether they are shown."""

    size: int
    shown: bool


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A call that was removed, or kept from being read: `start` and `end` are places in all the text of the reply."""

    name: str
    refusal: Refusal
    start: int
    end: int
    arguments: Sequence[tuple[str, str]]


@dataclass(slots=True, eq=False)
class Candidate:
    """A call that a careless parser has begun to read.

    bare      its elements carry no names in their closing tags
    held      its text waits, from `held_from` on; it is shown otherwise
    again     it was shown, and waits from where JSON began far behind its tag
    ended     the place of its first closer, None before that
    poisoned  why it must not be closed again
    closed    by the name in the closer: a value's place and its keys, and how many closers it has had
    """

    names: tuple[str, ...]
    start: int
    held_from: int
    inside: int
    judgement: Judgement
    bare: bool
    objects: bool = False
    held: bool = True
    again: bool = False
    ended: int | None = None
    poisoned: Refusal | None = None
    learned: list[tuple[str, str]] = field(default_factory=list)
    closed: dict[str, tuple[int, tuple[str, ...], int]] = field(default_factory=dict)

    def restart(self, place: int) -> None:
        """Forget all that came between the tag and a place: it has been removed."""
        self.held = self.again = False
        self.held_from = self.inside = place
        self.closed.clear()


@dataclass(slots=True, eq=False)
class Element:
    """A parameter that has begun. `data`: nothing in it is looked at before its closer; `asked`: by a rule, perhaps."""

    keys: tuple[str, ...]
    start: int
    inside: int
    bare: bool
    data: bool
    asked: bool | None


def refused_objects(gate: Gate, text: str | None) -> Iterator[tuple[str, list[tuple[str, str]], Refusal]]:
    """The calls in JSON in a text that the rules refuse: name, arguments and why. None: nobody can read the text."""
    try:
        calls = [] if text is None else list(calls_in_objects(text))
    except (ValueError, RecursionError):
        text = None
    if text is None:
        refusal = gate.refuses_unread()
        if refusal is not None:
            yield "", [], refusal
        return
    for names, learned in calls:
        judgement = gate.judge(names[-1], names[:-1])
        for key, raw in learned:
            judgement.learn(key, raw)
        judgement.end(whole=True)
        if judgement.refusal is not None:
            yield names[-1], learned, judgement.refusal
