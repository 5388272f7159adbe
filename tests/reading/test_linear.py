"""Work grows with the input (law 5): a reply that is four times as long takes about four times as long.

Strategy: the same kind of text at one length and at four times that length, in deltas of 4 characters, through the
reader and, for some, through an exchange. `growth.py` says how they are compared.
"""

from collections.abc import Callable

import pytest

from support.chatclient import HEAD, chunk, event
from support.exchanges import of_request, run
from support.growth import grows_with_its_input
from support.sampling import smaller
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route
from toolcalls.text.scanner import Scanner
from toolcalls.wires import all_wires

TOOLS = (
    Tool("Bash", {"properties": {"command": {"type": "string"}}}),
    Tool("Tune", {"properties": {"map": {"type": "object"}}}),
    Tool("Save", {"properties": {"text": {"type": "string"}}}),
)

OPEN = '<invoke name="Bash"><parameter name="command">'
OPEN_MAP = '<invoke name="Tune"><parameter name="map">'
TEXTS: dict[str, tuple[str, str]] = {
    # how it begins, what is repeated
    "text": ("", "The quick brown fox. "),
    "line ends": ("", "a\n\n"),
    "angle brackets": ("", "if a < b && <c> "),
    "half openers": ("", "<invok "),
    "openers without names": ("", "\n<invoke>"),
    "openers that never close": ("", f"\n{OPEN}x"),
    "wrappers that hold nothing": ("", "\n<function_calls>\n"),
    "tags of declared tools": ("", "\n<Save> <text "),
    "elements that their tool does not declare": ("", '\n<invoke name="Save">\n<x></x>\n<y>\n'),
    "stray words": ("", "call\ncount\n"),
    "backticks": ("", "`x ``y "),
    "comments": ("", "<!-- x"),
    "white space": ("", " \n"),
    "white space behind a call": ('<invoke name="Bash"></invoke>', " \n"),
    "a call's argument": (OPEN, "echo hello; "),
    "angle brackets in an argument": (OPEN, "<<<a<"),
    "closers in an argument": (OPEN, "x</parameter> y"),
    "calls in an argument": (OPEN, '<invoke name="Bash"></invoke>'),
    "tags in an argument": (OPEN, "<p>a</p>\n"),
    "openers in an argument": (OPEN, f"{OPEN}1"),
    "entities in an argument": (OPEN, "&lt;a&gt; "),
    "half entities in an argument": (OPEN, "&am "),
    "CDATA in an argument": (OPEN + "<![CDATA[", "x]]"),
    "an object that is held": (OPEN_MAP, '{"a":['),
    "an argument of the tag-named form": ("<Save><text>", "a <b> "),
    "closers in one of the tag-named form": ("<Save><text>", "a</text> "),
    "an undeclared call's argument": ('<invoke name="No"><parameter name="a">', "x < y "),
    "broken objects behind calls in arrays": ("", '<|tool_call|>[{"name":"Bash"},{x "'),
    "brackets in broken objects behind calls": ("", '<|tool_call|>[{"name":"Bash"},{x '),
    "broken objects in tags": ("", '\n<tools>{"name":"Bash","arguments":{x "'),
    "the brackets of a broken call": ('<functioncall> {"name":"Bash","arguments":{x', '{"a":[1]},'),
    "whole calls": ("", f"\n{OPEN}ls</parameter></invoke>"),
}


