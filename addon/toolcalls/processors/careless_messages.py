"""The text of a client whose parser looks at a message as a whole, of which no forbidden call leaves (law 13).

From the first word that may begin a call (`careless_words`), the text of a block waits for its end: there each call
that any reading finds in the message so far is judged, and what is forbidden goes. What an earlier block has shown is
read again with what follows it; where a forbidden call began there, no more text is shown.
"""

from dataclasses import dataclass

from toolcalls.processors.access import Gate, Refusal
from toolcalls.processors.careless_calls import Decided, Forbidden, Hidden
from toolcalls.processors.careless_words import WordCall, WordForm
from toolcalls.values.toolbox import Toolbox

REMEMBERED = 64 * 1024  # characters that earlier blocks have shown, in which a call may begin
_AGAIN = 1 << 24  # such characters that are read again in a reply, of all its blocks together
_LONGEST = 64  # characters of what may be the beginning of an opener
_REMOVALS = 16  # of one block; where more would go, all of it goes


# A part of a block that goes, and the calls for which it does.
type _Removal = tuple[int, int, list[_Refused]]


@dataclass(frozen=True, slots=True)
class _Refused:
    """A call that is forbidden: where it is in its block."""

    call: WordCall
    refusal: Refusal
    start: int
    end: int


class CarelessMessages:
    """The text of one reply, whatever its blocks are, as it is shown.

    hidden    why no more text is shown, "" where it is
    owner     who fed the latest text
    removing  never: what is removed is removed at once
    """

    removing = False

    def __init__(self, gate: Gate, form: WordForm, tools: Toolbox) -> None:
        self._gate = gate
        self._form = form
        self._tools = tools
        self._shown = ""  # by earlier blocks, from the first opener on; else what may be the beginning of one
        self._again = _AGAIN  # what is left of it; below 0, no more text is shown
        self._tail = ""  # of this block, which may be the beginning of an opener
        self._held: list[str] = []
        self._decided = 0
        self.owner: object = None
        self.hidden = ""

    def passes(self, text: str) -> bool:
        if self._tail or self._held or self._shown or self.hidden:
            return False
        if self._form.opener.search(text) is not None or self._begun(text) < len(text):
            return False
        self._decided += len(text)
        return True

    def feed(self, text: str) -> list[Decided | Forbidden]:
        if self._again < 0:
            self.hidden = "a call may have begun too far before it"
        if self.hidden:
            raise Hidden(self.hidden)
        if self._held or self._shown:
            self._held.append(text)
            return []
        work = self._tail + text
        opener = self._form.opener.search(work)
        begin = self._begun(work) if opener is None else opener.start()
        self._tail = work[begin:] if opener is None else ""
        if opener is not None:
            self._held.append(work[begin:])
        return self._decide(begin, shown=True)

    def boundary(self) -> list[Decided | Forbidden]:
        """What is decided where a block ends, and perhaps the reply."""
        held, self._held = "".join(self._held) or self._tail, []
        self._tail = ""
        if not held:
            return []
        removals = self._removals(held)
        out: list[Decided | Forbidden] = []
        at = 0
        base = self._decided
        for start, end, refused in removals:
            out += self._decide(start - at, shown=True)
            out += self._decide(end - start, shown=False)
            at = end
            out += (
                Forbidden(one.call.names[0], one.refusal, base + one.start, base + one.end, one.call.arguments)
                for one in refused
            )
        out += self._decide(len(held) - at, shown=True)
        self._keep(self._shown + _without(held, removals))
        return out

    def _removals(self, held: str) -> list[_Removal]:
        """What goes of a block's text, in order, so that no reading of the rest is forbidden."""
        removals: list[_Removal] = []
        for _ in range(_REMOVALS):
            try:
                found = self._refused(self._shown, _without(held, removals))
            except (ValueError, RecursionError):
                self.hidden = "max_candidates"
                return [(0, len(held), [])]
            if found is None:
                return removals
            call, refusal = found
            first = len(self._shown)
            start, end = (_in_held(removals, max(place - first, 0)) for place in (call.start, call.end))
            mine = _Refused(call, refusal, start, end)
            if call.start < first:
                self.hidden = "a call goes on behind a block's end"
                return [(0, len(held), [mine])]
            overlapping = [one for one in removals if one[0] <= end and start <= one[1]]
            start, end = min([start, *(one[0] for one in overlapping)]), max([end, *(one[1] for one in overlapping)])
            refused = [*(one for several in overlapping for one in several[2]), mine]
            removals = sorted([one for one in removals if one not in overlapping] + [(start, end, refused)], key=_place)
        return [(0, len(held), [one for several in removals for one in several[2]])]

    def _keep(self, shown: str) -> None:
        """Remember the text that later blocks may continue."""
        opener = self._form.opener.search(shown)
        begin = self._begun(shown) if opener is None else opener.start()
        self._shown = shown[begin:]
        self._again = self._again - len(self._shown) if len(self._shown) <= REMEMBERED else -1

    def _decide(self, size: int, *, shown: bool) -> list[Decided | Forbidden]:
        self._decided += size
        return [Decided(size, shown)] if size else []

    def _begun(self, text: str) -> int:
        """Where something may begin that is an opener with what follows, the length of the text for nothing."""
        found = self._form.begun.search(text, max(0, len(text) - _LONGEST))
        return found.start() if found is not None else len(text)

    def _refused(self, before: str, rest: str) -> tuple[WordCall, Refusal] | None:
        """The first call that is forbidden, as clients have it that join blocks with nothing, and with a line end.

        Its places are those in `before` and `rest` joined with nothing. Raises ValueError or RecursionError where there
        is more than can be looked at.
        """
        for apart in ("", "\n") if before else ("",):
            text = before + apart + rest
            for call in self._form.calls(text, self._tools):
                refusal = self._refusal(call)
                if refusal is not None:
                    moved = len(apart)
                    if call.start >= len(before) + moved:
                        return WordCall(call.start - moved, call.end - moved, call.names, call.arguments), refusal
                    return WordCall(call.start, call.end - moved, call.names, call.arguments), refusal
        return None

    def _refusal(self, call: WordCall) -> Refusal | None:
        judgement = self._gate.judge(call.names[0], call.names[1:])
        if judgement.refusal is None:
            for key, raw in call.arguments:
                judgement.learn(key, raw)
            judgement.end(whole=True)
        return judgement.refusal


def _place(removal: _Removal) -> int:
    return removal[0]


def _without(held: str, removals: list[_Removal]) -> str:
    """The text without the parts that go, each replaced by a line end."""
    ends = [0, *(end for _, end, _ in removals)]
    starts = [*(start for start, _, _ in removals), len(held)]
    return "\n".join(held[end:start] for end, start in zip(ends, starts, strict=True))


def _in_held(removals: list[_Removal], place: int) -> int:
    """Where a place of what is shown is in the whole text."""
    for start, end, _ in removals:
        if place > start:
            place += end - start - 1
    return place
