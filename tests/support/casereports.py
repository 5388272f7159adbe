"""What a failing case reports: where it stands, and how to run it alone; what is wrong in a file."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from support.casefiles import CaseFile, Place


def place_of(params: Mapping[str, Any]) -> Place | None:
    """Where the case stands that a test runs with these parameters; None for a test without one."""
    places = (getattr(value, "place", None) for value in params.values())
    return next((place for place in places if isinstance(place, Place)), None)


def command(place: Place, test_file: str) -> str:
    """The command that runs one case alone, in all tests of a file."""
    return shlex.join([".venv/bin/python", "-m", "pytest", test_file, "--case", str(place)])


def file_of(params: Mapping[str, Any]) -> str:
    """The case file that a test is about as a whole; "" for none."""
    return next((value.file for value in params.values() if isinstance(value, CaseFile)), "")


def named(place: Place, wanted: Iterable[str], places: Iterable[Place]) -> bool:
    """Whether one of `wanted` names the case at `place`: as `file`, or as `file:line` with any line of the case.

    places   where all cases stand
    """
    for one in wanted:
        file, _, line = one.rpartition(":") if one.rpartition(":")[2].isdigit() else (one, "", "")
        if file != place.file:
            continue
        if not line:
            return True
        before = [other.line for other in places if other.file == file and other.line <= int(line)]
        if before and max(before) == place.line:
            return True
    return False


def no_mistakes(file: CaseFile) -> None:
    """Fail with one line for each mistake in a file."""
    lines = [str(mistake) for mistake in file.mistakes]
    if lines:
        pytest.fail("\n".join([*lines, "tests/cases/README.md documents the format."]), pytrace=False)
