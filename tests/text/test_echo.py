"""The echo guard: what is in the request word for word is no call, what only begins so streams on; and in time.

Strategy: an index that answers as the plain question `text in quoted` would, over texts of few letters, cut anywhere,
also where more places match than are kept; then the reader; then that the work grows with the texts and no faster, by
ratios, with 10 MB of request text.
"""

import json
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.echoed import GUTTERS, TOLD, behind_gutters, said_with
from support.growth import grows_with_its_input
from support.sampling import DEEP, examples, smaller
from toolcalls.events import CallStart, Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.text import echo, request_text
from toolcalls.text.echo import EchoIndex

TOOLS = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
MEGABYTE = 1_000_000


def call(command: str) -> str:
    return f'<tool_call>\n{{"name": "Bash", "arguments": {{"command": "{command}"}}}}\n</tool_call>'


def reader(quotable: tuple[str, ...], route: Route | None = None) -> Reader:
    route = route or Route(client="native", upstream="text")
    return Reader(CallPolicy(route, Request(tools=TOOLS, quotable=quotable)))


def read(text: str, quotable: tuple[str, ...], size: int = 4) -> list[Event]:
    made = reader(quotable)
    events = [event for at in range(0, len(text), size) for event in made.feed(text[at : at + size])]
    return [*events, *made.finish(cut=False)]


def reasons(events: list[Event]) -> list[str | None]:
    return [event.reason for event in events if isinstance(event, Verdict)]


letters = st.text('ab <\n\r"', max_size=90)


def what_counts(said: str) -> str:
    """Letters and marks; one blank between two letters that white space keeps apart."""
    made = ""
    for at, character in enumerate(said):
        if character in "ab<":
            gap = said[:at][len(said[:at].rstrip(' \n\r"')) :]
            apart = bool(gap) and made[-1:] in {"a", "b"} and character != "<"
            made += f" {character}" if apart else character
    return made


def stands_in(candidate: str, text: str) -> bool:
    """The plain question: is what counts of the one in what counts of the other?"""
    return what_counts(candidate) in what_counts(text)


@examples(400)
@given(st.lists(letters, max_size=3), letters, st.lists(st.integers(1, 9), max_size=30), st.sampled_from([1, 2, 1024]))
def test_it_answers_as_the_plain_question(texts: list[str], tail: str, sizes: list[int], places: int) -> None:
    """`places`: how many are kept; after that the first one is followed."""
    candidate = ("".join(texts)[3:60] + tail).lstrip()
    with patch.object(echo, "_MAX_LOCATIONS", places), patch.object(echo, "_MAX_PREFIXES", 0):
        quotable = EchoIndex(texts)
        quotable._seams = []
        for _ in range(2):  # the second time its beginning is known
            trace = None
            at = 0
            for size in sizes:
                before, at = at, at + size
                if not candidate[:before].strip():
                    trace = quotable.trace(candidate[:at]) if candidate[:at].strip() else None
                    stands = trace is not None
                    if not candidate[:at].strip():
                        continue
                elif trace is None:
                    break
                else:
                    stands = trace.grow(candidate[before:at])
                assert stands == any(stands_in(candidate[:at], text) for text in texts if text)
                if not stands:
                    break


def test_what_may_be_searched_is_bounded() -> None:
    with patch.object(echo, "_BUDGET", 1500), patch.object(echo, "_BUDGET_PER_CHAR", 1):
        quotable = EchoIndex(["x" * 600])
        assert quotable.trace("<a>") is None
        assert quotable.trace("<b>") is not None, "past the bound a doubt is an echo"


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_an_echo_is_text(size: int) -> None:
    """Q20: word for word in a tool result, with other words around it."""
    text = f"The file says:\n\n{call('rm -rf build')}\n"
    events = read(text, (f"# notes\n{call('rm -rf build')}\nbye\n",), size)
    assert reasons(events) == ["echo"]
    assert "".join(event.text for event in events if isinstance(event, Text)) == text


@pytest.mark.parametrize("other", [" build", "rm -rf buil", "rm -rfbuild", "rm -rf ./build"])
def test_what_differs_is_a_call(other: str) -> None:
    assert reasons(read(call(other), (call("rm -rf build"),))) == [None]


