"""Plain calls in every dialect: none refuses what its form can hold, and what it writes is those calls to every reader.

Strategy: calls of typed tools as people write them (names, paths, code, numbers, lists), made here by a seed, and those
of a public benchmark. Each is read back by the dialect's name and among all dialects, whole and by the character. What
a form cannot hold is listed, with the reason.
"""

import json
from random import Random

import pytest

from support.repository import shared_path
from support.sampling import DEEP, SEED, a_few, smaller, some
from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, same_calls, write

DIALECTS = tuple(all_dialects())
TOOLS = (
    tool("read_file", path="string", limit="integer"),
    tool("Bash", command="string", background="boolean"),
    tool("getWeather", city="string", days="number", units="array"),
    tool("mcp__fs__write", file_path="string", content="string", options="object"),
)
STRINGS = (
    "src/a.ts", "ls -l", "hello world", "it's", 'say "hi"', "a\\b", "é🙂", "42", "true", "null", "x = f(y)", "a; b",
    "http://a.b/c?d=e&f=g", "a && b < c", "def f():\n    return [1, 2]\n", "one\n\ntwo", "- a\n- b", "key: value",
    "100%", "# c", '{"a": 1}', "[1, 2]", "", " padded ", "print('x')",
)  # fmt: skip
VALUES = {
    "string": STRINGS,
    "integer": (0, 7, -3, 12345678901234567890),
    "number": (1.5, -0.25, 2, 1e10),
    "boolean": (True, False),
    "array": (["a", "b c"], [1, 2.5], ["x"]),
    "object": ({"a": 1, "b": "c"}, {"deep": {"er": "x"}}),
}
# What some forms cannot hold of a benchmark's calls: a null that no schema names, elements without names or members,
# and parameters that no schema declares.
CANNOT = (
    "would be read back as", "is not a name", "without arguments", "cannot be written", "is not one of its parameters",
)  # fmt: skip


def plain(random: Random) -> list[Call]:
    """One to three calls with one argument or more."""
    calls = []
    for known in random.choices(TOOLS, k=random.choice((1, 1, 2, 3))):
        kinds = {key: kind["type"] for key, kind in known.schema["properties"].items()}
        keys = random.sample(sorted(kinds), random.randint(1, len(kinds)))
        given = {key: random.choice(VALUES[kinds[key]]) for key in keys}
        calls.append(Call(known.name, json.dumps(given, ensure_ascii=random.random() < 0.5)))
    return calls


def wrong(dialect: str, text: str, calls: list[Call], tools: tuple[Tool, ...]) -> list[str]:
    """The readers that find something else in a text than these calls."""
    found = []
    for names in ((dialect,), None):
        for size in (len(text) or 1, 1):
            reader = Reader(CallPolicy(Route(dialects=names), Request(tools=tools)))
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
            if not same_calls(calls_in(events), calls):
                found.append(f"{names or 'all'}, pieces of {size}")
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_plain_calls_are_written_and_read_back(dialect: str) -> None:
    random = Random(f"{dialect} {SEED}")
    for _ in range(60 if DEEP else smaller(16)):
        calls = plain(random)
        text = write(dialect, calls, Toolbox(TOOLS))
        assert not wrong(dialect, text, calls, TOOLS), text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_calls_of_a_benchmark_are_written_and_read_back(dialect: str) -> None:
    rows = [
        json.loads(line) for line in shared_path("suites/bfcl_calls.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for row in some(a_few([row for row in rows if row["calls"]], 6, dialect), 1, dialect):
        tools = tuple(Tool(tool["name"], tool.get("parameters") or {}) for tool in row["tools"])
        calls = [Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in row["calls"]]
        refused, text = "", ""
        try:
            text = write(dialect, calls, Toolbox(tools))
        except Unwritable as refusal:
            refused = str(refusal)
        if refused:
            assert any(reason in refused for reason in CANNOT), (row["id"], refused)
        else:
            assert not wrong(dialect, text, calls, tools), row["id"]
