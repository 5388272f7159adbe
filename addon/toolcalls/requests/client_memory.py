"""Remembers which sessions a client pattern has matched: a client stays what it is, whatever a later request shows.

It also remembers the sessions whose model begins in reasoning, which clients often leave out of the history.

Agents send side requests of other headers and without their prompt. What such a request declares still outranks what is
remembered here (`evidence.decide`). The session is the one that a header names, else the one that the body names, else
all requests to one host whose conversation begins with the same words of the user.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import blake2b
from weakref import WeakKeyDictionary

from toolcalls.request import Request

# Headers in which agents send the id of their session.
SESSION_HEADERS = (
    *("x-claude-code-session-id", "session-id", "x-session-id", "agent-session-id", "session_id"),
    *("x-session-affinity", "thread-id"),
)
_SESSIONS = 4096  # how many are remembered


class ClientMemory:
    """The pattern, with its header, that each of the latest sessions has matched.

    on_new   called with a session and its pattern where they were not known
    """

    def __init__(self, on_new: Callable[[bytes, str], None] = lambda _session, _matched: None) -> None:
        self._on_new = on_new
        self._matched: OrderedDict[bytes, str] = OrderedDict()
        self._replies: WeakKeyDictionary[object, bytes] = WeakKeyDictionary()  # the sessions of those that are coming
        self._reason_first: OrderedDict[bytes, None] = OrderedDict()

    def remember(self, session: bytes, matched: str) -> None:
        """A request of the session matches a pattern, as `cline (user-agent)`."""
        if self._matched.get(session) != matched:
            self._on_new(session, matched)
        self.add(session, matched)

    def add(self, session: bytes, matched: str) -> None:
        """Remember what somebody else has recognised."""
        self._matched[session] = matched
        self._matched.move_to_end(session)
        while len(self._matched) > _SESSIONS:
            self._matched.popitem(last=False)

    def reply_started(self, session: bytes, reply: object) -> None:
        """A reply of the session begins."""
        self._replies[reply] = session

    def reply_ended(self, reply: object, *, reasons_first: bool) -> None:
        """It has ended. `reasons_first`: it closed reasoning that nothing in it opened, so its model begins in some."""
        session = self._replies.pop(reply, None)
        if session is None or not reasons_first:
            return
        self._reason_first[session] = None
        self._reason_first.move_to_end(session)
        while len(self._reason_first) > _SESSIONS:
            self._reason_first.popitem(last=False)

    def begins_in_reasoning(self, session: bytes) -> bool:
        """Whether the model of a session is known to begin in reasoning."""
        return session in self._reason_first

    def recall(self, session: bytes) -> str | None:
        """What an earlier request of the session matched, None for nothing."""
        return self._matched.get(session)


def session_of(headers: Mapping[str, str], host: str, request: Request) -> bytes:
    """A key for the session of a request. `headers` has lower-case names."""
    named = next(filter(None, (headers.get(name) for name in SESSION_HEADERS)), None)
    id_ = named or request.session
    first = "" if id_ or not request.quotable else str(request.quotable[0])
    return blake2b(f"{host}\0{id_}\0{first}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
