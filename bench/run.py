"""`make bench`: all figures that the documentation quotes, from one run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "addon"))

import archive
import dialects
import host
import looking
import processors
import readers
import recording


def main():
    """Print the tables."""
    print("Reader alone: µs of CPU for each delta of 4 characters, and the exponent of growth (1.00 is linear)")
    print(f"{'':28}{'1 KB':>8}{'10 KB':>8}{'100 KB':>8}{'1 MB':>8}{'exponent':>10}")
    for name, (costs, growth) in readers.measure().items():
        print(f"{name:28}" + "".join(f"{cost:8.2f}" for cost in costs) + f"{growth:10.3f}")
    print()
    print(
        "Each dialect in auto: the same for a call with one long string argument; then MB/s at deltas of 1 KB, and the"
    )
    print(
        "most memory that a call of 1 MB takes, in KB. A call that may be one only as the whole message is held, up to"
    )
    print("the limit for held text.")
    print(f"{'':28}{'1 KB':>8}{'10 KB':>8}{'100 KB':>8}{'1 MB':>8}{'exponent':>10}{'MB/s':>8}{'peak':>8}")
    for name, (costs, growth, speed, peak) in dialects.measure().items():
        shown = "".join(f"{cost:8.2f}" for cost in costs)
        print(f"{name:28}{shown}{growth:10.3f}{speed:8.0f}{peak:8.0f}")
    print()
    print("Processors: µs of CPU for each streamed event of about 200 bytes, without a host")
    print(f"{'':28}{'plain text':>12}{'call in text':>14}{'native call':>13}")
    for name, (text, call, native) in processors.measure().items():
        print(f"{name:28}{text:12.2f}{call:14.2f}{native:13.2f}")
    print()
    looking.main()
    print()
    archive.main()
    print()
    print("mitmdump: µs of CPU for each streamed event, best of 5 rounds of 20,000 events of about 200 bytes")
    costs = host.measure()
    print(f"{'':28}{'no addon':>10}{'identity':>10}{'toolcalls':>11}{'minus identity':>16}")
    for kind, label in (("text", "plain text"), ("call", "inside a call")):
        none, identity, ours = (costs[kind, name] for name in ("none", "identity", "toolcalls"))
        print(f"{label:28}{none:10.1f}{identity:10.1f}{ours:11.1f}{ours - identity:16.1f}")
    print()
    recording.main()


if __name__ == "__main__":
    main()
