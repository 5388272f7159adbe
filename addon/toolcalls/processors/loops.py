"""The loop guard: finds models that repeat themselves, in the calls of a conversation and in the text of a reply.

Calls: those of the request's history, native or read from text, and those of the reply are one row (`CallLoops`). Only
calls since the user's last message count. A call is a loop when it reaches one of the guard's numbers.
Text: `TextLoops` looks for a passage that is repeated again and again without anything between. Code, tables and text
with hardly any letters do not count, since they repeat by nature.

Numbers are the seed's: seven equal calls, seven equal results; windows of 128 characters, eight times, over 2000.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolcalls.events import Note
from toolcalls.processors.access import printable_name
from toolcalls.processors.arguments import canonical
from toolcalls.route import Loops
from toolcalls.text.patterns import Work, any_fullmatch, compiled

WINDOW = 128  # characters
HISTORY = 2000
_STEP = 32  # how often, in characters, a reply's text is looked at
_RECENT = 64  # calls
_KIND = 4  # characters that tell what kind of line it is

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call of the history. `arguments` is JSON text; `result` is what the tool answered, None while unknown."""

    name: str
    arguments: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: `what` names it as the configuration does, `text` describes it in a line without values."""

    what: str
    text: str


class CallLoops:
    """Finds loops in the calls of one conversation."""

    def __init__(self, loops: Loops, history: tuple[EarlierCall, ...] = (), work: Work | None = None) -> None:
        self._loops = loops
        self._work = work or Work()
        self._tools = [compiled(tool, re.DOTALL) for tool in loops.tools]
        self._row: list[tuple[str, str]] = []
        self._results: list[str | None] = []
        for call in history[-_RECENT:]:
            if self.watches(call.name):
                self._row.append((call.name, canonical(call.arguments)))
                self._results.append(call.result)

    def watches(self, name: str) -> bool:
        """Whether calls of this tool are counted."""
        return any_fullmatch(self._tools, name, self._work)

    def may_loop(self, name: str, members: tuple[tuple[str, str], ...] = ()) -> bool:
        """Whether a call of this name whose first arguments are `members` (key, raw JSON) may be a loop."""
        wanted = [(key, canonical(raw)) for key, raw in members]
        return any(
            self.detect(*call) is not None and all(f'"{key}": {value}' in call[1] for key, value in wanted)
            for call in dict.fromkeys(self._row)
            if call[0] == name
        )

    def add(self, name: str, arguments: str) -> None:
        """Add a complete call of the reply."""
        if self.watches(name):
            self._row.append((name, canonical(arguments)))
            self._results.append(None)
            del self._row[:-_RECENT], self._results[:-_RECENT]

    def detect(self, name: str, arguments: str) -> Loop | None:
        """The loop that this call would make, None for none."""
        if not self.watches(name):
            return None
        call = (name, canonical(arguments))
        loops, same = self._loops, [place for place, past in enumerate(self._row) if past == call]
        if loops.same_result and len(same) >= loops.same_result:
            results = {self._results[place] for place in same[-loops.same_result :]}
            if len(results) == 1 and None not in results:
                return Loop("same_result", f"{printable_name(name)} gave the same result {loops.same_result} times")
        if loops.same_call and len(same) + 1 >= loops.same_call:
            news = self._latest_news(call) if loops.progress else -1
            times = sum(place > news for place in same) + 1
            if times >= loops.same_call:
                return Loop("same_call", f"{printable_name(name)} was called the same way {times} times")
        row = [*self._row, call]
        for size in (2, 3):
            wanted = size * loops.cycle
            tail = row[-wanted:] if wanted else []
            if tail and len(tail) == wanted and len(set(tail[:size])) > 1 and tail == tail[:size] * loops.cycle:
                return Loop("cycle", f"the same {size} calls followed each other {loops.cycle} times")
        return None

    def _latest_news(self, call: tuple[str, str]) -> int:
        """The place of the latest other call that had not been made before and was answered, -1 where there is none.

        A test that is run again after each edit is no loop: what was done between is new.
        """
        firsts: dict[tuple[str, str], int] = {}
        for place, past in enumerate(self._row):
            if past != call:
                firsts.setdefault(past, place)
        return max((place for place in firsts.values() if self._results[place] is not None), default=-1)


class LoopWatch:
    """A loop guard that only reports, when a reply has ended.

    history   the calls of the conversation so far, if calls of these names may make a loop with them
    """

    def __init__(self, loops: Loops, history: Callable[[frozenset[str]], tuple[EarlierCall, ...]]) -> None:
        self._loops = loops
        self._history = history

    def notes(self, calls: Iterable[tuple[str, str]]) -> list[Note]:
        """The loops of a reply's complete calls (name, argument JSON), of each kind and tool the last one."""
        row = list(calls)
        names = frozenset(name for name, _ in row)
        call_loops = CallLoops(self._loops, self._history(names) if row else ())
        found: dict[tuple[str, str], Note] = {}
        for name, arguments in row:
            loop = call_loops.detect(name, arguments)
            call_loops.add(name, arguments)
            if loop is not None:
                found[loop.what, name] = note_of(loop, self._loops)
        return list(found.values())


