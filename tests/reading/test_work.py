"""What a reply costs the reader in calls of Python functions, in deltas of 4 characters: a clock measures the machine.

The bounds are a little above what is counted, so that a slower way shows. Whoever makes the reader do less lowers them.
"""

from collections.abc import Callable

import pytest

from support.allocations import allocates_at_most
from support.pythoncalls import calls_of
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route

REQUEST = Request(
    tools=(Tool("write_to_file", {"properties": {key: {"type": "string"} for key in ("content", "path")}}),)
)
CALL = '<invoke name="write_to_file">\n<parameter name="content">'
JSON_CALL = '<tool_call>\n{"name": "write_to_file", "arguments": {"content": "'
PYTHON_CALL = '<|python_start|>[write_to_file(content="'
NOTATION_CALL = '<|tool_call>call:write_to_file{content:<|"|>'
LINES_CALL = "```tool\nTOOL_NAME: write_to_file\nBEGIN_ARG: content\n"
# How the text begins, what is repeated, and the calls for each delta at most.
TEXTS: dict[str, tuple[str, str, float]] = {
    "one long line": ("", "The quick brown fox jumps over the lazy dog again and so on. ", 2.8),
    "prose": ("", "The quick brown fox jumps over the lazy dog.\nIt `does` so again, and nobody minds.\n\n", 3.8),
    "angle brackets": ("", "if a < b then <b>x</b> <i> </ <func <p>\n", 14),
    "a string argument": (CALL, "The quick brown fox jumps over the lazy dog.\nIt `does` so again.\n\n", 9.8),
    "a string argument in JSON": (JSON_CALL, "The quick brown fox jumps over the lazy dog. It `does` so again. ", 8),
    "with escapes": (JSON_CALL, "The quick brown fox jumps over the lazy dog.\\nIt `does` so again.\\n\\n", 14),
    "in a notation": (NOTATION_CALL, "The quick, brown fox jumps, over the lazy, dog, and so on, again. ", 24),
    "in short lines": (LINES_CALL, "The quick\nbrown fox\njumps over\nthe lazy dog.\n\nNext.\n", 18),
    "in Python": (PYTHON_CALL, "The quick brown fox jumps over the lazy dog.\\nIt `does` so again.\\n\\n", 12.5),
}


def reading(kind: str, size: int) -> tuple[Callable[[], object], int]:
    """What reads a text of this size, and the number of its deltas."""
    begins, repeated, _ = TEXTS[kind]
    text = repeated * (size // len(repeated))
    reader = Reader(CallPolicy(Route(), REQUEST))
    reader.feed(begins)
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)]

    def work() -> None:
        for piece in pieces:
            reader.feed(piece)
        reader.next_block()  # asks for the place, so that all text is read

    return work, len(pieces)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_delta_takes_few_calls(kind: str) -> None:
    reading(kind, 400)[0]()  # what is worked out once in a process
    work, deltas = reading(kind, 10_000)
    assert calls_of(work) / deltas < TEXTS[kind][2]


@pytest.mark.parametrize("kind", TEXTS)
def test_the_calls_grow_with_the_text_and_no_faster(kind: str) -> None:
    reading(kind, 400)[0]()
    few, many = (calls_of(reading(kind, size)[0]) for size in (5_000, 40_000))
    assert many < 8 * few * 1.03 + 100


@pytest.mark.parametrize("kind", ["one long line", "prose", "angle brackets"])
def test_a_long_text_without_openers_is_one_look(kind: str) -> None:
    """A reply that comes whole: nobody asks where in it something stands, so nobody reads it as Markdown."""

    def calls(size: int) -> int:
        text = TEXTS[kind][1] * (size // 40)
        reader = Reader(CallPolicy(Route(), REQUEST))
        return calls_of(lambda: [reader.feed(text), reader.finish(cut=False)])

    calls(10_000)  # what is worked out once in a process
    few, many = calls(10_000), calls(80_000)
    assert few < 200
    assert many == few


def test_empty_pieces_keep_nothing() -> None:
    """Some servers send thousands of deltas without text, to keep a connection open."""

    def prepare() -> Callable[[], None]:
        reader = Reader(CallPolicy(Route(client="native", upstream="text"), Request(tools=(Tool("Bash"),))))
        list(reader.feed("Some words"))

        def work() -> None:
            for _ in range(20_000):
                assert reader.passes("")
            assert reader.passes(" of one line")

        return work

    allocates_at_most(prepare, held=10_000)
