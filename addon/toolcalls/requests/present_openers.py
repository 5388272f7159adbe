"""Which openers are in a long text, of hundreds that have no tool's name and of thousands that have one.

Those without a name are the same for all texts: RE2 looks for them in one pass. It refuses thousands, so those with a
name are looked for by their first characters: one look at each sign in the text tells which of them may be there.
"""

import re
from functools import cache, lru_cache
from itertools import chain

from toolcalls.dialects import all_dialects
from toolcalls.text.linear_search import LinearSearches
from toolcalls.text.scanner import SPACE
from toolcalls.values.toolbox import Toolbox

# Characters that hardly any prose holds and nearly every opener does, the one that tells most first.
_MARKS = "<[`>({=:_"
_KEY = 3  # characters of an opener from its mark on, which a text is asked for before all of it
_KEYS = re.compile(rf"(?=([{re.escape(_MARKS)}].{{,{_KEY - 1}}}))", re.DOTALL)


def may_hold_calls(text: str, tools: Toolbox) -> bool:
    """Whether a call of any dialect may begin in a text."""
    return text.lstrip(SPACE).startswith(_at_start(tools.names)) or bool(openers_in(text, tools))


@lru_cache(maxsize=8)
def _at_start(names: tuple[str, ...]) -> tuple[str, ...]:
    """The openers that count at the beginning of a text only."""
    return tuple(chain.from_iterable(one.openers(names) for one in all_dialects().values() if one.place == "message"))


def openers_in(text: str, tools: Toolbox) -> frozenset[str]:
    """The openers in a text, of all dialects for whose calls it is not the place alone that tells."""
    openers, search = _unnamed()
    found = {opener for opener in (openers[one] for one in search.possible(text)) if opener in text}
    if tools.names:
        keys = _keys_in(text)
        found.update(opener for key, opener in _named(tools.names) if key in keys and opener in text)
    return frozenset(found)


def _anywhere(names: tuple[str, ...]) -> dict[str, None]:
    openers = (one.openers(names) for one in all_dialects().values() if one.place != "message")
    return dict.fromkeys(chain.from_iterable(openers))


@cache
def _unnamed() -> tuple[tuple[str, ...], LinearSearches]:
    """The openers without a tool's name, and the search for them."""
    openers = tuple(_anywhere(()))
    return openers, LinearSearches(openers)


@lru_cache(maxsize=8)
def _named(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The openers with the names of tools, which are thousands, each with its key: its first characters from its mark
    on, "" for one without a mark.
    """
    openers = _anywhere(names).keys() - _anywhere(()).keys()
    marks = {opener: next((mark for mark in _MARKS if mark in opener), "") for opener in openers}
    return tuple((opener[opener.index(mark) :][:_KEY] if mark else "", opener) for opener, mark in marks.items())


@lru_cache(maxsize=2)
def _keys_in(text: str) -> frozenset[str]:
    """Every mark in a text with what follows it, in all lengths that a key may have; and "", the key of no mark."""
    return frozenset(key[:size] for key in {"", *_KEYS.findall(text)} for size in range(_KEY + 1))
