r"""The strings of a `Transducer`: what is in them leaves as strict JSON.

Held back are half an escape, and what a backslash that was meant as such may change the meaning of (`backslashes`):
from `\b` or `\f` on, and from the first backslash behind a drive on. What is held has been consumed.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from toolcalls.events import Repair
from toolcalls.values.backslashes import MOST_HELD, MOST_PATH, NO_PATH, UNDECIDED, is_json_content, path_end
from toolcalls.values.conversion import escape
from toolcalls.values.json_tokens import OTHER_ESCAPE, PART_OF_ESCAPE, STRING_RUNS, STRING_STOPS

_LONGEST_KEY = 256  # characters of a key that are kept
_LITERAL = {r"\b": r"\\b", r"\f": r"\\f"}
_DRIVE = re.compile(r"[A-Za-z]")


class JsonStrings(ABC):
    """The states inside a string.

    literal   backslashes may have been meant as such

    repairs  what was not strict JSON
    is_sound  nothing was respelt but paths in strings that are strict JSON
    """

    def __init__(self, *, literal: bool) -> None:
        self.repairs: list[Repair] = []
        self.is_sound = True
        self._literal = literal
        self._keys: list[str] = []  # in each of these containers, the content of the latest key
        self._out: list[str] = []  # of the piece at hand
        self._begun = ""  # what has come of a token that may be one of several
        self._origin = 0  # what added to a position in the text at hand makes it an offset
        self._waits = False  # what comes next is undecided (`damaged_json`)
        self._quote = '"'
        self._run, self._stops = STRING_RUNS['"'], STRING_STOPS['"']
        self._is_key = False
        self._drive: str | None = None  # what has come of a drive and its colon; None where none can be any more
        self._foreign = False  # the string holds an escape that JSON does not know
        self._held: list[str] | None = None  # what is in the string from its first `\b` or `\f` on
        self._held_from = self._room = 0
        self._state: Callable[..., int] = JsonStrings._string

    @abstractmethod
    def _wait(self, text: str, pos: int) -> int:
        """What comes in the next piece says which token this is."""

    @abstractmethod
    def _string_ended(self) -> None:
        """The string has been closed."""

    @property
    def undecided_from(self) -> int | None:
        """The offset of what is held of a string, None for nothing."""
        return self._held_from if self._held is not None or self._state is JsonStrings._path else None

    def _repair(self, name: Repair, *, sound: bool = False) -> None:
        self.is_sound = self.is_sound and sound
        if name not in self.repairs:
            self.repairs.append(name)

    def _begin_string(self, quote: str, *, key: bool) -> None:
        self._out.append('"')
        self._quote = quote
        self._run, self._stops = STRING_RUNS[quote], STRING_STOPS[quote]
        self._is_key = key
        self._foreign = False
        self._room = MOST_HELD
        self._drive = "" if self._literal and not key else None
        if key:
            self._keys[-1] = ""
        self._state = JsonStrings._string

    # --- states -------------------------------------------------------------------------------------------------------

    def _string(self, text: str, pos: int) -> int:
        if self._drive is not None:
            pos = self._behind_drive(text, pos, self._drive)
            if pos == len(text) or self._state is not JsonStrings._string:
                return pos
        found = self._run(text, pos)
        end = found.end() if found is not None else pos
        if end > pos:
            self._content(text[pos:end])
        if end == len(text):
            return end
        char = text[end]
        if char == "\\":
            return self._other_escape(text, end)
        if char != self._quote:
            return self._other_character(text, end)
        if self._goes_on(text, end):
            return end if self._waits else end + 1
        self._release(_AS_WRITTEN)
        self._out.append('"')
        self._string_ended()
        return end + 1

    def _behind_drive(self, text: str, pos: int, drive: str) -> int:
        """The beginning of a string: a letter, a colon and a single backslash begin a path."""
        start = pos
        if not drive and _DRIVE.match(text, pos):
            drive, pos = text[pos], pos + 1
        if len(drive) == 1 and text.startswith(":", pos):
            drive, pos = f"{drive}:", pos + 1
        if pos > start:
            self._content(text[start:pos])
        if pos == len(text):
            self._drive = drive
            return pos
        if len(drive) == 2 and text[pos] == "\\":
            if pos + 1 == len(text):
                self._drive = drive
                return self._wait(text, pos)
            if text[pos + 1] != "\\":
                self._state, self._held_from = JsonStrings._path, self._origin + pos
        self._drive = None
        return pos

    def _path(self, text: str, pos: int) -> int:
        """What may be a path, from the backslash behind its drive on. It is read when all of it is there."""
        end = path_end(text, pos, self._quote)
        if end == UNDECIDED and len(text) - pos <= 2 * MOST_PATH:
            return self._wait(text, pos)
        self._state = JsonStrings._string
        if end in {UNDECIDED, NO_PATH}:
            return pos
        raw = text[pos:end]
        self._repair("invalid_escape", sound=is_json_content(raw))
        self._content(escape(raw))
        return end

    def _goes_on(self, text: str, at: int) -> bool:  # noqa: ARG002 - for `damaged_json`
        """Whether the quote at `at` does not end the string."""
        return False

    def _content(self, made: str) -> None:
        """The string goes on."""
        if self._held is not None:
            self._hold(made)
            return
        if self._is_key:
            self._keys[-1] = (self._keys[-1] + made)[:_LONGEST_KEY]
        self._out.append(made)

    def _other_escape(self, text: str, at: int) -> int:
        r"""A backslash that does not begin a whole escape of JSON, or begins `\b` or `\f`."""
        if PART_OF_ESCAPE(text, at):
            return self._wait(text, at)
        if text[at + 1] in "bf":
            self._rare_escape(text[at : at + 2], at)
            return at + 2
        found = OTHER_ESCAPE[self._quote](text, at)
        if found is None:  # it was meant as such, as in `C:\Users` and `\d`
            self._repair("invalid_escape")
            self._foreign = True
            self._release(_LITERAL)
            self._content("\\\\")
            return at + 1
        if found[1] is None or self._quote == '"':
            self._repair("invalid_escape")
        code = found[3]
        self._content(found[1] or (f"\\u00{found[2]}" if code is None else escape(chr(int(code, base=16)))))
        return found.end()

    def _other_character(self, text: str, at: int) -> int:
        """A double quote in single quotes, a control character or a surrogate."""
        if text[at] < " ":
            self._repair("raw_newline")
        self._content(escape(text[at]))
        return at + 1

    # --- what is held -------------------------------------------------------------------------------------------------

    def _rare_escape(self, written: str, at: int) -> None:
        r"""A `\b` or `\f`, which is literal where the string holds an escape that JSON does not know."""
        if not self._literal or self._is_key:
            self._content(written)
        elif self._foreign:
            self._content(_LITERAL[written])
        elif self._held is None and self._room > 0:
            self._held, self._held_from = [written], self._origin + at
        else:
            self._content(written)

    def _hold(self, made: str) -> None:
        held = self._held or []
        held.append(made)
        self._room -= len(made)
        if self._room <= 0:
            self._release(_AS_WRITTEN)

    def _release(self, respelt: dict[str, str]) -> None:
        """It is known how what is held was meant."""
        if self._held is not None:
            self._out += [respelt.get(part, part) for part in self._held]
            self._held = None


_AS_WRITTEN: dict[str, str] = {}
