"""What is worked out once for a set of openers: a pattern for their beginnings, and whose each of them is.

There are thousands for a request with many tools, so both grow with their characters alone.
"""

import re
from collections.abc import Iterable, Mapping

from toolcalls.shapes import Dialect


def with_shorter(dialects: Mapping[str, tuple[Dialect, ...]]) -> dict[str, tuple[Dialect, ...]]:
    """The dialects of each opener, and behind them those of what it begins with: it is that opener, too.

    In the order of the alphabet, all that begin with an opener stand behind it in one row. Dialects are compared by
    identity, since a hash of one goes through all of its fields.
    """
    out: dict[str, tuple[Dialect, ...]] = {}
    begins: list[str] = []
    for literal in sorted(dialects):
        while begins and not literal.startswith(begins[-1]):
            begins.pop()
        own = dialects[literal]
        found = {id(dialect): dialect for dialect in own}
        for shorter in reversed(begins):
            found |= {id(dialect): dialect for dialect in dialects[shorter] if id(dialect) not in found}
        out[literal] = tuple(found.values())
        if literal:
            begins.append(literal)
    return out


def any_literal(literals: Iterable[str]) -> str:
    """A pattern for any of them, the longest that stands: shared beginnings are tried once, not once for each."""
    following: dict[str, list[str]] = {}
    whole = False
    for literal in literals:
        if literal:
            following.setdefault(literal[0], []).append(literal[1:])
        else:
            whole = True
    if not following:
        return ""
    branches = [re.escape(first) + any_literal(rest) for first, rest in following.items()]
    joined = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"{joined}?" if whole else joined
