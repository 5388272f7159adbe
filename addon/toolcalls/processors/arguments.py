"""The top-level arguments of a call, each as soon as it is final, while its JSON arrives in pieces.

Strategy: one pass that only counts brackets and strings finds where a member ends; the member's text is then read by
`values.members`, which is strict. Nothing is read twice, and what was read is not kept.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from toolcalls.values.conversion import members
from toolcalls.values.json_tokenizer import Marks

# Arguments in which tools that call other tools are given that call's own, some as JSON in a string.
_CARRIERS = frozenset({"arguments", "args", "input", "kwargs", "parameters", "params"})


class Arguments:
    """Reads one argument object. `broken`: it is none, and nothing more comes of it; `whole`: its brace is closed."""

    __slots__ = ("_comma", "_depth", "_marks", "_text", "broken", "whole")

    def __init__(self) -> None:
        self._text: list[str] = []  # of the member that has not ended
        self._comma = False  # the latest member had one after it
        self._depth = 0
        self._marks = Marks("{}[],")
        self.broken = False
        self.whole = False

    def feed(self, piece: str) -> list[tuple[str, str]]:
        """The members that `piece` makes final: decoded key, raw JSON text."""
        found: list[tuple[str, str]] = []
        start = at = 0
        while not self.broken and (at := self._marks.next(piece, at)) > 0:
            sign = piece[at - 1]
            if sign in "{[":
                self._depth += 1
                if self._depth == 1:
                    self._open(piece[start : at - 1], sign)
                    start = at
            elif sign == ",":
                if self._depth < 1:
                    self.broken = True
                elif self._depth == 1:
                    found.extend(self._member(piece[start : at - 1]))
                    start = at
            else:
                self._depth -= 1
                if self._depth == 0 and not self.whole:
                    found.extend(self._member(piece[start : at - 1], last=True))
                    start, self.whole = at, True
        if not self.whole:
            self._text.append(piece[start:])
        elif piece[start:].strip(" \t\r\n"):
            self.broken = True  # something after the object
        return found

    def _open(self, before: str, sign: str) -> None:
        if sign != "{" or before.strip(" \t\r\n") or self.whole or "".join(self._text).strip(" \t\r\n"):
            self.broken = True
        self._text.clear()

    def _member(self, end: str, *, last: bool = False) -> list[tuple[str, str]]:
        self._text.append(end)
        text = "".join(self._text)
        self._text.clear()
        if not text.strip(" \t\r\n"):
            self.broken = self._comma or not last
            return []
        self._comma = not last
        try:
            return members(f"{{{text}}}")
        except ValueError:
            self.broken = True
            return []


def plain(raw: str) -> str:
    """A value as patterns look at it: a string as itself, all else as JSON without escapes that hide what it holds.

    Raises ValueError or RecursionError for what is no JSON that can be taken apart.
    """
    value = json.loads(raw, parse_int=_Spelling, parse_float=_Spelling)
    return value if isinstance(value, str) else _written(value)


def _written(value: Any) -> str:
    """A value as JSON, with numbers as they were spelt."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_written(name)}: {_written(member)}' for name, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return str(value) if isinstance(value, _Spelling) else json.dumps(value, ensure_ascii=False)


def leaves(raw: str) -> list[str]:
    """The texts that a value holds, in order: itself, or what is in it, names of members too, as patterns see it.

    Raises ValueError or RecursionError for what is no JSON that can be taken apart.
    """
    found: list[str] = []
    row: list[Any] = [json.loads(raw, parse_int=str, parse_float=str)]  # the next one is the last
    while row:
        value = row.pop()
        if isinstance(value, dict):
            row.extend(one for member in reversed(value.items()) for one in reversed(member))
        elif isinstance(value, list):
            row.extend(reversed(value))
        else:
            found.append(value if isinstance(value, str) else json.dumps(value))
    return found


def members_in(argument: str, raw: str, key: str, as_key: Callable[[str], str] = str.casefold) -> Iterator[str]:
    """The values, as JSON text, of all members below an argument and its value whose name, by `as_key`, is `key`.

    A string is looked into only where its name says that it carries arguments (`_CARRIERS`): the JSON in a file's text
    is nobody's arguments. Raises ValueError or RecursionError for what is no JSON that can be taken apart.
    """
    found: list[str] = []
    carried: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(json.dumps(value) for name, value in pairs if as_key(name) == key)
        carried.extend(value for name, value in pairs if isinstance(value, str) and name.casefold() in _CARRIERS)
        return dict(pairs)

    if raw.lstrip(" \t\r\n")[:1] in {"{", "["}:
        json.loads(raw, object_pairs_hook=look, parse_int=str, parse_float=str)
    elif argument.casefold() in _CARRIERS and isinstance(text := json.loads(raw, parse_int=str, parse_float=str), str):
        carried.append(text)
    while carried:  # each stood within another text, and is shorter
        text = carried.pop()
        if text.lstrip()[:1] not in {"{", "[", '"'}:
            continue
        try:
            value = json.loads(text, object_pairs_hook=look, parse_int=str, parse_float=str)
        except ValueError:
            continue  # it only begins like JSON
        if isinstance(value, str):
            carried.append(value)
    yield from found


def canonical(raw: str) -> str:
    """One spelling for each value: white space, escapes and order of keys do not count, a number's spelling does."""
    try:
        value: Any = json.loads(raw, parse_int=_Number, parse_float=_Number)
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (ValueError, RecursionError):
        return raw


class _Number(str):
    """A number's spelling, kept apart from a string of the same letters."""

    __slots__ = ()

    def __new__(cls, spelling: str) -> "_Number":
        return super().__new__(cls, f"\0{spelling}")


class _Spelling(str):
    """A number as it was spelt."""

    __slots__ = ()