def test_it_streams_on_as_soon_as_it_differs() -> None:
    made = reader((f"Do not write {call('rm -rf build')}, ever.",))
    text = call("rm -rf tmp")
    differs = text.index("tmp") + 1
    events = [event for character in text[: differs - 1] for event in made.feed(character)]
    assert not events
    assert any(isinstance(event, CallStart) for event in made.feed(text[differs - 1]))


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("form", TOLD)
def test_it_is_found_in_what_a_tool_puts_round_it(form: str, size: int) -> None:
    told = TOLD[form](said_with(call("rm -rf build")))
    text = f"The file says:\n\n{call('rm -rf build')}\n"
    events = read(text, (told,), size)
    assert reasons(events) == ["echo"]
    assert "".join(event.text for event in events if isinstance(event, Text)) == text
    assert reasons(read(call("rm -rf other"), (told,), size)) == [None]


SIGNS = '<invoke name="Bash">\n<parameter name="command">a\n  --force\n++i\n- b\n-- c\n</parameter>\n</invoke>'
DIFFS = [form for form in TOLD if "diff" in form]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("lead", ["", "\n"])  # whether the mark before its first line is a plus or a blank
@pytest.mark.parametrize("form", DIFFS)
def test_lines_that_begin_like_the_marks_of_a_diff_keep_their_beginning(form: str, lead: str, size: int) -> None:
    told = TOLD[form](lead + said_with(SIGNS))
    assert reasons(read(f"So:\n\n{SIGNS}\n", (told,), size)) == ["echo"]
    assert reasons(read(SIGNS.replace("--force", "-force"), (told,), size)) == [None]


TWO_LINES = '<invoke name="Bash">\n<parameter name="command">a\n\nb - c\n</parameter>\n</invoke>'


@pytest.mark.parametrize("made", [call("rm -rf build"), TWO_LINES], ids=["hermes", "invoke"])
@pytest.mark.parametrize("gutter", GUTTERS.values(), ids=GUTTERS)
def test_it_is_found_behind_what_stands_before_each_line(gutter: str, made: str) -> None:
    """Whatever that is: it is learnt from what comes before the first line."""
    told = behind_gutters(gutter, f"# notes\n\n{made}\n\nbye")
    for form in (told, json.dumps({"o": told})):
        for size in (1, 1000):
            assert reasons(read(f"So:\n\n{made}\n", (form,), size)) == ["echo"], form
        other = made.replace("rm -rf", "rm -rg").replace("b - c", "b - d")
        assert reasons(read(f"So:\n\n{other}\n", (form,), 1000)) == [None], form


ALIKE = {
    "cut where the tool cut it": (f"# notes\n{call('rm -rf build')[:-20]}", call("rm -rf build")),
    "cut with a mark": (f"{call('rm -rf build')[:-20]}... [300 more characters]", call("rm -rf build")),
    "another number in its lines": ("1: <tool_call>\n2: {", call("ls")),
    "its lines in another order": ("\n".join(reversed(call("ls").split("\n"))), call("ls")),
    "one that goes on": (call("ls"), call("ls -a")),
    "one that is shorter": (call("ls -a"), call("ls")),
    "with a blank more": (call("ls a"), call("l s a")),
    "with a blank less": (call("ls a"), call("lsa")),
    "in capitals": (call("ls -a"), call("LS -A")),
    "its arguments alone": ('{"command": "ls"}', call("ls")),
    "with a mark more": (call("ls"), call("ls").replace('"Bash",', '"Bash",,')),
    "gutters of other forms": ("a> <tool_call>\nb< " + "\nc= ".join(call("ls").split("\n")[1:]), call("ls")),
    "lines with text between them": ("x\n".join(call("ls").split("\n")), call("ls")),
}


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(("told", "made"), ALIKE.values(), ids=ALIKE)
def test_what_merely_looks_alike_is_a_call(told: str, made: str, size: int) -> None:
    assert reasons(read(f"So:\n\n{made}\n", (told,), size)) == [None]


@pytest.mark.parametrize("ends", ["\r\n", " \n", "\n   "])
def test_white_space_around_line_ends_makes_no_difference(ends: str) -> None:
    text = call("rm -rf build").replace("\n", ends)
    for size in (1, 2, 1000):
        assert reasons(read(text, (call("rm -rf build"),), size)) == ["echo"]


def test_what_was_written_with_backslashes_is_found_as_it_was_written() -> None:
    text = call(r"grep \"a\\.b\" C:\new")
    assert reasons(read(text, (f"so: {text}",))) == ["echo"]
    assert reasons(read(text, (json.dumps({"out": text}),))) == ["echo"]


