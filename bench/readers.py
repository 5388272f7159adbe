"""What the reader costs without a host: µs for each 4-character delta at four sizes, and how the cost grows."""

import math
import time

from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCHEMA = {"type": "object", "properties": {"content": {"type": "string"}, "data": {"type": "object"}}}
REQUEST = Request(tools=(Tool("write_to_file", SCHEMA),))

PROSE = "The quick brown fox jumps over the lazy dog.\nIt `does` so again, and nobody minds.\n\n"
ANGLES = "if a < b then <b>x</b> <i> </ <func <p>\n"


def filled(pattern, size):
    """`size` characters of a pattern."""
    return (pattern * (size // len(pattern) + 1))[:size]


def argument(key, value):
    """A call with one argument."""
    return f'<invoke name="write_to_file">\n<parameter name="{key}">{value}</parameter>\n</invoke>'


TEXTS = {
    "text": lambda size: filled(PROSE, size),
    "text full of <": lambda size: filled(ANGLES, size),
    "openers that never close": lambda size: filled('<invoke name="a">', size),
    "a call's string argument": lambda size: argument("content", filled(PROSE, size)),
    "the same, full of <": lambda size: argument("content", filled(ANGLES, size)),
    "a call's object argument": lambda size: argument("data", '{"a":"' + "x" * size + '"}'),
}


def delta_cost(text, step=4):
    """µs of CPU for each delta of `step` characters."""
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    reader = Reader(CallPolicy(Route(), REQUEST))
    before = time.process_time()
    for piece in pieces:
        reader.feed(piece)
    reader.finish(cut=False)
    return (time.process_time() - before) / len(pieces) * 1e6


def exponent(costs):
    """The slope of log(total cost) over log(size), from the second size on (the first is mostly set-up)."""
    points = [(math.log(size), math.log(cost * size)) for size, cost in zip(SIZES[1:], costs[1:], strict=True)]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def measure(rounds=3):
    """For each text: the best of some rounds at each size, and the exponent."""
    table = {}
    for name, text in TEXTS.items():
        costs = [min(delta_cost(text(size)) for _ in range(max(rounds, 20_000 // size))) for size in SIZES]
        table[name] = (costs, exponent(costs))
    return table
