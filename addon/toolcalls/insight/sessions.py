"""Turns as sessions: what an agent asked, one request after the other.

Memory is bounded: `TURNS` turns are kept, the oldest go first, and each is bounded itself. The messages of a session's
requests are mostly the same, and are kept once: a turn adds the few that are new, compressed.
"""

import itertools
from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakValueDictionary

from toolcalls.insight.attention import Attention
from toolcalls.insight.conversation import Known, Message
from toolcalls.insight.opening import opening_of
from toolcalls.insight.request_diff import Difference, between, common
from toolcalls.insight.scorecard import Scorecard
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.statuses import SEVERITY
from toolcalls.values.usage import Tokens

TURNS = 10_000
_GONE = 2000  # turns that went which are remembered, for pages that have them
_LOOKED_AT = 8  # earlier turns of which the one is sought that a request goes on from


@dataclass(frozen=True, eq=False)  # without slots, so that what is added up once is kept
class Session:
    """The turns of one session, in the order in which they began. When one changes, `Sessions` makes another one."""

    id: str
    turns: tuple[Turn, ...]

    @property
    def named(self) -> bool:
        """Whether the agent sent an id; if not, the session is a guess by how its conversation begins."""
        return not self.id.startswith("~")

    @property
    def started(self) -> float:
        return self.turns[0].started

    @cached_property
    def title(self) -> str:
        """The user's first sentence, of the first request that declares tools: others ask for a title, or for nothing.
        Without one, what kind of requests there are.
        """
        asked = [turn.request for turn in self.turns[:_LOOKED_AT]]
        first = sorted(asked, key=lambda request: not request.tools)  # stable
        found = next(filter(None, map(opening_of, first)), "")
        return found or ("requests that failed" if all(turn.failed for turn in self.turns) else "no words of a user")

    @cached_property
    def agents(self) -> list[str]:
        return _different(turn.agent for turn in self.turns)

    @cached_property
    def models(self) -> list[str]:
        return _different(turn.model for turn in self.turns)

    @cached_property
    def calls(self) -> int:
        return sum(len(turn.verdicts) for turn in self.turns)

    @cached_property
    def worst(self) -> str | None:
        """The status that most needs a look."""
        found = [turn.worst for turn in self.turns if turn.worst in SEVERITY]
        return max(found, key=lambda status: SEVERITY.index(str(status)), default=None)

    @cached_property
    def seconds(self) -> float:
        """From the first request's beginning to the last reply's end."""
        return max(turn.started + (turn.seconds or 0.0) for turn in self.turns) - self.started

    @cached_property
    def rendered(self) -> dict[str, tuple[object, str]]:
        """The parts that a page has rendered of it, by their address, each with what else it depends on."""
        return {}

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
    """Turns as they come. `revision` changes with every change; `dropped` counts turns that are no longer kept.

    A change costs what its own session costs, however many others there are.
    """

    def __init__(self, limit: int = TURNS) -> None:
        self.scorecard = Scorecard()
        self.attention = Attention()
        self.revision = 0
        self.dropped = 0
        self.coming = 0  # replies that are awaited or coming
        self._limit = limit
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._ids: dict[str, list[tuple[float, str]]] = {}  # by session: when its turns began, and their ids, in order
        self._order: list[tuple[float, str]] = []  # when sessions began, and their ids, in order
        self._made: dict[str, Session] = {}
        self._changed: OrderedDict[str, int] = OrderedDict()  # the revision of each turn, the latest last
        self._gone: deque[tuple[int, str]] = deque(maxlen=_GONE)
        self._messages: WeakValueDictionary[tuple[str, str], Message] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def count(self) -> int:
        return len(self._order)

    @property
    def known(self) -> Known:
        """The messages of all requests, by role and digest."""
        return self._messages

    def turn(self, id_: str) -> Turn | None:
        return self._turns.get(id_)

    def turns(self) -> Iterable[Turn]:
        """All turns, in the order in which they came."""
        return self._turns.values()

    def put(self, turn: Turn) -> None:
        """Add a turn, or replace the one of the same flow."""
        old = self._turns.get(turn.id)
        if old is not None:
            self._forget(old)
            self.scorecard.add(old, -1)
        messages = tuple(self._messages.setdefault((one.role, one.digest), one) for one in turn.request.messages)
        self._turns[turn.id] = replace(turn, request=replace(turn.request, messages=messages))
        self.scorecard.add(turn)
        self.attention.add(turn)
        self.coming += turn.state != "ended"
        self._list(turn.session, (turn.started, turn.id), here=True)
        self.revision += 1
        self._changed[turn.id] = self.revision
        self._changed.move_to_end(turn.id)
        while len(self._turns) > self._limit:
            _, dropped = self._turns.popitem(last=False)
            self._forget(dropped)
            self._take_out(dropped)
            self.dropped += 1

    def discard(self, id_: str) -> None:
        """Forget a turn, and take its calls out of the scorecard."""
        turn = self._turns.pop(id_, None)
        if turn is not None:
            self._forget(turn)
            self.scorecard.add(turn, -1)
            self.revision += 1
            self._take_out(turn)

    def since(self, revision: int) -> tuple[list[Turn], list[str]] | None:
        """The turns that changed since a revision, and the ids of those that went; None where that is not known."""
        if self._gone and len(self._gone) == _GONE and self._gone[0][0] > revision:
            return None
        changed = itertools.takewhile(lambda one: one[1] > revision, reversed(self._changed.items()))
        gone = [id_ for at, id_ in self._gone if at > revision and id_ not in self._turns]
        return [self._turns[id_] for id_, _ in changed], gone

    def all(self) -> list[Session]:
        """The sessions, the latest first."""
        return self.latest(len(self._order))

    def latest(self, count: int) -> list[Session]:
        """The sessions that began last, the latest first."""
        return [self._session(id_) for _, id_ in reversed(self._order[max(0, len(self._order) - count) :])]

    def one(self, id_: str) -> Session | None:
        return self._session(id_) if id_ in self._ids else None

    def title(self, turn: Turn) -> str:
        return self._session(turn.session).title

    def place(self, turn: Turn) -> int:
        """Which of its session's turns this is, from 0."""
        return bisect_left(self._ids[turn.session], (turn.started, turn.id))

    def _session(self, id_: str) -> Session:
        made = self._made.get(id_)
        if made is None:
            made = self._made[id_] = Session(id_, tuple(self._turns[one] for _, one in self._ids[id_]))
        return made

    def _take_out(self, turn: Turn) -> None:
        self._changed.pop(turn.id, None)
        self._gone.append((self.revision, turn.id))

    def _forget(self, turn: Turn) -> None:
        self.attention.remove(turn)
        self.coming -= turn.state != "ended"
        self._list(turn.session, (turn.started, turn.id), here=False)

    def _list(self, session: str, entry: tuple[float, str], *, here: bool) -> None:
        """Put a turn into its session's list, or take it out, and the session to its place among the others."""
        self._made.pop(session, None)
        ids = self._ids.setdefault(session, [])
        if ids:
            self._order.pop(bisect_left(self._order, (ids[0][0], session)))
        if here:
            insort(ids, entry)
        else:
            ids.pop(bisect_left(ids, entry))
        if ids:
            insort(self._order, (ids[0][0], session))
        else:
            del self._ids[session]


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _different(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word))
