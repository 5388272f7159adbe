"""What needs a look: requests that failed, replies that broke off, calls that no client ran. Grouped by cause.

Turns are added and taken away one at a time, which costs the same however many there are. What is as it should be is
not here: a quotation that stays text, a rule that blocks, what was mended.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from toolcalls.insight.damage import sentence_of
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.glossary import BROKE_OFF, EMPTY, FAILED_REQUEST, LEAK
from toolcalls.insight.vocabulary.reasons import help_for
from toolcalls.insight.vocabulary.statuses import DAMAGED, FAILED_STATUS, POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NEEDS_LOOK, NOTES

GROUPS = 500  # that are kept apart; turns of more than these are counted as `OTHERS`
OTHERS = "(others)"
_EMPTY_NOTE = "empty"


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing of one turn: its kind (one of `NEEDS_LOOK`), the code or the words of its cause, the dialect or ""."""

    kind: str
    cause: str
    dialect: str = ""
    tool: str = ""


def concerns_of(turn: Turn) -> Iterator[Concern]:
    """The concerns of a turn, each once for each tool."""
    if turn.state != "ended":
        return
    if turn.failure:
        yield Concern(FAILED_STATUS, turn.failure)
    if turn.failed:
        yield Concern(FAILED_REQUEST, turn.failed)
    elif turn.error and all(one.status != "truncated" for one in turn.verdicts):
        yield Concern(BROKE_OFF, turn.error)
    said = set()
    for verdict in turn.verdicts:
        if verdict.outcome == "possible":
            yield Concern(POSSIBLY_LOST, verdict.reason or "", verdict.dialect or "", verdict.name or "")
        if verdict.outcome not in {"leak", "broken"}:
            continue
        kind = LEAK if verdict.outcome == "leak" else verdict.status
        cause = verdict.reason or verdict.status
        said.add(cause)
        yield Concern(kind if kind in NEEDS_LOOK else DAMAGED, cause, verdict.dialect or "", verdict.name or "")
    for one in turn.damage:
        if one.mended < one.count and one.code not in said and one.code not in _SEEN_OTHERWISE:
            yield Concern(EMPTY if one.code == _EMPTY_NOTE else POSSIBLY_LOST if one.possible else DAMAGED, one.code)


# A leak and a quoted call are, and a call that was lifted needs no look.
_SEEN_OTHERWISE = frozenset({"call_in_text", "likely_meant"})


@dataclass(slots=True)
class Group:
    """The turns with one concern. `turns` are their beginnings and ids, in order of time, once for each concern."""

    kind: str
    cause: str
    dialect: str
    model: str
    turns: list[tuple[float, str]] = field(default_factory=list)
    tools: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return len(self.turns)

    def newest(self, most: int) -> list[str]:
        """The ids of the latest turns, the latest first."""
        return list(dict.fromkeys(id_ for _, id_ in reversed(self.turns[-4 * most :])))[:most]

    @property
    def sentence(self) -> str:
        """What the cause means; of the kind where the cause is in words."""
        return sentence_of(self.cause) or NEEDS_LOOK.get(self.kind, "")

    @property
    def remedy(self) -> str:
        """What can be done about it, as a sentence; "" for nothing."""
        note = NOTES.get(self.cause)
        if note is not None:
            return note.remedy
        # The agent has a damaged native call already, so what would accept one in text is no help.
        return help_for(self.cause, does="mended" if self.kind == "damaged" else None)


type _Key = tuple[str, str, str, str]


class Attention:
    """Turns that need a look, grouped by their cause."""

    def __init__(self) -> None:
        self._groups: dict[_Key, Group] = {}
        self._entered: dict[str, list[tuple[_Key, Concern]]] = {}  # by turn

    def add(self, turn: Turn) -> None:
        """Count a new turn."""
        for concern in concerns_of(turn):
            key = self._key(turn, concern)
            group = self._groups.setdefault(key, Group(*key))
            group.tools[concern.tool] += 1
            group.sessions[turn.session] += 1
            insort(group.turns, (turn.started, turn.id))
            self._entered.setdefault(turn.id, []).append((key, concern))

    def remove(self, turn: Turn) -> None:
        """Take a turn out again that `add` was given."""
        for key, concern in self._entered.pop(turn.id, ()):
            group = self._groups[key]
            _take_one(group.tools, concern.tool)
            _take_one(group.sessions, turn.session)
            group.turns.pop(bisect_left(group.turns, (turn.started, turn.id)))
            if not group.turns:
                del self._groups[key]

    def groups(self) -> list[Group]:
        """All groups, the one that was seen last first."""
        return sorted(self._groups.values(), key=lambda one: one.turns[-1], reverse=True)

    def _key(self, turn: Turn, concern: Concern) -> _Key:
        key = (concern.kind, concern.cause, concern.dialect, turn.model or "(not named)")
        if key in self._groups or len(self._groups) < GROUPS:
            return key
        return concern.kind, OTHERS, "", OTHERS


def _take_one(counts: Counter[str], key: str) -> None:
    """Count one less. A key with none left is removed, since sessions come and go without end."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
