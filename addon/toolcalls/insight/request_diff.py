"""What a request says that the one before it did not: messages added, changed and removed, tools, the system prompt.

An agent sends the whole conversation every time, so two requests usually share all but their ends. The common beginning
is skipped; what is left of both is compared as lines are, unless it is long, and then it counts as removed and added.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from toolcalls.insight.conversation import Message, RequestSummary

_COMPARED = 200  # messages of either side that are compared one with another, which takes the product of both

type Kind = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Change:
    """One message that is not as it was. `was` is None for an added one, `now` for a removed one."""

    kind: Kind
    was: Message | None
    now: Message | None

    @property
    def message(self) -> Message:
        """The message as it is, or as it was."""
        found = self.now or self.was
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Difference:
    """`same` is how many messages stayed. `system` says whether one of the changes is to a system message.

    settings   what else differs: the name, what it was and what it is, "" for nothing
    """

    same: int
    changes: tuple[Change, ...]
    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    tools_changed: tuple[str, ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()

    @property
    def system(self) -> bool:
        """Whether the system prompt is another one."""
        return any(change.message.role == "system" for change in self.changes)

    @property
    def rewrites(self) -> bool:
        """Whether anything but the end changed, so that a prompt cache has to begin anew."""
        return bool(self.tools_added or self.tools_removed or self.tools_changed) or any(
            change.kind != "added" for change in self.changes
        )


def common(before: RequestSummary, now: RequestSummary) -> int:
    """How many messages both begin with."""
    shared = 0
    for one, other in zip(before.messages, now.messages, strict=False):
        if one.digest != other.digest:
            break
        shared += 1
    return shared


def between(before: RequestSummary, now: RequestSummary) -> Difference:
    """The changes from `before` to `now`."""
    shared = common(before, now)
    old, new = before.messages[shared:], now.messages[shared:]
    kept, changes = _compared(old, new)
    had, has = dict(before.tools), dict(now.tools)
    return Difference(
        same=shared + kept,
        changes=tuple(changes),
        tools_added=tuple(name for name in has if name not in had),
        tools_removed=tuple(name for name in had if name not in has),
        tools_changed=tuple(name for name in has if name in had and has[name] != had[name]),
        settings=tuple(_settings(before, now)),
    )


def _settings(before: RequestSummary, now: RequestSummary) -> Iterator[tuple[str, str, str]]:
    old = {name: (text, digest) for name, text, digest in before.settings}
    new = {name: (text, digest) for name, text, digest in now.settings}
    nothing = ("", "")
    for name in dict.fromkeys((*old, *new)):
        was, is_ = old.get(name, nothing), new.get(name, nothing)
        if was[1] != is_[1]:
            yield name, was[0], is_[0]


def _compared(old: tuple[Message, ...], new: tuple[Message, ...]) -> tuple[int, list[Change]]:
    if not old or len(old) > _COMPARED or len(new) > _COMPARED:
        return 0, _replaced(old, new)
    kept = 0
    changes: list[Change] = []
    matcher = SequenceMatcher(None, [one.digest for one in old], [one.digest for one in new], autojunk=False)
    for what, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if what == "equal":
            kept += old_end - old_start
        else:
            changes += _replaced(old[old_start:old_end], new[new_start:new_end])
    return kept, changes


def _replaced(old: tuple[Message, ...], new: tuple[Message, ...]) -> list[Change]:
    """Messages in the place of others: those that the same role says are changed, the rest is removed and added."""
    changes: list[Change] = []
    pairs = 0
    while pairs < min(len(old), len(new)) and old[pairs].role == new[pairs].role:
        changes.append(Change("changed", old[pairs], new[pairs]))
        pairs += 1
    changes += [Change("removed", message, None) for message in old[pairs:]]
    changes += [Change("added", None, message) for message in new[pairs:]]
    return changes
