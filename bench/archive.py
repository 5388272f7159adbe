"""What judging an archive costs: flows and MB for each second, against the host's own reading, and the growth.

Each process is measured by its CPU time, since machines are shared; several processes by the clock, beside one by the
clock in the same minute. The archive is made of `recordings/` after requests as long as those of agents.
"""

import math
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import archives
from toolcalls.flows import flow_files as files
from toolcalls.tools.archive.engines import cores
from toolcalls.tools.archive.parts import Part, files_of
from toolcalls.tools.archive.reading import flows_of
from toolcalls.tools.judge.job import Judging
from toolcalls.tools.judge.spreading import Spreading

SIZES = (5_000_000, 20_000_000)


def main():
    """Print the table."""
    config = files.configuration(None)
    with tempfile.TemporaryDirectory() as name:
        small, large = (archives.write(Path(name, str(size)), size)[0] for size in SIZES)
        job = Judging(config)
        print("An archive of recorded replies behind requests of up to 250 KB: flows and MB for each second")
        print(f"{'':44}{'flows/s':>10}{'MB/s':>8}")
        part = Part(*files_of([str(large)]))
        count = _cpu(
            "mitmproxy's own reading, CPU of one core", large, lambda: sum(1 for _ in files.flows(str(large)))
        )[1]
        _cpu("our reading, CPU of one core", large, lambda: sum(1 for _ in flows_of(part)))
        job(Part(*files_of([str(small)])))  # what is made once for all dialects
        few, _ = _cpu("judged, CPU of one core, 5 MB", small, lambda: job(Part(*files_of([str(small)]))).flows)
        many, _ = _cpu("judged, CPU of one core, 20 MB", large, lambda: job(part).flows)
        print(f"{'growth of the time with the size (1.00 is linear)':44}{_exponent(few, many, small, large):>10.3f}")
        for label, spreading in (
            ("judged, one process, by the clock", Spreading(jobs=1)),
            (f"judged, {cores()} processes, by the clock", Spreading(jobs=cores())),
            ("judged, two workers of Dask, by the clock", Spreading("dask", jobs=2)),
        ):
            began = time.monotonic()
            found = sum(one.flows for one in spreading.judged(files_of([str(large)]), job))
            assert found == count, label
            _row(label, found, large, time.monotonic() - began)


def _cpu(label, path, work):
    """Seconds of CPU and flows."""
    began = time.process_time()
    flows = work()
    took = time.process_time() - began
    _row(label, flows, path, took)
    return took, flows


def _row(label, flows, path, took):
    print(f"{label:44}{flows / took:10.0f}{path.stat().st_size / took / 1e6:8.1f}", flush=True)


def _exponent(few, many, small, large):
    return math.log(many / few) / math.log(large.stat().st_size / small.stat().st_size)


if __name__ == "__main__":
    main()
