"""`support/allocations.py`: a bound that is not kept fails, and what disturbs one measurement does not."""

from collections.abc import Callable

import pytest

from support.allocations import allocates_at_most


def appends(sizes: list[int]) -> Callable[[], Callable[[], None]]:
    """Each work keeps the next size in bytes, and takes twice that for a moment."""

    def prepare() -> Callable[[], None]:
        kept: list[bytes] = []
        size = sizes.pop(0)

        def work() -> None:
            kept.append(bytes(size))
            bytes(size)

        return work

    return prepare


def test_a_bound_that_is_never_kept_fails() -> None:
    for bounds in ({"held": 100_000}, {"peak": 200_000}):
        with pytest.raises(AssertionError, match=r"^a list was to hold .*held=100\d\d\d, peak=200\d\d\d"):
            allocates_at_most(appends([100_000] * 3), of="a list", **bounds)


def test_a_bound_that_is_kept_once_is_kept() -> None:
    allocates_at_most(appends([100_000, 100_000, 10_000]), held=50_000, peak=50_000)


def test_what_is_prepared_is_not_counted() -> None:
    kept = []

    def prepare() -> Callable[[], None]:
        kept.append(bytes(100_000))
        return lambda: None

    allocates_at_most(prepare, held=50_000, peak=50_000)
