"""How many of the tests run: all of them, or a sample that a seed chooses. A plug-in of pytest and what tests ask.

The environment says which, so xdist's workers know it too:

    TESTS=some SEED=17   `make test`: a part of each large product, and of each law's examples; of a test with more
                         parameters than EACH, so many, where no mark says otherwise
    TESTS=quick          `make quick`: the same, always with seed 0, and the fewest examples
    TESTS=mutate         `make mutate`: the tests of `make quick`, and all examples of each law
    TESTS=all            `make test-all`, and pytest by itself
    TESTS=deep           `make test-long`: every place to cut, and thousands of new examples of each law

A sample depends on the seed and on what it is of, and not on the order of the tests or the process they run in.
"""

import os
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random, SystemRandom

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

AMOUNT = os.environ.get("TESTS", "all")
EACH = 2
EXAMPLES = {
    "quick": lambda _: 5,
    "mutate": int,
    "some": lambda count: max(5, count // 20),
    "all": int,
    "deep": lambda _: 3000,
}
if AMOUNT not in EXAMPLES:
    raise pytest.UsageError(f"TESTS={AMOUNT} is none of {', '.join(EXAMPLES)}")
SAMPLED = AMOUNT in {"quick", "mutate", "some"}
DEEP = AMOUNT == "deep"
IN_CI = "CI" in os.environ
SEED = int(os.environ.get("SEED") or (SystemRandom().randrange(10_000) if AMOUNT == "some" else 0))
os.environ["SEED"] = str(SEED)  # for the workers

# No law fails because the machine is busy, and in CI none because it was the first to draw an input.
settings.register_profile(
    "patient",
    max_examples=EXAMPLES[AMOUNT](100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=IN_CI,
)
settings.load_profile("patient")


def examples(count: int) -> settings:
    """The settings of a law that has `count` examples in `make test-all`, where they are always the same."""
    fixed = IN_CI or AMOUNT in {"quick", "mutate", "all"}
    return settings(max_examples=EXAMPLES[AMOUNT](count), deadline=None, derandomize=fixed)


def some[T](population: Sequence[T], count: int, of: str | bytes) -> Sequence[T]:
    """`count` members in their order; the whole population where nothing is sampled.

    of   what the population is: two of the same size then have different samples
    """
    if not SAMPLED or len(population) <= count:
        return population
    return [population[at] for at in sorted(Random(f"{SEED} {of!r}").sample(range(len(population)), count))]


def a_few[T](population: Sequence[T], count: int, of: str) -> Sequence[T]:
    """`count` members in their order, always the same, in all runs but `make test-long`, which takes the population."""
    if DEEP or len(population) <= count:
        return population
    return [population[at] for at in sorted(Random(of).sample(range(len(population)), count))]


def a_few_where[T](population: Sequence[T], holds: Callable[[T], bool], count: int, of: str) -> Sequence[T]:
    """`count` of the members for which something holds, always the same; fewer are an error. `make test-long`: all."""
    if DEEP:
        return [member for member in population if holds(member)]
    members = list(islice(filter(holds, Random(of).sample(population, len(population))), count))
    assert len(members) == count, f"{of}: {len(members)} of {len(population)}, where {count} are asked for"
    return members


def share[T](population: Sequence[T], turn: int, turns: int) -> Sequence[T]:
    """The part for this turn of so many: together they are the population, which `make test-long` takes each time."""
    return population if DEEP else population[turn % turns :: turns]


def smaller(size: int) -> int:
    """A quarter of a size where tests are sampled: for work that is long and whose growth shows there, too."""
    return size // 4 if SAMPLED else size


def sampled(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that run.

    Of those marked `@pytest.mark.sampled(2, per="case")` it is two for each `case`; all that are marked `whole`; of any
    other test at most `EACH`, in `make test`.
    """
    groups: dict[str, dict[int, list[pytest.Item]]] = {}
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark or (AMOUNT == "some" and not item.get_closest_marker("whole")):
            per = mark.kwargs.get("per") if mark else None
            value = item.callspec.params[per] if per else None  # type: ignore[attr-defined]
            groups.setdefault(item.nodeid.partition("[")[0], {}).setdefault(id(value), []).append(item)
    out: set[pytest.Item] = set()
    for test, several in groups.items():
        for number, members in enumerate(several.values()):
            mark = members[0].get_closest_marker("sampled")
            (count,) = mark.args if mark else (EACH,)
            out.update(set(members) - set(some(members, count, f"{test} {number}")))
    return [item for item in items if item not in out]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the sample, after -k and --last-failed; draw the laws' examples by the seed.

    What `--case` asks for is in every sample.
    """
    if not SAMPLED:
        return
    stay = list(items) if config.getoption("case", None) else sampled(items)
    kept = set(stay)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = stay
    if AMOUNT == "some" and not IN_CI:
        for item in items:
            if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False):
                hypothesis.seed(SEED)(item.obj)


def _said() -> str:
    return f"A sample by seed {SEED}: `make test SEED={SEED}` repeats it, `make test-all` runs all tests in full."


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed, also with -q."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and AMOUNT == "some":
        reporter.write_line(_said())


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it once more, where a failure is read."""
    if AMOUNT == "some":
        terminalreporter.write_line(_said())
