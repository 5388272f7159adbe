"""Turns as sessions: what an agent asked, one request after the other.

Memory is bounded: `TURNS` turns are kept, the oldest go first, and each is bounded itself. The messages of a session's
requests are mostly the same, and are kept once: a turn adds the few that are new, compressed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from toolcalls.insight.conversation import Known, Message
from toolcalls.insight.request_diff import Difference, between, common
from toolcalls.insight.scorecard import Scorecard
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.statuses import SEVERITY
from toolcalls.values.usage import Tokens

TURNS = 2000
_LOOKED_AT = 8  # earlier turns of which the one is sought that a request goes on from


@dataclass(frozen=True, slots=True)
class Session:
    """The turns of one session, in the order in which they began."""

    id: str
    turns: tuple[Turn, ...]

    @property
    def named(self) -> bool:
        """Whether the agent sent an id; if not, the session is a guess by how its conversation begins."""
        return not self.id.startswith("~")

    @property
    def started(self) -> float:
        return self.turns[0].started

    @property
    def agents(self) -> list[str]:
        return _different(turn.agent for turn in self.turns)

    @property
    def models(self) -> list[str]:
        return _different(turn.model for turn in self.turns)

    @property
    def calls(self) -> int:
        return sum(len(turn.verdicts) for turn in self.turns)

    @property
    def worst(self) -> str | None:
        """The status that most needs a look."""
        found = [turn.worst for turn in self.turns if turn.worst in SEVERITY]
        return max(found, key=lambda status: SEVERITY.index(str(status)), default=None)

    @property
    def seconds(self) -> float:
        """From the first request's beginning to the last reply's end."""
        return max(turn.started + (turn.seconds or 0.0) for turn in self.turns) - self.started

    def tokens(self) -> Tokens:
        """All tokens that were counted; None where none of that kind was."""
        return Tokens(
            input=_sum(turn.tokens.input for turn in self.turns),
            output=_sum(turn.tokens.output for turn in self.turns),
            cached=_sum(turn.tokens.cached for turn in self.turns),
            reasoning=_sum(turn.tokens.reasoning for turn in self.turns),
        )

    @property
    def coming(self) -> int:
        """How many of its replies are awaited or coming."""
        return sum(turn.state != "ended" for turn in self.turns)

    def before(self, place: int) -> int | None:
        """The turn that the one at `place` goes on from; None for the first.

        An agent asks other things in between (a title, a summary), so it is the one of the latest turns that shares
        the longest beginning; the latest of those that share as much.
        """
        now = self.turns[place].request
        candidates = range(max(0, place - _LOOKED_AT), place)
        return max(candidates, key=lambda one: (common(self.turns[one].request, now), one), default=None)

    def difference(self, place: int) -> tuple[int, Difference] | None:
        """What the request at `place` says that the one before did not, and the place of that one."""
        before = self.before(place)
        if before is None:
            return None
        return before, between(self.turns[before].request, self.turns[place].request)


class Sessions:
    """Turns as they come. `revision` changes with every change; `dropped` counts turns that are no longer kept."""

    def __init__(self, limit: int = TURNS) -> None:
        self.scorecard = Scorecard()
        self.revision = 0
        self.dropped = 0
        self._limit = limit
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._messages: WeakValueDictionary[tuple[str, str], Message] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def known(self) -> Known:
        """The messages of all requests, by role and digest."""
        return self._messages

    def turn(self, id_: str) -> Turn | None:
        """The turn of a flow."""
        return self._turns.get(id_)

    def put(self, turn: Turn) -> None:
        """Add a turn, or replace the one of the same flow."""
        old = self._turns.get(turn.id)
        if old is not None:
            self.scorecard.add(old, -1)
        messages = tuple(self._messages.setdefault((one.role, one.digest), one) for one in turn.request.messages)
        self._turns[turn.id] = replace(turn, request=replace(turn.request, messages=messages))
        self.scorecard.add(turn)
        while len(self._turns) > self._limit:
            self._turns.popitem(last=False)
            self.dropped += 1
        self.revision += 1

    def discard(self, id_: str) -> None:
        """Forget a turn, and take its calls out of the scorecard."""
        turn = self._turns.pop(id_, None)
        if turn is not None:
            self.scorecard.add(turn, -1)
            self.revision += 1

    def all(self) -> list[Session]:
        """The sessions, the latest first."""
        found: dict[str, list[Turn]] = {}
        for turn in self._turns.values():
            found.setdefault(turn.session, []).append(turn)
        made = [
            Session(id_, tuple(sorted(turns, key=lambda turn: (turn.started, turn.id)))) for id_, turns in found.items()
        ]
        return sorted(made, key=lambda session: (-session.started, session.id))

    def one(self, id_: str) -> Session | None:
        """The session with this id."""
        turns: Sequence[Turn] = [turn for turn in self._turns.values() if turn.session == id_]
        return Session(id_, tuple(sorted(turns, key=lambda turn: (turn.started, turn.id)))) if turns else None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _different(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word))
