"""What the adapters of this folder share to be timed: texts in, the seconds of each delta out. It needs nothing but
Python, and runs where the engine is installed.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

# Begins to read one reply; what it returns takes each delta.
type Begin = Callable[[str, Mapping[str, Any]], Callable[[str], object]]


def time_lines(parsers: Mapping[str, str], begin: Begin) -> None:
    """Answer each line of standard input, a job: `dialect`, `tools`, `text`, `step` (characters of a delta) and
    `limit` (seconds after which no more is fed). Answers have `deltas`, and `median`, `p99`, `worst` and `mean` in µs.
    """
    for line in sys.stdin:
        job = json.loads(line)
        name = parsers.get(job["dialect"])
        answer = {"skipped": "no parser is known for it"} if name is None else _timed(begin(name, job), job)
        print(json.dumps(answer), flush=True)


def _timed(feed: Callable[[str], object], job: Mapping[str, Any]) -> dict[str, Any]:
    text, step = job["text"], job["step"]
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    spent: list[int] = []
    gc.collect()
    gc.disable()
    try:
        deadline = time.perf_counter_ns() + int(job["limit"] * 1e9)
        for piece in pieces:
            start = time.perf_counter_ns()
            feed(piece)
            end = time.perf_counter_ns()
            spent.append(end - start)
            if end > deadline:
                break
    except Exception as error:  # noqa: BLE001 - whatever an engine raises costs this job only
        return {"skipped": f"{type(error).__name__}: {error}"[:120]}
    finally:
        gc.enable()
    ordered = sorted(spent)
    return {
        "deltas": len(spent),
        "of": len(pieces),
        "mean": sum(spent) / len(spent) / 1000,
        "median": ordered[len(ordered) // 2] / 1000,
        "p99": ordered[len(ordered) * 99 // 100] / 1000,
        "worst": ordered[-1] / 1000,
    }
