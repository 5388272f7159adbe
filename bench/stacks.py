"""Where the CPU time of a process goes: samples of the main thread's stack, by a timer of its CPU time.

A tracing profiler (`cProfile`) makes each call of a function dearer, so that code of many small functions seems to cost
more than it does. `ITIMER_PROF` costs the same whatever is sampled. What a C function takes counts for the Python
function that called it. The timer is as fine as the kernel's tick, often 4 ms: a few seconds give some hundred samples.
Unix only (https://docs.python.org/3/library/signal.html#signal.setitimer).
"""

import signal
from collections import Counter
from pathlib import Path

EVERY = 0.001  # seconds of CPU time; the kernel rounds up
OURS = "/addon/toolcalls/"


class Stacks:
    """Counts stacks between `start` and `stop`. A stack is a tuple of (file, function), the innermost first."""

    def __init__(self):
        self._seen = Counter()

    def start(self):
        """Begin; only in the main thread, as Python asks for signals."""
        self._seen.clear()
        signal.signal(signal.SIGPROF, self._take)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)

    def stop(self):
        """End; the stacks, each with how often it was seen."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one that is on its way ends no process
        return dict(self._seen)

    def _take(self, _signal, frame):
        stack = []
        while frame is not None:
            stack.append((frame.f_code.co_filename, frame.f_code.co_qualname))
            frame = frame.f_back
        self._seen[tuple(stack)] += 1


def package(file):
    """What a file belongs to: a room of the addon, a package, or Python's own library."""
    _, ours, inside = file.partition(OURS)
    if ours:
        return f"toolcalls/{inside.partition('/')[0]}"
    _, installed, inside = file.rpartition("/site-packages/")
    if installed:
        return inside.partition("/")[0]
    return "bench" if f"/{Path(__file__).parent.name}/" in file else "Python's library"


def print_profile(name, seen, functions=6):
    """Print the shares of all samples: the addon with all that it calls, packages by themselves, and functions.

    seen   {stack: count}, as `Stacks.stop` returns it
    """
    total = sum(seen.values())
    if not total:
        print(f"{name}: no samples, so too little work or no timer")
        return
    ours = sum(count for stack, count in seen.items() if any(OURS in file for file, _ in stack))
    packages, own = Counter(), Counter()
    for stack, count in seen.items():
        file, function = stack[0]
        packages[package(file)] += count
        own[f"{function} ({package(file)})"] += count
    print(f"{name}: {total} samples; in the addon and what it calls {ours / total:.0%}")
    print("    " + ", ".join(f"{one} {count / total:.0%}" for one, count in packages.most_common(8)))
    for function, count in own.most_common(functions):
        print(f"    {count / total:6.1%}  {function}", flush=True)
