"""Any of many literals: as a pattern for Python, and as a question about a long text.

A search that stops at each character with which a literal may begin is slow in a text full of such characters. RE2
reads such a text once, and says whether any literal is in it (`bench/whole.py`, "signs of HTML").
"""

import re
from collections.abc import Callable, Iterable

from toolcalls.text.linear_search import LinearSearch


class AnyOf:
    """Whether a text has any of some literals. Nothing is compiled before it is asked.

    loosely   literals in lower case, found in any case, with `-`, `_` and blanks inside
    """

    __slots__ = ("_anywhere", "_at_line")

    def __init__(self, literals: Iterable[str], loosely: Iterable[str] = ()) -> None:
        patterns = any_literal(sorted(set(literals))), any_literal(sorted(set(loosely)), _loose)
        pattern = "|".join(filter(None, patterns))
        self._anywhere = LinearSearch(pattern) if pattern else None
        self._at_line = LinearSearch(rf"[\n\r][ \t]*(?:{pattern})") if pattern else None

    def maybe_in(self, text: str, *, at_line: bool = False) -> bool:
        """Whether one may be in it, or (`at_line`) at the start of a line other than the first. None is missed."""
        search = self._at_line if at_line else self._anywhere
        return search is not None and search.finds(text) is not False


def _loose(char: str) -> str:
    return f"{f'[{char.upper()}{char}]' if char.isalpha() else re.escape(char)}[-_ ]*"


def any_literal(literals: Iterable[str], spelt: Callable[[str], str] = re.escape) -> str:
    """A pattern for any of them, the longest that stands: shared beginnings are tried once, not once for each.

    spelt   the pattern for a character
    """
    following: dict[str, list[str]] = {}
    whole = False
    for literal in literals:
        if literal:
            following.setdefault(literal[0], []).append(literal[1:])
        else:
            whole = True
    if not following:
        return ""
    branches = [spelt(first) + any_literal(rest, spelt) for first, rest in following.items()]
    joined = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"(?:{joined})?" if whole and spelt is not re.escape else f"{joined}?" if whole else joined
