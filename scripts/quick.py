"""`make quick`: the layers, the laws by a few examples, and the tests of what changed, in under a minute.

    python scripts/quick.py [--list] [ARGUMENT OF PYTEST ...]

What changed is what differs from the branch `main`, committed or not. Each changed file names its tests:

    addon/toolcalls/dialects/NAME.py     tests/cases/dialects/NAME.yaml, read in every way
    addon/toolcalls/ROOM/NAME.py         tests/ROOM/test_NAME.py and test_NAME_*.py, or else the room's tests
    tests/cases/ROOM/NAME.yaml           its cases in tests/ROOM/test_cases.py
    tests/support/NAME.py                the tests that import it
    a page, config/, recordings/         the tests that read them

What starts processes (tests/live) is for `make test`. Exit status: that of the first pytest that fails.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePath

REPO = Path(__file__).parents[1]
ALWAYS = ("tests/test_layers.py", "tests/reading/test_laws.py", "tests/replies/test_exchange_laws.py")
READ_BY = {
    "config": "tests/config", "docs": "tests/test_docs.py", "recordings": "tests/test_recordings.py",
    "fuzz": "tests/test_reliability.py", "reliability": "tests/test_reliability.py",
}  # fmt: skip


def changed() -> list[str]:
    """Paths that differ from `main`, or from HEAD where there is no such branch; none outside a repository."""
    for branch in ("main", "origin/main", "HEAD"):
        base = _git("merge-base", "HEAD", branch)
        if base:
            return [*_git("diff", "--name-only", *base), *_git("ls-files", "--others", "--exclude-standard")]
    return []


def _git(*words: str) -> list[str]:
    run = subprocess.run(["git", *words], cwd=REPO, capture_output=True, text=True, check=False)
    return run.stdout.split("\n")[:-1] if run.returncode == 0 else []


def concerned(path: str) -> list[str]:
    """The test files, folders and case files (.yaml) of a changed file, as far as they exist."""
    parts, stem = PurePath(path).parts, PurePath(path).stem
    match parts:
        case ("addon", "toolcalls", "dialects", _) if stem != "__init__":
            found = [
                f"tests/cases/dialects/{stem}.yaml",
                f"tests/dialects/test_{stem}.py",
                "tests/dialects/test_about.py",
            ]
        case ("addon", "toolcalls", room, *_, _):
            found = _named(room, [part for part in (*parts[3:-1], stem) if part != "__init__"])
        case ("tests", "cases", _, _) if path.endswith(".yaml"):
            found = [path]
        case ("tests", "cases", _) if path.endswith(".yaml"):
            found = _mentioning(stem)
        case ("tests", "support", _):
            found = _mentioning(f"support.{stem}")
        case ("tests", "live", *_):
            found = []
        case ("tests", *_) if stem.startswith("test_"):
            found = [path]
        case ("tests", folder, *_) if folder in READ_BY:
            found = [READ_BY[folder]]
        case ("scripts", _) | ("addon", "toolcalls", _):
            found = [f"tests/test_{stem}.py"]
        case (folder, _, *_) if folder in READ_BY:
            found = [READ_BY[folder]]
        case (_,) if path.endswith(".md"):
            found = ["tests/test_docs.py"]
        case _:
            found = []
    return [one for one in found if (REPO / one).exists()]


def _named(room: str, names: Iterable[str]) -> list[str]:
    """The tests in a room's folder that have one of the names; else all that are there."""
    there = sorted(path.name for path in (REPO / "tests" / room).glob("test_*.py"))
    named = [file for file in there if any(re.match(rf"test_{name}(_\w+)?\.py", file) for name in names)]
    return [f"tests/{room}/{file}" for file in named] or [f"tests/{room}"]


def _mentioning(word: str) -> list[str]:
    """The tests that name something, or that import from `support` what names it."""
    named = re.compile(rf"\b{re.escape(word)}\b")
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((REPO / "tests").rglob("*.py"))}
    through = {
        f"support.{path.stem}" for path, text in sources.items() if path.parent.name == "support" and named.search(text)
    }
    every = re.compile("|".join(rf"\b{re.escape(one)}\b" for one in (word, *through)))
    files = [path for path, text in sources.items() if path.name.startswith("test_") and every.search(text)]
    return [str(path.relative_to(REPO)) for path in files if path.parent.name != "live"]


def runs(found: Iterable[str]) -> list[list[str]]:
    """The arguments of each pytest: one for test files, one for cases."""
    tests = dict.fromkeys([*ALWAYS, *(one for one in found if not one.endswith(".yaml"))])
    cases = sorted({one for one in found if one.endswith(".yaml")})
    readers = sorted({f"tests/{PurePath(one).parts[2]}/test_cases.py" for one in cases})
    return [[*tests], *([[*readers, *(f"--case={one}" for one in cases)]] if cases else [])]


def main(arguments: list[str]) -> int:
    """Print what is run, and run it."""
    found = [test for path in changed() for test in concerned(path)]
    for run in runs(found):
        print("pytest", *run, flush=True)
        if "--list" not in arguments:
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *arguments, *run]
            if status := subprocess.run(
                command, cwd=REPO, env={**os.environ, "TESTS": "quick"}, check=False
            ).returncode:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
