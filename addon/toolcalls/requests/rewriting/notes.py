"""A rewritten conversation, and the notes that say what was done."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.requests.conversation import Conversation

_NAME, _NAMES = 64, 16  # characters of a name, and names, that a note says


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A conversation after rewriting, and notes of what was done, for the flow view; () when nothing was."""

    conversation: Conversation
    notes: tuple[str, ...] = ()


def notes_of(where: str, *, calls: int, results: int) -> tuple[str, ...]:
    """Notes for the past calls and results that were rewritten."""
    counts = ((calls, "past call"), (results, "result"))
    return tuple(f"{counted(count, what)} to {where}" for count, what in counts if count)


def listed(names: Sequence[str]) -> str:
    """The names of tools, shortened to what a line has room for."""
    shown = [name if len(name) <= _NAME else f"{name[:_NAME]}…" for name in names[:_NAMES]]
    return ", ".join([*shown, *([f"{len(names) - _NAMES} more"] if len(names) > _NAMES else [])])


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
