"""How many Python functions some work calls: a measure of it that no other process can disturb."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """The calls of functions, generators and comprehensions that have a frame of their own; none of those in C."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
