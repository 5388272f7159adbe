"""`make bench`: the figures that the documentation quotes, from one run; `ONLY=readers,events` runs these alone."""

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))

import against
import archive
import dialects
import events
import exchanges
import looking
import memory
import page
import processors
import profiles
import readers
import recording
import report
import requests_in
import whole


def print_readers():
    """Print what the reader alone costs."""
    print("Reader alone: µs of CPU for each delta of 4 characters, and the exponent of growth (1.00 is linear)")
    print(f"{'':28}{'1 KB':>8}{'10 KB':>8}{'100 KB':>8}{'1 MB':>8}{'exponent':>10}")
    for name, (costs, growth) in readers.measure().items():
        print(f"{name:28}" + "".join(f"{cost:8.2f}" for cost in costs) + f"{growth:10.3f}", flush=True)


def print_dialects():
    """Print what a long argument costs in each dialect."""
    print(
        "Each dialect in auto: the same for a call with one long string argument; then MB/s at deltas of 1 KB, and the"
    )
    print(
        "most memory that a call of 1 MB takes, in KB. A call that may be one only as the whole message is held, up to"
    )
    print("the limit for held text.")
    print(f"{'':28}{'1 KB':>8}{'10 KB':>8}{'100 KB':>8}{'1 MB':>8}{'exponent':>10}{'MB/s':>8}{'peak':>8}")
    for name, (costs, growth, speed, peak) in dialects.measure():
        shown = "".join(f"{cost:8.2f}" for cost in costs)
        print(f"{name:28}{shown}{growth:10.3f}{speed:8.0f}{peak:8.0f}", flush=True)


def print_processors():
    """Print what processors cost."""
    print("Processors: µs of CPU for each streamed event of about 200 bytes, without a host")
    to_text = f"{'a text client: text':>21}{'call':>9}{'native':>9}"
    print(f"{'':28}{'plain text':>12}{'call in text':>14}{'native call':>13}{to_text}")
    for name, (text, call, native, shown, kept, lowered) in processors.measure().items():
        print(f"{name:28}{text:12.2f}{call:14.2f}{native:13.2f}{shown:21.2f}{kept:9.2f}{lowered:9.2f}")


# The parts by name, those that need no idle machine first.
PARTS = {
    "readers": print_readers,
    "dialects": print_dialects,
    "memory": memory.main,
    "requests": requests_in.main,
    "whole": whole.main,
    "processors": print_processors,
    "events": events.main,
    "profiles": profiles.main,
    "archive": archive.main,
    "peers": against.main,
    "looking": looking.main,
    "page": page.main,
    "report": report.main,
    "exchanges": exchanges.main,
    "recording": recording.main,
}


def machine():
    """What the figures are measured on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    software = f"Python {platform.python_version()}, mitmproxy {version('mitmproxy')}"
    return f"{model}, {os.cpu_count()} cores, {load}; {platform.system()}, {software}"


def main():
    """Print the tables."""
    wanted = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise SystemExit(f"ONLY={','.join(unknown)}: there is no such part; the parts are {', '.join(PARTS)}")
    print(machine())
    for name in wanted:
        print(f"\n[{name}]", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
