"""What each dialect costs in `auto`: a call with one long string argument, as the dialect's own writer writes it."""

import time
import tracemalloc

import readers

from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

TOOLS = Toolbox(readers.REQUEST.tools)


def written(name, size):
    """A call with a string argument of `size` characters in this dialect, None where it has no writer."""
    content = quote(readers.filled(readers.PROSE, size))
    try:
        # Not through `writing.write`, which reads it back: a megabyte of that is what is measured here.
        return all_dialects()[name].write([Call("write_to_file", f'{{"content":{content}}}')], TOOLS)
    except Unwritable:
        return None


def fed(text, step):
    """Feed a text in pieces of `step` characters; returns seconds of CPU."""
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    reader = Reader(CallPolicy(Route(), readers.REQUEST))
    before = time.process_time()
    for piece in pieces:
        reader.feed(piece)
    reader.finish(cut=False)
    return time.process_time() - before


def peak(text):
    """The most memory that reading a text in 1 KB pieces takes, in KB; the pieces themselves are made as they go."""
    reader = Reader(CallPolicy(Route(), readers.REQUEST))
    reader.feed(text[:1024])
    tracemalloc.start()
    for at in range(1024, len(text), 1024):
        reader.feed(text[at : at + 1024])
    reader.finish(cut=False)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1024


def measure(names=None):
    """For each dialect with a writer: its name, and µs a 4-character delta at each size, exponent, MB/s at 1 KB deltas,
    peak KB.
    """
    for name in names or all_dialects():
        if written(name, 10) is None:
            continue
        costs = []
        for size in readers.SIZES:
            text = written(name, size)
            best = min(fed(text, 4) for _ in range(max(1, 20_000 // size)))
            costs.append(best / (len(text) / 4) * 1e6)
        text = written(name, readers.SIZES[-1])
        speed = len(text) / min(fed(text, 1024) for _ in range(3)) / 1e6
        yield name, (costs, readers.exponent(costs), speed, peak(text))
