"""Sizes and times as people write them: `100m`, `24h`."""

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_NUMBER = re.compile(r"(\d{1,15})([a-z]?)")


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
