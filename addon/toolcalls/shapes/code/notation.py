"""The marks of `keyed`'s notation: what strings are between, and what ends a call."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

QUOTE = "'"  # models put it in the place of a string's mark


@dataclass(frozen=True)
class Notation:
    """What strings are between, and the markers that end a call and begin one."""

    delimiter: str
    closing: tuple[str, ...]
    opening: tuple[str, ...]

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The markers that end a call, with or without its bracket."""
        return (*self.closing, *self.opening)

    @cached_property
    def ends_quoted(self) -> re.Pattern[str]:
        """What may end a value that began with a single quote."""
        return any_of(QUOTE + self.delimiter[0])

    @cached_property
    def key_quotes(self) -> tuple[str, ...]:
        """What may be on both sides of a key."""
        return (self.delimiter, '"')


@lru_cache(maxsize=256)
def any_of(characters: str, behind_comma: str = "") -> re.Pattern[str]:
    """Finds one of these characters, or a comma that one of `behind_comma`, or the end, may follow."""
    comma = rf"|,(?=[ \t\r\n]*+(?:[{re.escape(behind_comma)}]|\Z))" if behind_comma else ""
    return re.compile(f"[{re.escape(characters)}]{comma}")