def deltas(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def text_of(kind: str, size: int) -> str:
    first, repeated = TEXTS[kind]
    return first + repeated * (size // len(repeated))


def read(route: Route, pieces: list[str], quotable: tuple[str, ...] = ()) -> None:
    reader = Reader(CallPolicy(route, Request(tools=TOOLS, quotable=quotable)))
    for piece in pieces:
        reader.feed(piece)
    reader.finish(cut=False)
    reader.next_block()  # asks for the place, so that all text is read


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("kind", TEXTS)
def test_reading_is_linear(kind: str, policy: PolicyName) -> None:
    route = Route(policy=policy, max_buffer_bytes=1 << 30, max_candidates=1 << 30)

    def work(size: int) -> Callable[[], object]:
        pieces = deltas(text_of(kind, size))
        return lambda: read(route, pieces)

    grows_with_its_input(work, smaller(4000))


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("before", [(), ("So",)], ids=["a whole reply", "the rest of one"])
def test_a_reply_in_one_piece_is_read_linearly(kind: str, before: tuple[str, ...]) -> None:
    def work(size: int) -> Callable[[], object]:
        text = text_of(kind, size)
        return lambda: read(Route(max_candidates=1 << 30), [*before, text])

    grows_with_its_input(work, smaller(12_000))


LONG_PARTS = {
    "the line that ends": lambda size: f"{'x' * size}\na\nb",
    "line ends": lambda size: f"a{chr(10) * size}b\nc",
    "the next line": lambda size: f"a\n{'x' * size}\nb",
}


@pytest.mark.parametrize("kind", LONG_PARTS)
def test_a_piece_of_several_lines_is_read_linearly(kind: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = LONG_PARTS[kind](size)
        return lambda: read(Route(), ["So", text])

    grows_with_its_input(work, smaller(12_000))


@pytest.mark.parametrize("kind", ["a call's argument", "white space behind a call"])
def test_holding_text_up_to_the_limit_is_linear(kind: str) -> None:
    def work(size: int) -> Callable[[], object]:
        pieces = list(text_of(kind, size))
        return lambda: read(Route(policy="strict", max_buffer_bytes=size, max_held_call_bytes=size), pieces)

    grows_with_its_input(work, smaller(4000))


@pytest.mark.parametrize("differs", [False, True], ids=["an echo", "nearly an echo"])
def test_looking_for_an_echo_is_linear(differs: bool) -> None:
    def work(size: int) -> Callable[[], object]:
        text = text_of("a call's argument", size) + "</parameter></invoke>"
        quoted = text[:-40] + "!" if differs else text
        return lambda: read(Route(max_buffer_bytes=1 << 30), deltas(text), (quoted,))

    grows_with_its_input(work, smaller(5000))


def exchange_on(route: Route) -> Exchange:
    return of_request(all_wires()["openai_chat"], Request(tools=TOOLS), route, form="sse")


@pytest.mark.parametrize(
    "kind", ["text", "angle brackets", "a call's argument", "an object that is held", "whole calls"]
)
def test_an_exchange_is_linear(kind: str) -> None:
    def work(size: int) -> Callable[[], object]:
        frames = [event(chunk(HEAD)), *(event(chunk({"content": piece})) for piece in deltas(text_of(kind, size)))]

        return lambda: run(exchange_on(Route(max_buffer_bytes=1 << 30)), frames)

    grows_with_its_input(work, smaller(6000))


def test_a_long_value_in_one_piece_is_linear() -> None:
    def work(size: int) -> Callable[[], object]:
        text = text_of("closers in an argument", 10 * size)
        return lambda: read(Route(), [text])

    grows_with_its_input(work, smaller(5000))


def test_a_native_call_that_comes_in_turns_with_text_is_read_linearly() -> None:
    """Whether the call is whole is asked where text comes, and costs its length."""
    begun = {"index": 0, "id": "c", "function": {"name": "Save", "arguments": '{"text": "'}}

    def work(size: int) -> Callable[[], object]:
        further = event(chunk({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 1000}}]}))
        said = event(chunk({"content": "\n<invoke>"}))
        frames = [event(chunk(HEAD)), event(chunk({"tool_calls": [begun]})), *([further, said] * size)]

        return lambda: run(exchange_on(Route(max_call_chars=1 << 30)), frames)

    grows_with_its_input(work, smaller(500))


@pytest.mark.parametrize("beginning", ['\n{"name":', '\n{"arguments":', '\n{"tool_calls":['])
def test_beginnings_of_json_calls_inside_each_other_are_read_a_few_times_only(
    beginning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lenient` looks for JSON in every line, and only the end of such an object says that it is no call."""
    consumed = 0
    take = Scanner.take

    def counted(scan: Scanner, count: int) -> str:
        nonlocal consumed
        consumed += count
        return take(scan, count)

    monkeypatch.setattr(Scanner, "take", counted)
    text = beginning * (40_000 // len(beginning))
    reader = Reader(CallPolicy(Route(policy="lenient"), Request(tools=TOOLS)))
    for at in range(0, len(text), 1000):
        reader.feed(text[at : at + 1000])
    reader.finish(cut=False)
    assert consumed < 8 * len(text)
