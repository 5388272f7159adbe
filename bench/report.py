"""What `toolcalls report` of 3,000 exchanges costs: CPU time, time by the clock, and the size of the page.

The flows are those of `bench/archive.py`, with requests of up to 250 KB: an archive of some 390 MB. CPU time is that of
all processes; the goal of ten seconds is by the clock, on a machine that does nothing else.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mitmproxy.io import tnetstring

from support import archives
from toolcalls.tools.archive.engines import cores

EXCHANGES = 3000


def main():
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        path, page = Path(name, "archive.flow"), Path(name, "report.html")
        with path.open("wb") as file:
            for state in archives.flows(EXCHANGES):
                file.write(tnetstring.dumps(state))
        command = [sys.executable, "-m", "toolcalls", "report", str(path), "-o", str(page)]
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "addon")}
        before, began = os.times(), time.monotonic()
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        took, after = time.monotonic() - began, os.times()
        spent = sum(after[2:4]) - sum(before[2:4])
        said = done.stdout.rpartition(": ")[2].strip()
        print(f"toolcalls report of {path.stat().st_size / 1e6:.0f} MB on {cores()} cores: {said}")
        print(f"{'by the clock':44}{took:10.1f} s")
        print(f"{'CPU of all processes':44}{spent:10.1f} s")
        print(f"{'size of the page':44}{page.stat().st_size / 1e6:10.1f} MB")


if __name__ == "__main__":
    main()
