"""How a recording is cut into files and how much of it is kept, as the options say it: `100m`, `24h`."""

import re
from dataclasses import dataclass
from typing import Literal

type Split = Literal["size", "session"]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_NUMBER = re.compile(r"(\d{1,15})([a-z]?)")


@dataclass(frozen=True, slots=True)
class Limits:
    """How a recording is cut into files and how much of it is kept.

    split       one file after the other, or one for each session of an agent
    file_size   bytes of a file; one exchange may be larger
    file_age    seconds from a file's beginning until the next one begins
    total       bytes of all recordings in the folder with their indexes; the oldest files go first
    """

    split: Split = "size"
    file_size: int = 100 * 1024**2
    file_age: int = 86400
    total: int = 10 * 1024**3

    @property
    def largest_file(self) -> int:
        """The bytes that a file may have: a quarter of all that is kept at most, so that something is left of it."""
        return max(1, min(self.file_size, self.total // 4))


def bytes_of(text: str) -> int:
    """`100m` as a number of bytes. Raises ValueError."""
    return _read(text, _BYTES, "a size like 100m, with k, m, g or t behind the number")


def seconds_of(text: str) -> int:
    """`24h` as a number of seconds. Raises ValueError."""
    return _read(text, _SECONDS, "a time like 24h, with s, m, h or d behind the number")


def _read(text: str, units: dict[str, int], expected: str) -> int:
    found = _NUMBER.fullmatch(text.strip().lower())
    factor = units.get(found[2]) if found else None
    if found is None or factor is None or not int(found[1]):
        raise ValueError(f"expected {expected}, found {text!r}")
    return int(found[1]) * factor
