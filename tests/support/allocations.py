"""What work allocates, in bytes of Python's own allocations; `tracemalloc` counts those of the whole process.

Other threads are counted, too: pytest-xdist receives a worker's list of tests in one, which takes some hundred
kilobytes. A disturbance only ever adds: so a bound is kept where one of three measurements keeps it.
"""

import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

ROUNDS = 3


class Allocated(NamedTuple):
    held: int  # when the work is done, and what it works on is still there
    peak: int  # the most at any time of the work


def allocates_at_most(
    prepare: Callable[[], Callable[[], object]], *, held: int = 0, peak: int = 0, of: str = ""
) -> None:
    """Assert that `prepare()()` holds and takes fewer bytes than are given; what `prepare` itself takes is not counted.

    held, peak   0 for a bound that is not asked for
    of           which of several pieces of work this is, for the message
    """
    measured: list[Allocated] = []
    for _ in range(ROUNDS):
        measured.append(_allocated(prepare()))
        now = measured[-1]
        if (not held or now.held < held) and (not peak or now.peak < peak):
            return
    raise AssertionError(f"{of} was to hold {held or 'any'} bytes and to take {peak or 'any'}: {measured}")


def _allocated(work: Callable[[], object]) -> Allocated:
    tracemalloc.start()
    try:
        work()
        return Allocated(*tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
