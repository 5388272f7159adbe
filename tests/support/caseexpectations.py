"""What a case must say, as `caseoutcomes` and its parts put it."""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from support.caseedits import NotUpdated


class Doubtful(NotUpdated):
    """What came out must not be written down."""


class Expected(NamedTuple):
    """What a case must say of a key; `default`: it need not, since this holds without the key."""

    value: Any
    default: bool


def spelt(value: Any) -> str:
    """A value in one spelling: two that JSON tells apart differ."""
    return json.dumps(value, default=str)


def kept(said: Iterable[Any], came: list[Any], same: Callable[[Any, Any], bool]) -> list[Any]:
    """What came, each item as its author wrote it where that says the same."""
    wrote = list(said)
    wrote += [None] * (len(came) - len(wrote))
    return [old if old is not None and same(old, new) else new for old, new in zip(wrote, came, strict=False)]


def unordered(said: list[str], came: list[str]) -> list[str]:
    """Lines whose order does not count: as the author wrote them where they are the same."""
    return said if sorted(said) == sorted(came) else came
