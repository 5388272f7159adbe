"""Which recording answers a request, and what to say when none does.

Agents put dates, ids and durations into every request, so bytes never match. What matters is compared: the API, the
model, how the reply is framed, the names of the declared tools, the last message of the user and the new results of
tools. In the two texts all that changes from run to run is masked (`masked`), and what the caller's own patterns find.

Several recordings may say the same. Those whose texts are equal without masks come first, then those of a conversation
of the same length; of what is left, the first that has not been given yet, and in the end the last one again.

The nearest recording is the one with the most equal fields, then the most similar texts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff

from toolcalls.insight.redaction import redacted_text
from toolcalls.requests.conversation import Conversation, Result, Text, conversation_of
from toolcalls.tools.serve.recording import WEBSOCKET, Asked, Recording
from toolcalls.values import rawjson
from toolcalls.wires import Wire, model_in, wire_of

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|\b(?:call|toolu|srvtoolu|resp|msg|chatcmpl|req|fc|rs|ctc|item|session)[_-](?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{4,}"
    r"|\b(?i:p?id|[ug]uid)[\"']? ?[:=] ?[\"']?[A-Za-z0-9_-]{3,80}"
    rf"|\b\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]?{_CLOCK})?(?:Z|[ ]?[+-]\d\d:?\d\d)?"
    rf"|\b(?:{_DAY} )?(?:\d{{1,2}} {_MONTH}|{_MONTH} {{1,2}}\d{{1,2}})\b,?(?: (?:{_CLOCK}|\d{{4}})\b)*"
    r"(?: [A-Z]{3,4}(?: \d{4})?\b)?"
    rf"|\b{_DAY}(?=\W|\Z)"
    rf"|\b{_CLOCK}(?:Z| ?[AP]M)?"
    r"|\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b"
    r"|\b\d+(?:\.\d+)? ?(?:ns|[µu]s|ms|s|secs?|seconds?|min(?:utes?)?)\b"
    r"|\b\d+\.\d+\b"
    r"|\b(?=[0-9a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,64}\b"
)
_MASK = "…"
_SHOWN_LINES = 12  # of the difference in a text
_SHOWN = 160  # characters of a line
_COMPARED = 4000  # characters of two texts, for how similar they are
_CANDIDATES = 50  # recordings whose texts are compared


def asked(method: str, path: str, body: bytes) -> Asked:
    """What matters of a request. `path` may have a query; `method` is `WEBSOCKET` for a message of a connection."""
    wire = wire_of(path) if method in {"POST", WEBSOCKET} else None
    if wire is None:
        return Asked(method, path=path.partition("?")[0])
    members = rawjson.fields(body)
    kind: str = "messages" if method == WEBSOCKET else wire.asked_form(path, body)
    if rawjson.value(members.get("generate")) is False:
        kind += ", generate: false"  # a connection is warmed up
    model = rawjson.value(members.get("model"))
    known = Asked(method, wire.name, model=model if isinstance(model, str) else model_in(path), kind=kind)
    found = _conversation(wire, body)
    if found is None:
        return replace(known, user=body.decode("utf-8", "backslashreplace"))
    tools = sorted({tool.name for tool in found.tools} | {tool.name for tool in found.opaque_tools})
    return replace(known, tools=tuple(tools), user=_user(found), results=_results(found), turns=len(found.turns))


def _conversation(wire: Wire, body: bytes) -> Conversation | None:
    try:
        conversation = conversation_of(wire.name, body)
        return conversation if conversation.turns else None
    except (ValueError, RecursionError):  # as `conversation.request_summary`: it is compared as it stands
        return None


def _user(conversation: Conversation) -> str:
    for turn in reversed(conversation.turns):
        texts = [block.text for block in turn.blocks if isinstance(block, Text)]
        if turn.role == "user" and texts:
            return "\n".join(texts)
    return ""


def _results(conversation: Conversation) -> tuple[str, ...]:
    turns = conversation.turns
    last = max((place for place, turn in enumerate(turns) if turn.role == "assistant"), default=-1)
    return tuple(block.text for turn in turns[last + 1 :] for block in turn.blocks if isinstance(block, Result))


def masked(text: str, ignored: Sequence[re.Pattern[str]] = ()) -> str:
    """A text without what changes from run to run: dates, times, durations, fractions, ids."""
    for pattern in ignored:
        text = pattern.sub(_MASK, text)
    return _VOLATILE.sub(_MASK, text)


@dataclass(frozen=True, slots=True)
class Match:
    """The recording that answers; `again` where it, and each that would do, has been given before."""

    recording: Recording
    number: int
    again: bool


@dataclass(frozen=True, slots=True)
class Miss:
    """No recording answers.

    nearest       the one that comes nearest; None where there is none of this API, or of this path
    differences   what differs: a line each, that of a text as a diff
    """

    nearest: Recording | None
    differences: tuple[str, ...]


class Library:
    """Recordings in their order, and which have been given."""

    def __init__(self, recordings: Iterable[Recording], ignored: Sequence[re.Pattern[str]] = ()) -> None:
        self.recordings = tuple(recordings)
        self._ignored = tuple(ignored)
        self._given: set[int] = set()
        self._alike: dict[Asked, list[int]] = {}
        for number, one in enumerate(self.recordings):
            self._alike.setdefault(self._key(one.asked), []).append(number)

    @property
    def left(self) -> tuple[Recording, ...]:
        """Those that nobody has asked for."""
        return tuple(one for number, one in enumerate(self.recordings) if number not in self._given)

    def find(self, wanted: Asked) -> Match | Miss:
        """The recording that answers a request, which counts as given from now on."""
        alike = self._alike.get(self._key(wanted), [])
        if not alike:
            nearest = self._nearest(wanted)
            return Miss(nearest, () if nearest is None else tuple(self._differences(nearest.asked, wanted)))
        known = self.recordings
        same = [
            number
            for number in alike
            if (known[number].asked.user, known[number].asked.results) == (wanted.user, wanted.results)
        ]
        candidates = same or alike
        candidates = [number for number in candidates if known[number].asked.turns == wanted.turns] or candidates
        number = next((number for number in candidates if number not in self._given), candidates[-1])
        again = number in self._given
        self._given.add(number)
        return Match(known[number], number, again)

    def take_back(self, match: Match) -> None:
        """The recording did not reach the client: who asks again is given it again."""
        if not match.again:
            self._given.discard(match.number)

    def _key(self, one: Asked) -> Asked:
        results = tuple(masked(text, self._ignored) for text in one.results)
        return replace(one, user=masked(one.user, self._ignored), results=results, turns=0)

    def _nearest(self, wanted: Asked) -> Recording | None:
        there = [one for one in self.recordings if one.asked.wire == wanted.wire]
        if not wanted.wire:
            there = [one for one in there if one.asked.path == wanted.path]
        there.sort(key=lambda one: -_equal(one.asked, wanted))
        near = [one for one in there if _equal(one.asked, wanted) == _equal(there[0].asked, wanted)]
        return max(near[:_CANDIDATES], key=lambda one: self._similarity(one.asked, wanted), default=None)

    def _similarity(self, one: Asked, other: Asked) -> float:
        pairs = ((one.user, other.user), ("\n".join(one.results), "\n".join(other.results)))
        short = [(masked(a[-_COMPARED:], self._ignored), masked(b[-_COMPARED:], self._ignored)) for a, b in pairs]
        alike = sum(SequenceMatcher(None, a.split(), b.split(), autojunk=False).ratio() for a, b in short)
        return alike - abs(one.turns - other.turns) / 1000

    def _differences(self, recorded: Asked, wanted: Asked) -> Iterator[str]:
        was, now = self._key(recorded), self._key(wanted)
        for name, old, new in (
            ("method", was.method, now.method),
            ("model", was.model, now.model),
            ("form of the reply", was.kind, now.kind),
        ):
            if old != new:
                yield f"{name}: recorded {old!r}, asked {new!r}"
        if was.tools != now.tools:
            missing = [f"-{name}" for name in was.tools if name not in now.tools]
            added = [f"+{name}" for name in now.tools if name not in was.tools]
            yield f"declared tools: {' '.join((*missing, *added))}"
        if was.user != now.user:
            yield "last user message:"
            yield from _text_diff(was.user, now.user)
        if was.results != now.results:
            yield f"new tool results: recorded {len(was.results)}, asked {len(now.results)}"
            yield from _text_diff("\n".join(was.results), "\n".join(now.results))


def _equal(one: Asked, other: Asked) -> int:
    names = ("method", "model", "kind", "tools", "user", "results")
    return sum(getattr(one, name) == getattr(other, name) for name in names)


def _text_diff(old: str, new: str) -> Iterator[str]:
    """The lines that differ, without secrets, and not too many of them."""
    lines = list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    shown = [redacted_text(line) for line in lines if not line.startswith("@@")]
    for line in shown[:_SHOWN_LINES]:
        yield f"  {line}" if len(line) <= _SHOWN else f"  {line[:_SHOWN]}…"
    if len(shown) > _SHOWN_LINES:
        yield f"  … and {len(shown) - _SHOWN_LINES} lines more"