def note_of(loop: Loop, loops: Loops) -> Note:
    """A loop as a note, which warns unless the guard only observes."""
    return Note(loop.what, loop.text, loops.action != "observe")


class TextLoops:
    """Finds a passage that a reply's text repeats. `before` are the earlier texts of the conversation."""

    def __init__(self, times: int, before: Iterable[str] = ()) -> None:
        self._times = times
        self._prose = ""
        self._step = ""  # what comes behind it
        self._line = ""  # the beginning of a line, until it is known what kind of line it is
        self._known = False
        self._counts = True
        self._fence = ""
        self._reported = False
        self._looks = False
        for text in before:
            self.feed(text)
            self.start_block()
        self._looks = True

    def start_block(self) -> None:
        """What follows is in another block of the reply, where a line begins and no code block is open."""
        self._line, self._known, self._counts, self._fence = "", False, True, ""

    def quiet(self, text: str) -> bool:
        """Whether the next text stays inside a line and ends no step of it, so that nothing is found at it."""
        if self._reported:
            return True
        if not self._known or not text.isprintable():
            return False
        return not self._counts or len(self._step) + len(text) < _STEP

    def feed(self, text: str) -> int | None:
        """Take the next piece of text. The offset in it at which a passage was repeated too often, None for none.

        A reply has at most one such offset.
        """
        if self._reported:
            return None
        if self._known and text.isprintable():  # inside a line
            at = self._repeats(text) if self._counts else None
            self._reported = at is not None
            return at
        end = 0
        for part in text.splitlines(keepends=True):
            end += len(part)
            line, lead = part, 0
            if not self._known:
                line = self._line + part
                stripped = line.lstrip()
                if len(stripped) < _KIND and not part.endswith("\n"):
                    self._line = line
                    continue
                self._line, lead = "", len(line) - len(stripped) + min(_KIND, len(stripped))
                self._classify(stripped)
            at = self._repeats(line) if self._counts else None
            if at is not None:
                self._reported = True
                return end - len(line) + max(at, lead)
            self._known = not part.endswith("\n")
        return None

    @property
    def loop(self) -> Loop:
        """The loop that was found."""
        return Loop("message", f"the same passage stood in the reply {self._times} times")

    def _classify(self, line: str) -> None:
        """What a line is, from its beginning."""
        fence = line[:3] if line[:3] in {"```", "~~~"} else ""
        if fence and self._fence in {"", fence}:
            self._fence = "" if self._fence else fence
            self._counts = False
        else:
            self._counts = not self._fence and not line.startswith("|")
        if not self._counts:
            self._prose, self._step = "", ""

    def _repeats(self, text: str) -> int | None:
        """Take prose in, in steps of fixed length, so that it never matters how it was cut."""
        at = 0
        while len(self._step) + len(text) - at >= _STEP:
            size = _STEP - len(self._step)
            self._prose = (self._prose + self._step + text[at : at + size])[-HISTORY:]
            self._step = ""
            at += size
            if self._looks and self._full():
                return at
        self._step += text[at:]
        return None

    def _full(self) -> bool:
        """Whether the last window is in the text `times` times, each at the same distance from the one before."""
        prose = self._prose
        window = prose[-WINDOW:]
        before = prose.rfind(window, 0, len(prose) - 1)
        if len(window) < WINDOW or before < 0:
            return False
        period = len(prose) - WINDOW - before
        span = (self._times - 1) * period + WINDOW
        if span > len(prose):
            return False
        tail = prose[-span:]
        unit = tail[:period]
        letters = len(_LETTER.findall(unit))
        return tail[period:] == tail[:-period] and 2 * letters > len(unit.replace(" ", "")) and letters > 1
