"""Samples (`support/sampling.py`): the seed alone decides, no case is left out, and without TESTS everything runs."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.repository import REPO
from support.sampling import EACH

PRODUCT = """
import pytest
from hypothesis import given, strategies
from support.sampling import examples, some

@pytest.mark.sampled(2, per="case")
@pytest.mark.parametrize("way", range(30))
@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_a_case(case, way):
    print("ran", case, way, *some(range(1000), 3, case))

@pytest.mark.parametrize("way", range(60))
def test_by_itself(way):
    print("ran itself", way)

@pytest.mark.whole
@pytest.mark.parametrize("way", range(60))
def test_as_a_whole(way):
    print("ran whole", way)

@examples(60)
@given(strategies.integers())
def test_a_law(number):
    print("drew", number)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_product.py").write_text(PRODUCT)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -rP -p support.sampling -p no:cacheprovider\nmarkers =\n    sampled: \n    whole: \n"
    )
    return tmp_path


def ran(suite: Path, *arguments: str, **environment: str) -> tuple[set[str], str]:
    """The tests and draws of a run, and all that it printed."""
    path = os.pathsep.join(map(str, (REPO / "addon", REPO / "tests")))
    known = {key: value for key, value in os.environ.items() if key not in {"CI", "SEED", "TESTS"}}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments],
        cwd=suite, env={**known, **environment, "PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(re.findall(r"^(?:ran|drew) .*", run.stdout, re.MULTILINE)), run.stdout


@pytest.mark.sampled(0)
def test_a_seed_gives_one_sample_in_one_process_and_in_two(suite: Path) -> None:
    """It holds every case, and another seed gives another one."""
    alone, _ = ran(suite, TESTS="some", SEED="5")
    spread, _ = ran(suite, "-n2", TESTS="some", SEED="5")
    assert alone == spread
    lines, printed = ran(suite, TESTS="some")
    assert alone != lines
    rows = [line.split() for line in lines if line.startswith("ran")]
    ran_of = Counter(row[1] for row in rows)
    assert ran_of == {"a": 2, "b": 2, "c": 2, "itself": EACH, "whole": 60}
    assert {len(row[3:]) for row in rows if row[1] in "abc"} == {3}
    seeds = re.findall(r"make test SEED=(\d+)", printed)
    assert len(seeds) == 2
    assert len(set(seeds)) == 1


def test_without_a_sample_everything_runs(suite: Path) -> None:
    lines, printed = ran(suite)
    rows = [line.split() for line in lines if line.startswith("ran")]
    assert Counter(row[1] for row in rows) == {"a": 30, "b": 30, "c": 30, "itself": 60, "whole": 60}
    assert {len(row[3:]) for row in rows if row[1] in "abc"} == {1000}
    assert "SEED" not in printed


def test_an_amount_that_is_none_is_refused(suite: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        ran(suite, TESTS="most")
    assert "TESTS=most is none of quick, mutate, some, all, deep" in refused.value.stderr
