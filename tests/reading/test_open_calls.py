"""Calls in JSON or Python that are beside other text: each has a verdict, and nothing else changes."""

from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.events import Markup, Text, Verdict
from toolcalls.reading.open_text import MOST
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "path": {"type": "string"}}}
TOOLS = (Tool("Bash", SCHEMA), Tool("read_file", SCHEMA))
CALL = '{"name": "Bash", "arguments": {"command": "ls"}}'
FLAT = '{"name": "Bash", "command": "ls"}'
PYTHON = 'read_file(path="a(b")'
INVOKE = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
HOLDING = INVOKE.replace("ls", f"\n{CALL}\n")

type Found = list[tuple[str, str | None, str | None, str]]


def found(text: str, pieces: list[str] | None = None, *, route: dict[str, Any] | None = None, **request: Any) -> Found:
    """The verdicts of a text: status, reason, dialect, and what each is about. The text must come out as it is."""
    asked: dict[str, Any] = {"tools": TOOLS} | request
    settings: dict[str, Any] = {"client": "native", "upstream": "text"} | (route or {})
    reader = Reader(CallPolicy(Route(**settings), Request(**asked), open_calls=True))
    events = [event for piece in pieces or [text] for event in reader.feed(piece)] + reader.finish(cut=False)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    verdicts = [event for event in events if isinstance(event, Verdict)]
    return [(one.status, one.reason, one.dialect, text[one.start : one.end].strip()) for one in verdicts]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


CASES: list[tuple[str, str, dict[str, Any], Found]] = [
    (
        "a fence behind prose",
        f"I look.\n\n```json\n{CALL}\n```\n",
        {},
        [("declined", "not_alone", "fenced_json", f"```json\n{CALL}\n```")],
    ),
    (
        "a fence amid prose",
        f"I look.\n\n```json\n{CALL}\n```\nSo.",
        {},
        [("declined", "not_alone", "fenced_json", f"```json\n{CALL}\n```")],
    ),
    ("bare JSON behind prose", f"I look.\n\n{CALL}", {}, [("declined", "not_alone", "bare_json", CALL)]),
    ("flat JSON behind prose", f"I look.\n{FLAT}", {}, [("malformed", "not_a_call", "bare_json", FLAT)]),
    ("flat JSON alone", FLAT, {}, [("malformed", "not_a_call", "bare_json", FLAT)]),
    ("flat JSON in an array", f"[{FLAT}]", {}, [("malformed", "not_a_call", "bare_json", FLAT)]),
    ("flat JSON in an array over lines", f"So.\n[\n  {FLAT}\n]", {}, [("malformed", "not_a_call", "bare_json", FLAT)]),
    ("an array behind prose", f"I look.\n[{CALL}]", {}, [("declined", "not_alone", "json_array", f"[{CALL}]")]),
    ("Python in brackets", f"I look.\n[{PYTHON}]\n", {}, [("declined", "not_alone", "pythonic", f"[{PYTHON}]")]),
    (
        "Python in Gemma's fence",
        f"I look.\n```tool_code\n{PYTHON}\n```\nSo.",
        {},
        [("declined", "not_alone", "gemma3_tool_code", f"```tool_code\n{PYTHON}\n```")],
    ),
    (
        "Python in a fence",
        f"I look.\n```python\n{PYTHON}\n```\n",
        {},
        [("declined", "fenced", "bare_calls", "read_file(")],
    ),
    ("Python on a line", f"I look.\n{PYTHON}\nSo.", {}, [("declined", "not_alone", "bare_calls", PYTHON)]),
    ("JSON amid other code", f"So:\n```\nx\n{CALL}\n```\n", {}, [("declined", "fenced", "bare_json", CALL)]),
    ("JSON in reasoning", f"<think>\n{CALL}\n</think>\nSo.", {}, [("declined", "reasoning", "bare_json", CALL)]),
    (
        "before and behind a call that is taken",
        f"So.\n{CALL}\n{INVOKE}\nand\n{CALL}",
        {},
        [
            ("declined", "not_alone", "bare_json", CALL),
            ("lifted", None, "invoke", INVOKE),
            ("declined", "not_alone", "bare_json", CALL),
        ],
    ),
    ("first, which has its verdict", f"{CALL}\n\nSo.", {}, [("declined", "not_terminal", "bare_json", CALL)]),
    ("JSON in an argument", HOLDING, {}, [("lifted", None, "invoke", HOLDING)]),
    ("another tool", 'I look.\n{"name": "other", "arguments": {}}', {}, []),
    ("a tool in data", 'So:\n{"users": [{"name": "Bash"}]}', {}, []),
    ("a word like a tool's name", "Bashing things.\nread_files are (not) it.\nread_file: it reads.", {}, []),
    ("no tools", f"I look.\n{CALL}", {"tools": ()}, []),
    (
        "a choice that forbids it",
        f"I look.\n{CALL}",
        {"tool_choice": "none"},
        [("declined", "tool_choice_none", "bare_json", CALL)],
    ),
    ("an echo", f"I look.\n{CALL}", {"quotable": (f"So: {CALL}!",)}, [("declined", "echo", "bare_json", CALL)]),
    (
        "a name that is not allowed",
        f"I look.\n{CALL}",
        {"route": {"allowed_tools": ("read_file",)}},
        [("declined", "not_allowed", "bare_json", CALL)],
    ),
    ("a dialect that is not read", f"I look.\n{CALL}", {"route": {"dialects": ("invoke",)}}, []),
    (
        "a policy that takes it",
        f"I look.\n{CALL}",
        {"route": {"take": ("inline",)}},
        [("lifted", None, "bare_json", CALL)],
    ),
    ("an answer in JSON", CALL, {"response_format": True}, [("declined", "response_format", "bare_json", CALL)]),
    (
        "an answer in a fence",
        f"```json\n{CALL}\n```",
        {"response_format": True},
        [("declined", "response_format", "fenced_json", f"```json\n{CALL}\n```")],
    ),
    (
        "an answer behind a mark",
        f"TOOL_CALL\n{CALL}",
        {"response_format": True},
        [("declined", "response_format", "marker", f"TOOL_CALL\n{CALL}")],
    ),
    ("an answer that is none", '{"answer": "Bash"}', {"response_format": True}, []),
]


