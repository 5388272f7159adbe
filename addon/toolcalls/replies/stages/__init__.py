"""The stages of a reply's way, in the order in which `plan.py` puts them into a row.

    mend    native calls as they should have come, of all lanes of a reply (in front of the lanes, on events as decoded)
    read    text → call events; a native call ends the text before it (`lane.py`, which drives the others)
    thoughts  reasoning in tags, with which a message begins, goes to its field
    act     processors: rules, loop guard, reactors, filters
    reread  text that filters changed: no call may come of it
    twins   native calls that repeat a call that was made of text
    number  index, id and form that the client sees; writes the lane's calls
    write   for a text client: calls as text in its dialect
    judge   verdicts of native calls
    screen  rules over the text that a text client gets
    end     the finish reason that fits what the client was given

What goes through a row are items. `Text`, `Markup` and `Removed` account for every character of the lane's text, in
order. A `Native` is one native event; each leaves once, in order, as what has become of it. Call events (`CallStart`,
`CallPiece`, `CallEnd`, `Withdrawn`) are those of calls in text, a `str` is text of our own. `Verdict` and `Note` are
for the report, `Finish` is the lane's end.

A stage knows neither its neighbours nor the kind of exchange. What later stages know of the calls reaches earlier ones
by way of `calls.py` alone.
"""

from collections.abc import Iterable
from typing import ClassVar

import msgspec

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    Event,
    Finish,
    Markup,
    Note,
    Reasoning,
    Removed,
    Text,
    Verdict,
    Withdrawn,
)

# Finish reasons after which nothing may be completed.
CUT_REASONS = frozenset({"length", "content_filter", "failed"})


class Native(msgspec.Struct, frozen=True, gc=False):
    """One native event as what has become of it: itself, nothing, or other events and texts in its place."""

    parts: tuple[Event | str, ...]


class End(msgspec.Struct, frozen=True, gc=False):
    """The end of a lane: the finish reason that the upstream gave, or None where the reply broke off.

    `is_part`: a part of the message ends, which has no reason of its own.
    """

    reason: str | None
    is_part: bool = False

    @property
    def cut(self) -> bool:
        """Whether what is not whole by now will never be."""
        return self.reason is None or self.reason in CUT_REASONS


type Item = Event | str | Native

# The kinds of items that go through a row.
ITEMS = (
    *(Text, Markup, Removed, Native, CallStart, CallPiece, CallEnd, Withdrawn),
    *(Reasoning, Verdict, Note, Finish, str),
)


class Stage:
    """One step of a row. As it is here it changes nothing and holds nothing.

    looks_at   the kinds of items that it is fed; others go past it, also past those that it holds
    """

    looks_at: ClassVar[tuple[type, ...]] = ()

    def feed(self, items: Iterable[Item]) -> Iterable[Item]:
        """What leaves for the next items. The stages after have dealt with one item before this one makes the next."""
        return items

    def release(self) -> Iterable[Item]:
        """Decide what is held, because no more may be held. The reply goes on."""
        return ()

    def finish(self, end: End) -> Iterable[Item]:  # noqa: ARG002 - for stages that hold something
        """Decide what is held, because nothing follows. Some servers end a reply twice, or go on after the end."""
        return ()
