"""Which declared tool a written name means: the one place that knows the rule, for whole names and for names in a text.

A name is itself when it is declared; else it is the only declared one from which it differs by a prefix up to a
separator (`functions.`, `mcp__server__`), or by case, `-`, `_` and blanks. Nothing fuzzier.

Where the name is what a call begins with, nothing says where it ends, or that it is one. There it has a prefix that
models are known for (`PREFIXES`), and no more marks inside than a few.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable

SEPARATOR = re.compile(r"[./:]|__")
MARKS = str.maketrans("", "", "-_ ")  # what may be between the letters of a name

# In front of a name, each with a separator behind it; `mcp__` and the name of a server as well.
_MODULES = ("functions", "default_api", "tools")
_SEPARATORS = (".", ":", "/", "__")
_MODULE_PREFIXES = tuple(f"{module}{separator}" for module in _MODULES for separator in _SEPARATORS)
_MCP = "mcp__"
PREFIXES = (*_MODULES, _MCP)  # what a name with a prefix begins with
_MCP_NAME = re.compile(r"mcp__[A-Za-z0-9_-]{0,48}+")
_BEGUN = frozenset(prefix[:size] for prefix in (*_MODULE_PREFIXES, _MCP) for size in range(1, len(prefix) + 1))
_HEAD = 3  # characters of a name, in its letters, by which it is looked for first
_MORE_MARKS = 8  # characters that a name in a text may have more than the longest declared one
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]*+")


def letters(name: str) -> str:
    """A name without what may be spelt otherwise in it."""
    return name.translate(MARKS).lower() if name.isascii() else name  # other letters look alike, or fold to these


class ToolNames:
    """The names of declared tools. Never changes.

    longest   characters of one in a text, at most; 0 where none is declared
    """

    __slots__ = ("_by_letters", "_in_order", "_marked_ends", "_room", "_sizes", "longest")

    def __init__(self, names: Iterable[str]) -> None:
        names = dict.fromkeys(names)
        self._by_letters: dict[str, str | tuple[str, ...]] = {}  # many requests have some, so the usual one is lean
        for name in names:
            spelt = name.translate(MARKS).lower() if name.isascii() else name
            same = self._by_letters.get(spelt)
            self._by_letters[spelt] = name if same is None else (name, *((same,) if isinstance(same, str) else same))
        self._in_order = sorted(filter(None, self._by_letters))
        self._sizes = tuple(sorted(set(map(len, self._in_order)), reverse=True))
        self._marked_ends = tuple(name for name in names if name[-1:] in {"-", "_"})
        self._room = max(map(len, names), default=0) + _MORE_MARKS
        self.longest = self._room + len(_MCP) + 48 if names else 0

    def __bool__(self) -> bool:
        return bool(self._by_letters)

    def __contains__(self, name: str) -> bool:
        """Whether a tool of this name is declared."""
        return name in self.spelt(name)

    def spelt(self, written: str) -> tuple[str, ...]:
        """The names from which a written one differs by case, `-`, `_` and blanks at most."""
        found = self._by_letters.get(letters(written), ())
        return (found,) if isinstance(found, str) else found

    def meant(self, written: str) -> str:
        """The declared tool that a name means, "" for none or several."""
        if written in self:
            return written
        behind = [written[separator.end() :] for separator in SEPARATOR.finditer(written)]
        by_spelling = [self.spelt(one) for one in (written, *behind)]
        found = {one for one in behind if one in self} or set(by_spelling[0]) or set().union(*by_spelling[1:])
        return next(iter(found)) if len(found) == 1 else ""

    # In a text

    def heads(self) -> set[str]:
        """What a name in a text begins with where it has no prefix, in its letters: a few of them, or all of it."""
        return {name[:_HEAD] for name in self._in_order}

    def at(self, text: str, begin: int) -> list[tuple[str, int]]:
        """The names that stand at `begin`, each of which means a declared tool.

        Each is as it is written, and with it comes how many characters of it are a prefix.
        """
        found = []
        for start in _behind_prefixes(text, begin):
            run = _RUN.match(text, start, start + self._room)
            if run is None:
                continue
            spelt = run[0].translate(MARKS).lower()
            ends = [
                start + _written_size(run[0], size)
                for size in self._sizes
                if spelt[:size] in self._by_letters and len(spelt) >= size
            ]
            ends += [start + len(name) for name in self._marked_ends if text.startswith(name, start)]
            found += [(text[begin:end], start - begin) for end in ends if self.meant(text[begin:end])]
        return found

    def continue_from(self, part: str) -> bool:
        """Whether a name in a text may be longer than `part` and begins with it."""
        if part in _BEGUN or _MCP_NAME.fullmatch(part) is not None:
            return True
        return any(self._goes_on(part[start:]) for start in _behind_prefixes(part, 0))

    def _goes_on(self, part: str) -> bool:
        """`continue_from` without a prefix."""
        if not part:
            return True
        if _RUN.fullmatch(part) is None or len(part) >= self._room:
            return False
        spelt = part.translate(MARKS).lower()
        room = self._room - len(part) + len(spelt)
        for at in range(bisect_left(self._in_order, spelt), len(self._in_order)):
            name = self._in_order[at]
            if not name.startswith(spelt):
                break
            if len(spelt) < len(name) <= room:
                return True
        return any(len(name) > len(part) and name.startswith(part) for name in self._marked_ends)


def _behind_prefixes(text: str, begin: int) -> list[int]:
    """Where a name may begin that stands at `begin` with its prefix: there, and behind each prefix that it may have."""
    found = [begin]
    if text.startswith(PREFIXES, begin):
        found += [begin + len(prefix) for prefix in _MODULE_PREFIXES if text.startswith(prefix, begin)]
        server = _MCP_NAME.match(text, begin)
        for at in range(begin + len(_MCP) + 1, server.end() + 1) if server is not None else ():
            if text.startswith("__", at - 2) and text[at : at + 1] != "_":
                found.append(at)
    return found


def _written_size(run: str, size: int) -> int:
    """How many characters the first `size` letters of a run have with what stands between them."""
    at = size
    while (missing := size - len(run[:at].translate(MARKS))) > 0:
        at += missing
    return at
