"""`make mutate`: changes the code of decisions in one small way at a time, and says which changes no test notices.

Strategy: `tests/mutants.toml` lists the files and, for each, the tests that concern it: quick ones, in the order in
which they are likely to notice. `mutations.py` says what is changed. A seed, which is printed, shuffles all changes;
the first of them are tried with cosmic-ray, each in a copy of the repository, where pytest ends at the first failure.
A change is noticed when a test fails, or when the tests take half a minute and four times as long as without it.

A change that survives is a gap in the tests, unless `tests/mutants.toml` says why nobody can see it; such are not
counted. Exit status: 0 when nine of ten were noticed, 1 when fewer were, 2 when tests fail without any change, or for
bad use.
"""

import argparse
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from queue import Queue

from cosmic_ray.mutating import use_mutation
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome
from mutations import Mutant, Site, mutant, sites

REPO = Path(__file__).parents[1]
ENOUGH = 0.9
_MEMORY = 4_000_000  # KiB: a loop that a change makes endless must not take all
_REPORTED = 20  # changes, after which it says how it goes
_NOT_COPIED = (".git", ".venv", "node_modules", "__pycache__", ".*_cache", ".hypothesis", ".fuzz", "dist", "build")

type Tests = tuple[str, ...]


class Plan:
    """What `tests/mutants.toml` says.

    tests  for each file that is changed, the runs of pytest that are to notice it, as words of its command line
    known  why known survivors survive, by file, line as it was, line as it becomes
    """

    def __init__(self) -> None:
        table = tomllib.loads((REPO / "tests" / "mutants.toml").read_text(encoding="utf-8"))
        self.tests: dict[str, Tests] = {
            path.relative_to(REPO).as_posix(): tuple(entry["tests"])
            for entry in table["decides"]
            for pattern in entry["code"]
            for path in sorted(REPO.glob(pattern))
        }
        self.known = {(same["file"], same["was"], same["becomes"]): same["why"] for same in table.get("equivalent", ())}

    def sites(self, seed: int, only: str) -> list[Site]:
        """All places to change in the files whose path holds `only`, in the order of a seed."""
        files = [file for file in self.tests if fnmatch(file, f"*{only}*")]
        every = [site for file in files for site in sites(file, _source(file))]
        random.Random(seed).shuffle(every)
        return every

    def why(self, change: Mutant) -> str | None:
        """Why a survivor survives, None where that is not known."""
        return self.known.get((change.site.file, change.was, change.becomes))


def _source(file: str) -> str:
    return (REPO / file).read_text(encoding="utf-8")


class Copies:
    """Copies of the repository, one for each job, in which tests run with one change.

    The first copy runs all tests without any change, and keeps their bytecode for the others. Raises ValueError with
    what tests print that fail.
    """

    def __init__(self, folder: Path, pool: ThreadPoolExecutor, jobs: int, every: set[Tests]) -> None:
        first = folder / "0"
        shutil.copytree(REPO, first, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))

        def seconds(tests: Tests) -> float:
            begin = time.monotonic()
            # In a session of its own, as `run_tests` has it, so that both get the same share of a busy machine.
            run = subprocess.run(
                shlex.split(_command(first, tests)), capture_output=True, text=True, check=False, start_new_session=True
            )
            if run.returncode:
                raise ValueError(run.stdout + run.stderr)
            return time.monotonic() - begin

        self._seconds = dict(zip(every, pool.map(seconds, every), strict=True))
        self._free: Queue[Path] = Queue()
        for number in range(jobs):
            if number:
                shutil.copytree(first, folder / str(number), symlinks=True)
            self._free.put(folder / str(number))

    def notice(self, change: Mutant, tests: Tests) -> bool:
        """Whether tests notice a change."""
        copy, site = self._free.get(), change.site
        with use_mutation(copy / site.file, site.operator, site.occurrence):
            outcome, output = run_tests(_command(copy, tests), timeout=30 + 4 * self._seconds[tests])
        self._free.put(copy)
        if outcome is TestOutcome.INCOMPETENT:
            raise RuntimeError(output)
        return outcome is TestOutcome.KILLED


def _command(copy: Path, tests: Tests) -> str:
    """Runs of pytest, one after the other, until one fails. Laws take all examples, products a sample."""
    pytest = f"{shlex.quote(sys.executable)} -m pytest -q -x -p no:cacheprovider"
    runs = " && ".join(f"{pytest} {run}" for run in tests)
    limits = f"cd {shlex.quote(str(copy))}; ulimit -v {_MEMORY} 2>/dev/null; export CI=1 TESTS=mutate"
    return shlex.join(["sh", "-c", f"{limits}; {runs}"])


def _run(plan: Plan, chosen: list[Mutant], jobs: int, end: float) -> list[tuple[Mutant, bool]]:
    """Try changes until `end`. Raises ValueError with the output of tests that fail without any change."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies = Copies(Path(folder), pool, jobs, {plan.tests[change.site.file] for change in chosen})

        def tried(change: Mutant) -> tuple[Mutant, bool] | None:
            if time.monotonic() > end:
                return None
            noticed = copies.notice(change, plan.tests[change.site.file])
            if not noticed:
                print(f"\n{_shown(plan, change)}", flush=True)
            return change, noticed

        results: list[tuple[Mutant, bool]] = []
        for result in pool.map(tried, chosen):
            if result is not None:
                results.append(result)
                if len(results) % _REPORTED == 0:
                    print(f"{sum(seen for _, seen in results)} of {len(results)} noticed so far", flush=True)
        return results


def _shown(plan: Plan, change: Mutant) -> str:
    why = plan.why(change) or "not known why: a gap in the tests?"
    return f"{change.site.file}:{change.line}: {why}\n  - {change.was}\n  + {change.becomes}"


def main() -> int:
    parser = argparse.ArgumentParser(description="change the code of decisions and see whether tests notice")
    parser.add_argument("--seed", type=int, default=random.randrange(100_000), help="which changes are tried")
    parser.add_argument("--mutants", default="200", metavar="N|all", help="how many are tried (200)")
    parser.add_argument("--minutes", type=float, default=25, help="no change of a sample is begun later (25)")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried side by side (2)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only files whose path holds this")
    args = parser.parse_args()
    end = time.monotonic() + (args.minutes * 60 if args.mutants != "all" else float("inf"))
    plan = Plan()
    every = plan.sites(args.seed, args.only)
    mutants = (change for site in every if (change := mutant(_source(site.file), site)) is not None)
    chosen = list(islice(mutants, None if args.mutants == "all" else int(args.mutants)))
    print(f"{len(chosen)} of {len(every)} changes, SEED={args.seed}", flush=True)
    try:
        results = _run(plan, chosen, args.jobs, end)
    except ValueError as error:
        print(f"{error}\nThese tests fail without any change.", file=sys.stderr)
        return 2
    tries, noticed = Counter(c.site.file for c, _ in results), Counter(c.site.file for c, seen in results if seen)
    known = sum(not seen and plan.why(change) is not None for change, seen in results)
    print("\nnoticed  of")
    for file in sorted(tries):
        print(f"{noticed[file]:7}{tries[file]:4}  {file}")
    left = f"; {len(chosen) - len(results)} were not tried in time" if len(results) < len(chosen) else ""
    share = noticed.total() / max(1, tries.total() - known)
    print(f"{noticed.total():7}{tries.total():4}  and {known} survivors are known why, SEED={args.seed}{left}")
    print(f"{share:.1%} noticed of those that can be")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
