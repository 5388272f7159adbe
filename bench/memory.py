"""What a new set of tools costs: the memory that is kept of it, the time until a reply of it can be read, and the stall
of the delta after its first call.
"""

import gc
import time
import tracemalloc
from itertools import count

from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route

SETS, TOOLS = 200, 60
COUNTS = (5, 40, 120)
ROUNDS = 30
_tags = count()


def request(number):
    """A request with so many tools, which none before it had."""
    tag = next(_tags)
    properties = {key: {"type": "string", "description": "x" * 40} for key in ("path", "content", "mode")}
    schema = {"type": "object", "properties": properties}
    return Request(tools=tuple(Tool(f"tool_{tag}_{one}", schema) for one in range(number)))


def begun(asked):
    """A reader for a request, after a first piece of text."""
    reader = Reader(CallPolicy(Route(), asked))
    reader.feed("Well, ")
    return reader


def kept(sets=SETS):
    """MB that are kept of so many sets, whose requests and replies are gone."""
    begun(request(TOOLS))
    gc.collect()
    tracemalloc.start()
    for _ in range(sets):
        begun(request(TOOLS)).finish(cut=False)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / 1e6


def reader_ms(number):
    """ms of CPU until a reader for a new set has read its first piece."""
    best = float("inf")
    for _ in range(ROUNDS):
        asked = request(number)
        before = time.process_time()
        begun(asked)
        best = min(best, time.process_time() - before)
    return best * 1e3


def behind_call_ms(number):
    """ms of CPU for the delta after the first call of a reply with a new set."""
    best = float("inf")
    for _ in range(ROUNDS):
        asked = request(number)
        reader = begun(asked)
        reader.feed(f'\n<invoke name="{asked.tools[0].name}">\n<parameter name="path">a</parameter>\n</invoke>')
        before = time.process_time()
        reader.feed("\nDone")
        best = min(best, time.process_time() - before)
    return best * 1e3


def main():
    """Print the table."""
    print(f"Sets of tools that were not seen before; {SETS} sets of {TOOLS} tools keep {kept():.2f} MB")
    print(f"{'ms of CPU for a set of':44}" + "".join(f"{number:>8}" for number in COUNTS))
    for name, cost in (
        ("a reader and its first piece", reader_ms),
        ("the delta behind the first call", behind_call_ms),
    ):
        print(f"{name:44}" + "".join(f"{cost(number):8.2f}" for number in COUNTS))


if __name__ == "__main__":
    main()
