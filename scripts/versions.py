"""Runs tests with other versions of Python and of the dependencies: `make test-versions`.

Each environment is a venv of its own under `.versions/`, which is kept: the next run installs only what changed.

    3.12, 3.13              the Pythons that the project is for, with the newest of all dependencies
    mitmproxy-oldest        the oldest mitmproxy that pyproject.toml allows, the newest of the rest
    lower-bounds            the lower bound of every dependency, those of the `dev` extra too

It prints a line for each, and keeps what pytest printed beside the venv. A Python that is not installed is named and
left out. Uses uv where it is on PATH, else `python -m venv` and pip.

    ARGS        what pytest gets; without it what `make test` runs
    ONLY        names of environments, for a part of them

Exit status: 0 where all that could run passed, 1 where one failed, 2 where nothing could run.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).parents[1]
FOLDER = REPO / ".versions"
BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?\s*>=\s*(?P<version>[\w.]+)")


@dataclass(frozen=True)
class Environment:
    """`pins`: what is installed in exactly this version, as pip reads it."""

    name: str
    python: str
    pins: tuple[str, ...] = ()


def lower_bounds(requirements: Iterable[str]) -> Iterator[str]:
    """Each requirement that has a lower bound, pinned to it."""
    for requirement in requirements:
        if found := BOUND.match(requirement):
            yield f"{found['name']}=={found['version']}"


def environments(project: dict[str, object]) -> list[Environment]:
    """The environments of a project's table in pyproject.toml."""
    own, extras, classifiers = project["dependencies"], project["optional-dependencies"], project["classifiers"]
    if not (isinstance(own, list) and isinstance(extras, dict) and isinstance(classifiers, list)):
        raise TypeError("pyproject.toml: dependencies and classifiers are lists, the extras a table")
    pythons = [one.rpartition(" ")[2] for one in classifiers if re.search(r":: 3\.\d+$", one)]
    lowest = tuple(lower_bounds([*own, *extras["dev"]]))
    oldest = tuple(pin for pin in lowest if pin.startswith("mitmproxy=="))
    return [
        *(Environment(python, python) for python in pythons),
        Environment("mitmproxy-oldest", pythons[0], oldest),
        Environment("lower-bounds", pythons[0], lowest),
    ]


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: from PATH, from pyenv, or one that uv has installed."""
    named = [shutil.which(f"python{version}"), sys.executable]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named += [str(path) for path in sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)]
    if shutil.which("uv"):
        found = _output(["uv", "python", "find", "--no-python-downloads", "--no-project", "--managed-python", version])
        named.append(found.strip() or None)
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    return next((one for one in named if one and _output([one, "-c", tell]).strip() == version), None)


def _output(command: list[str]) -> str:
    """What a command prints, "" where it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def install(environment: Environment, python: str, log: Path) -> Path | None:
    """The Python of an environment's venv with everything in it; None where that failed, and the log says why."""
    venv = FOLDER / environment.name
    own = venv / "bin" / "python"
    pins = FOLDER / f"{environment.name}.txt"
    pins.write_text("\n".join(environment.pins) + "\n", encoding="utf-8")
    uv = shutil.which("uv")
    made = [uv, "venv", "--python", python, str(venv)] if uv else [python, "-m", "venv", str(venv)]
    steps = [] if own.exists() else [made]
    pip = [uv, "pip", "install", "--python", str(own)] if uv else [str(own), "-m", "pip", "install"]
    steps.append([*pip, "--upgrade", "-e", ".[dev]", "-c", str(pins)])
    with log.open("w", encoding="utf-8") as out:
        for step in steps:
            if subprocess.run(step, cwd=REPO, stdout=out, stderr=subprocess.STDOUT, check=False).returncode:
                return None
    return own


def run(environment: Environment, arguments: list[str]) -> bool | None:
    """Run the tests in an environment and print its line; None where there is no such Python."""
    label = f"{environment.name:17} Python {environment.python}"
    python = interpreter(environment.python)
    if python is None:
        print(f"{label}  not run: Python {environment.python} is not installed", flush=True)
        return None
    log = FOLDER / f"{environment.name}.log"
    begun = time.monotonic()
    own = install(environment, python, log)
    if own is None:
        print(f"{label}  not installed, see {log.relative_to(REPO)}", flush=True)
        return False
    version = _output([str(own), "-c", "from mitmproxy import version; print(version.VERSION)"]).strip()
    command = [str(own), "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", *arguments]
    with log.open("a", encoding="utf-8") as out:
        status = subprocess.run(command, cwd=REPO, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    ends = re.findall(
        r"^=* ?(\d+ (?:passed|failed|error).*? in [\d.]+s)", log.read_text(encoding="utf-8"), re.MULTILINE
    )
    said = ends[-1] if ends else "no test ran"
    print(f"{label}, mitmproxy {version}: {said} ({time.monotonic() - begun:.0f} s in all)", flush=True)
    if status:
        print(f"{'':17} see {log.relative_to(REPO)}", flush=True)
    return status == 0


def main() -> int:
    """Run all environments, or those of `--only`."""
    parser = argparse.ArgumentParser(prog="make test-versions", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="names of environments, with blanks between them")
    parser.add_argument("arguments", nargs="*", help="what pytest gets")
    given = parser.parse_args()
    os.environ.setdefault("TESTS", "some")
    with (REPO / "pyproject.toml").open("rb") as file:
        known = environments(tomllib.load(file)["project"])
    names = given.only.split() or [one.name for one in known]
    unknown = set(names) - {one.name for one in known}
    if unknown:
        print(f"make test-versions: no environment {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    print(f"pytest {shlex.join(given.arguments) or '(what `make test` runs)'}", flush=True)
    results = [run(one, given.arguments) for one in known if one.name in names]
    if all(result is None for result in results):
        return 2
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
