"""An archive far larger than memory should be: judged from its beginning to its end, with memory that stays flat.

The archive is made of the recorded streams after requests of up to 250 KB, in several files. `make test-long` writes
1 GB of it; else it is as small as shows that all of it is read. Memory is the largest resident size of the process that
judges, which the kernel counts.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import archives
from support.sampling import DEEP

SIZE = 1_000_000_000 if DEEP else 3_000_000
FILES = 4
LIMIT = 3600 if DEEP else 300  # seconds, which only failures meet
ROOM = 60_000_000  # bytes by which the large archive may take more than a tenth of it: parts of 16 MB, their results


def judged(folder: Path, out: Path) -> tuple[int, int]:
    """How many flows `toolcalls judge` says something of, and the most memory that it took, in bytes."""
    most = 0
    with out.open("wb") as lines:
        command = [sys.executable, "-m", "toolcalls", "judge", "--jsonl", "--jobs", "1", str(folder)]
        process = subprocess.Popen(command, stdout=lines)
        try:
            until = time.monotonic() + LIMIT
            while process.poll() is None:
                assert time.monotonic() < until, f"it is not over after {LIMIT} seconds"
                most = max(most, _resident(process.pid))
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0
    with out.open("rb") as lines:
        count = sum("flow" in json.loads(line) for line in lines)
    return count, most


def _resident(pid: int) -> int:
    """The most memory that a process has had so far, since it began its program; 0 for one that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def flows_in(paths: list[Path]) -> int:
    """How many flows files hold, by their frames."""
    found = 0
    for path in paths:
        with path.open("rb") as file:
            while head := file.read(20):
                size, colon, _ = head.partition(b":")
                assert colon
                file.seek(int(size) + len(size) + 2 - len(head), os.SEEK_CUR)
                found += 1
    return found


@pytest.mark.sampled(0)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what memory another process has had")
def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    streams = archives.recorded_streams()
    assert len(streams) > 500
    small = archives.write(tmp_path / "small", SIZE // 10, of=streams)
    count, before = judged(tmp_path / "small", tmp_path / "small.jsonl")
    assert count == flows_in(small)
    large = archives.write(tmp_path / "large", SIZE, FILES, of=streams)
    assert sum(path.stat().st_size for path in large) >= SIZE
    count, after = judged(tmp_path / "large", tmp_path / "large.jsonl")
    assert count == flows_in(large)
    assert before
    print(f"{count} flows: {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB")
    assert after - before < ROOM, f"{before / 1e6:.0f} MB, then {after / 1e6:.0f} MB"
