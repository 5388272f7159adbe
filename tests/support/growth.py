"""How work grows with its input: two sizes compared in one process, never a time by itself.

CPU time, because others use the machine too, and without the garbage collector, whose full rounds cost what all earlier
tests have left behind. Quadratic work gives a ratio of 16 for four times the input in every round; a disturbance gives
it in one. A disturbance only ever adds: so the small size, which a ratio must not be small by, is the least of three.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BOUND = 8  # times as long for four times as much: linear work gives 4, quadratic 16
ROUNDS = 5
LEAST = 1e-4  # seconds; what takes less is all noise


def grows_with_its_input(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Assert that `work(4 * size)()` costs at most `BOUND` times what `work(size)()` does."""
    ratios: list[float] = []
    for _ in range(ROUNDS):
        ratios.append(_seconds(work(4 * size), 1) / max(_seconds(work(size), 3), LEAST))
        if ratios[-1] < BOUND:
            return
    raise AssertionError(f"four times as much took {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as long")


def _seconds(work: Callable[[], object], times: int) -> float:
    """The least of so many times, in seconds of CPU."""
    best = float("inf")
    for _ in range(times):
        with _uncollected():
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
    return best


@contextmanager
def _uncollected() -> Iterator[None]:
    gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
