"""`make fuzz`: every target for its part of FUZZ_SECONDS (120), one after the other, each in a process of its own.

    FUZZ_SECONDS=600 python -m fuzz.run [TARGET ...]

Led by coverage with atheris (libFuzzer). What is found is written to `.fuzz/TARGET/crash-…` and shown; it belongs into
`tests/cases`. The corpus stays in `.fuzz/TARGET/corpus`, so the next run goes on from there. Exit status 1 when a
target found something, 2 where atheris is not there (it is an extra: `pip install -e '.[fuzz]'`).
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

REPO = Path(__file__).parents[2]
HOME = REPO / ".fuzz"
NAMES = ("reader", "transducer", "framing", "exchange")
SLOW = 10  # seconds after which one input counts as a hang
GRACE = 180  # seconds that a target may need beyond its time, to read its corpus and to stop


def main(arguments: list[str]) -> int:
    """Run the targets that are named, or all of them."""
    if find_spec("atheris") is None:
        print("make fuzz needs atheris, which is not here: pip install -e '.[fuzz]' (Linux and macOS)", file=sys.stderr)
        return 2
    names = arguments or list(NAMES)
    seconds = max(1, int(os.environ.get("FUZZ_SECONDS", "120")) // len(names))
    found: list[str] = []
    for name in names:
        print(f"--- {name}, {seconds} s", flush=True)
        command = [sys.executable, "-m", "fuzz.one", name, str(seconds)]
        try:
            status = subprocess.run(command, check=False, timeout=seconds + GRACE, cwd=REPO).returncode
        except subprocess.TimeoutExpired:
            print(f"{name} did not end {GRACE} s after its time was up", file=sys.stderr)
            status = -1
        if status:
            found.append(name)
    if found:
        print(f"found something: {', '.join(found)} (see {HOME.name}/)", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