each_case = pytest.mark.parametrize(
    ("text", "settings", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


@each_case
def test_each_has_its_verdict(text: str, settings: dict[str, Any], expected: Found) -> None:
    assert found(text, **settings) == expected
    assert found(text, list(text), **settings) == expected


@each_case
@given(places=st.lists(st.integers(0, 400), max_size=6))
def test_it_is_the_same_at_any_split(text: str, settings: dict[str, Any], expected: Found, places: list[int]) -> None:
    assert found(text, cut(text, places), **settings) == expected


def test_nothing_is_asked_of_a_reader_of_something_else() -> None:
    """Of the history, for a round trip, on the command line that lists dialects."""
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS)))
    assert not [event for event in [*reader.feed(f"So.\n{CALL}"), *reader.finish(cut=False)] if type(event) is Verdict]


def test_text_leaves_at_once() -> None:
    """Nothing is held for a verdict. An object that begins with a tool's name is: a closer behind it makes a call."""
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS), open_calls=True))
    shown = [event for piece in ("So.", "\n", "[{", '"name": ', '"Bash"') for event in reader.feed(piece)]
    assert "".join(event.text for event in shown if isinstance(event, Text)) == 'So.\n[{"name": "Bash"'


def test_its_verdict_leaves_before_the_call_behind_it() -> None:
    reader = Reader(CallPolicy(Route(client="native", upstream="text"), Request(tools=TOOLS), open_calls=True))
    kinds = [kind for kind, _ in groupby(map(type, reader.feed(f"So.\n{CALL}\n\n{INVOKE}")))]
    assert kinds[:3] == [Text, Verdict, Markup]


@pytest.mark.parametrize("size", [1, 1000, 4 * MOST])
def test_what_is_kept_is_bounded(size: int) -> None:
    """A call after the bound is found, too, in pieces of any size."""
    line = "[a line of no call at all]\n"
    text = line * ((2 * MOST + 5000) // len(line)) + f"So.\n{CALL}\n" + line * 3
    expected: Found = [("declined", "not_alone", "bare_json", CALL)]
    assert found(text, [text[start : start + size] for start in range(0, len(text), size)]) == expected


@pytest.mark.parametrize("behind", [f"<tool_calls>[{CALL}]</tool_calls>", f"{INVOKE}\n{CALL}"])
def test_behind_too_many_candidates_nothing_is_kept(behind: str) -> None:
    text = f"{INVOKE}\n{behind}"
    expected: Found = [("lifted", None, "invoke", INVOKE), ("declined", "max_candidates", None, "")]
    for at in range(1, len(text)):
        assert found(text, [text[:at], text[at:]], route={"max_candidates": 1}) == expected, at


def test_what_a_block_held_too_much_of_is_its_payload() -> None:
    text = f"<tool_calls>[{CALL}]</tool_calls>\n{CALL}\n"
    limits = {"policy": "strict", "max_buffer_bytes": 40, "max_held_call_bytes": 40}
    whole = found(text, route=limits)
    assert whole[0][1:3] == ("overflow", "apriel")
    for at in range(1, len(text)):
        assert found(text, [text[:at], text[at:]], route=limits) == whole, at


@pytest.mark.parametrize("letter", ["B", "x"])
def test_a_long_line_of_prose_keeps_nothing(letter: str) -> None:
    reader = Reader(CallPolicy(Route(), Request(tools=TOOLS), open_calls=True))
    for _ in range(100):
        reader.feed(f"\n{letter}eing here is a line of prose.")
        kept = reader._ledger.text.shown._open
        assert kept is not None
        assert not kept.keeps