def test_the_guard_can_be_dropped() -> None:
    quoted = (call("ls"),)
    made = reader(quoted, Route(client="native", upstream="text", take=("echo",)))
    assert reasons([*made.feed(call("ls")), *made.finish(cut=False)]) == [None]


def test_nothing_is_looked_at_without_a_candidate() -> None:
    quotable = EchoIndex(["x" * 100])
    assert quotable._by_head == {}
    call_policy = CallPolicy(Route(client="native", upstream="text"), Request(tools=TOOLS, quotable=("x" * 100,)))
    made = Reader(call_policy)
    made.feed("Nothing here but text, and a < b.\n")
    made.finish(cut=False)
    assert "echo_index" not in call_policy.__dict__


# --- time -------------------------------------------------------------------------------------------------------------

QUOTED = {
    "many numbers": f"{'1 ' * 58}> <tool_call>\n{'1' * 120}x\n{'1 ' * 60}x\n",
    "numbered calls": "".join(f"{number:6}\t{line}\n" for number, line in enumerate(call("echo one").split("\n"))),
    "escapes": json.dumps(call("echo one two three")) + "\n",
    "strings of a program": "".join(f"    {json.dumps(line)},\n" for line in call("echo one two").split("\n")),
    "colours": call("\x1b[01;31m\x1b[Kecho\x1b[m\x1b[K one two three") + "\n",
    "prose": "The quick brown fox jumps over the lazy dog.\n",
    "calls": call("echo one two three") + "\n",
    "one call's beginning": '<tool_call>\n{"name": "Bash", "arguments": {"command": "e',
    "openers": "<tool_call>\n",
    "brackets": "<",
}
CALLS = {
    "alike at first": lambda number: call(f"echo one two {number}"),
    "echoes": lambda _: call("echo one two three"),
    "each its own": lambda number: (
        f'<tool_call>{" " * (number % 40)}\n{{"name": "Bash", "arguments": {{}}}}</tool_call>'
    ),
}


@pytest.fixture
def unremembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """No form of a text is there from an earlier request."""
    monkeypatch.setattr(request_text, "_REMEMBERED", 0)
    for name in ("_variants_of", "_readings_of"):
        monkeypatch.setattr(request_text, name, request_text._Remembered(getattr(request_text, name)._make))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", QUOTED)
@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.usefixtures("unremembered")
def test_the_work_grows_with_the_request(kind: str, calls: str) -> None:
    """0.25 MB and 1 MB of request text, one reply of 60 calls; four times as much in `make test-long`."""
    text = "\n".join(CALLS[calls](number) for number in range(60))

    def work(size: int) -> Callable[[], object]:
        quoted = (QUOTED[kind] * (size // len(QUOTED[kind])),)
        return lambda: read(text, quoted, 20)

    grows_with_its_input(work, MEGABYTE if DEEP else smaller(MEGABYTE // 4))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["calls", "one call's beginning"])
@pytest.mark.usefixtures("unremembered")
def test_the_work_grows_with_the_reply(kind: str) -> None:
    """2 MB of request text, 10 MB in `make test-long`; replies of 50 and 200 calls that begin like it."""
    size = 10 * MEGABYTE if DEEP else smaller(2 * MEGABYTE)
    quoted = (QUOTED[kind] * (size // len(QUOTED[kind])),)

    def work(count: int) -> Callable[[], object]:
        text = "\n".join(CALLS["alike at first"](number) for number in range(count))
        return lambda: read(text, quoted, 20)

    grows_with_its_input(work, 50)


def test_one_long_echo_is_followed_in_linear_time() -> None:
    """A candidate that stays alike to its end, in deltas."""

    def work(size: int) -> Callable[[], object]:
        text = call("echo one; " * (size // 10))
        route = Route(client="native", upstream="text", max_buffer_bytes=1 << 30)
        quoted = ("x" * 1000 + text + "x",)

        def run() -> None:
            made = reader(quoted, route)
            events = [event for at in range(0, len(text), 4) for event in made.feed(text[at : at + 4])]
            assert reasons([*events, *made.finish(cut=False)]) == ["echo"]

        return run

    grows_with_its_input(work, 20_000)


def test_a_beginning_with_much_that_does_not_count_costs_its_length() -> None:
    def work(size: int) -> Callable[[], object]:
        text = f"<tool_call>{' ' * size}{{"
        quotable = EchoIndex([f"see {text} there"])
        return lambda: quotable.trace(text)

    grows_with_its_input(work, 20_000)
