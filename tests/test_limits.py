"""Limits: at each of them text passes, the reader finds its feet behind it, and the report says so (T6, B03 to B09).

Strategy: every limit is a route's setting, so each is set low and met exactly, and gone past by one; then what a
stranger could send is sent at full size, with a bound on what is held.
"""

import gzip
import json
import tracemalloc
from typing import Any

import pytest

from chatclient import HEAD, chunk, event
from conftest import REPO
from spoken import SPOKEN, Spoken, exchange, through
from toolcalls import report
from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Text, Verdict
from toolcalls.exchange import Exchange
from toolcalls.mitm.codings import CodingError, decoder_of
from toolcalls.policy import Terms
from toolcalls.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.tools import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing import calls_in

TOOLS = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
SPOKEN_IDS = list(SPOKEN)
MEGABYTE = 1024 * 1024


def call(command: str) -> str:
    return f'<invoke name="Bash"><parameter name="command">{command}</parameter></invoke>'


def route(**settings: Any) -> Route:
    return Route(client="native", upstream="text", **settings)


def read(text: str, size: int = 0, **settings: Any) -> list[Event]:
    reader = Reader(Terms(route(**settings), Request(tools=TOOLS)))
    size = size or max(1, len(text))
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    return [*events, *reader.finish(cut=False)]


def verdicts(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.status, event.reason) for event in events if isinstance(event, Verdict)]


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def pieces(events: list[Event]) -> str:
    return "".join(event.json for event in events if isinstance(event, CallPiece))


# --- one call's arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_call_that_grows_past_its_limit_stays_open(size: int) -> None:
    """What the client has of it is never closed, the rest of its text is shown, and the next call is one again."""
    text = f"{call('x' * 300)}\nSo.\n\n{call('ls')}"
    events = read(text, size, max_call_chars=100)
    assert verdicts(events) == [("truncated", "max_call_chars"), ("lifted", None)]
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    assert [event.index for event in events if isinstance(event, CallStart)] == [0, 1]
    assert [event.index for event in events if isinstance(event, CallEnd)] == [1]
    assert shown(events).endswith("</parameter></invoke>\nSo.\n\n")
    first = "".join(event.json for event in events if isinstance(event, CallPiece) and event.index == 0)
    with pytest.raises(json.JSONDecodeError):
        json.loads(first)


def test_a_call_of_just_the_limit_is_one() -> None:
    arguments = json.dumps({"command": "x" * 85}, separators=(",", ":"))
    events = read(call("x" * 85), max_call_chars=len(arguments))
    assert verdicts(events) == [("lifted", None)]
    assert verdicts(read(call("x" * 86), max_call_chars=len(arguments))) == [("truncated", "max_call_chars")]


@pytest.mark.parametrize("dialect", ["hermes", "mistral", "invoke", "tagged", "harmony"])
def test_a_call_that_waits_and_grows_past_its_limit_is_text(dialect: str) -> None:

    text = all_dialects()[dialect].write((Call("Bash", json.dumps({"command": "x" * 300})),), Toolbox(TOOLS))
    events = read(text, 5, max_call_chars=100, policy="strict")
    assert not calls_in(events)
    assert shown(events) == text
    assert verdicts(events) == [("declined", "max_call_chars")]


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN_IDS)
def test_a_client_is_told_that_it_is_not_whole(spoken: Spoken) -> None:
    """No wire completes it: where calls come in pieces it stays open, where they come whole there is none."""
    text = call("x" * 300)
    one = exchange(spoken, TOOLS, route(max_call_chars=100))
    out = through(one, spoken.said([text[at : at + 20] for at in range(0, len(text), 20)]))
    assert one.failure is None
    assert [verdict.status for _, verdict in one.verdicts] == ["truncated"]
    assert not all(record.complete for _, record in one.records)
    assert json.dumps({"command": "x" * 300}).encode() not in out.replace(b"\\", b"")


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 9])
def test_calls_past_their_number_stay_text(size: int) -> None:
    text = "\n".join([call("ls")] * 5)
    events = read(text, size, max_calls=3)
    assert len(calls_in(events)) == 3
    assert verdicts(events) == [("lifted", None)] * 3 + [("declined", "max_calls")] * 2


@pytest.mark.parametrize("size", [0, 9])
def test_candidates_past_their_number_are_not_looked_at(size: int) -> None:
    text = "\n".join([*["<invoke>"] * 5, call("ls")]) + "\nend"
    assert verdicts(read(text, size, max_candidates=6)) == [("malformed", "not_a_call")] * 5 + [("lifted", None)]
    events = read(text, size, max_candidates=5)
    assert verdicts(events) == [("malformed", "not_a_call")] * 5 + [("declined", "max_candidates")]
    assert shown(events) == text


def test_a_reply_made_of_openers_leaves_few_verdicts() -> None:
    events = read("<tool_call>" * 20_000)
    assert len(verdicts(events)) == Route().max_candidates + 1
    assert shown(events) == "<tool_call>" * 20_000


# --- held text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["strict", "lenient"])
def test_held_text_past_its_limit_is_let_go_and_the_next_call_is_found(policy: Any) -> None:
    before = "" if policy == "strict" else "So: "
    text = f"{before}{call('x' * 500)}\nThen.\n\n{call('ls')}"
    events = read(text, 10, policy=policy, max_buffer_bytes=200)
    assert [reason for _, reason in verdicts(events)] == ["overflow", None]
    assert [json.loads(made.arguments) for made in calls_in(events)] == [{"command": "ls"}]


@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("dialect", all_dialects())
def test_no_dialect_holds_more_than_the_limit(dialect: str, policy: Any) -> None:
    """B06: a call that is never closed. What is held is at most the limit and what came with the latest piece."""

    try:
        text = all_dialects()[dialect].write((Call("Bash", '{"command": "START"}'),), Toolbox(TOOLS))
    except Unwritable:
        pytest.skip("it does not write this call")
    text = text[: text.index("START")]
    reader = Reader(Terms(route(policy=policy, max_buffer_bytes=2000), Request(tools=TOOLS)))
    fed = out = 0
    for piece in [text, *["some words. "] * 1000]:
        fed += len(piece)
        out += sum(len(event.text) for event in reader.feed(piece) if isinstance(event, Text | Markup))
        assert fed - out <= 2000 + 4 * len(piece) + len(text), f"{fed - out} characters are held"


# --- depth ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
@pytest.mark.parametrize(
    "opening", ["", '<tool_call>{"name": "Bash", "arguments": ', '<invoke name="Bash"><parameter name="m">']
)
def test_depth_is_bounded(opening: str, bracket: str) -> None:
    """B08: no recursion, nothing lost, no call."""
    tools = (Tool("Bash", {"properties": {"m": {"type": "object"}}}),)
    text = opening + bracket * 100_000
    for policy in ("standard", "lenient"):
        reader = Reader(Terms(route(policy=policy), Request(tools=tools)))
        events = [*reader.feed(text), *reader.finish(cut=False)]
        assert not calls_in(events)
        assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text


# --- frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN_IDS)
def test_a_frame_past_its_limit_passes_unread_and_the_report_says_so(spoken: Spoken) -> None:
    """B04: byte for byte, and all that follows it."""
    body = spoken.said(["a", "x" * 5000, call("ls")])
    one = exchange(spoken, TOOLS, route(max_frame_bytes=2000))
    assert through(one, body, 100) == body
    assert one.failure is None
    assert [note.rule for _, note in one.notes] == ["max_frame_bytes"]
    assert "max_frame_bytes" in report.of(one)["summary"]


def test_a_call_that_is_under_way_when_a_frame_is_too_long_stays_open() -> None:
    spoken = SPOKEN["openai_chat"]
    text = call("ls -la")
    body = spoken.said([text[:-24], "x" * 5000, text[-24:]])
    one = exchange(spoken, TOOLS, route(max_frame_bytes=2000))
    through(one, body, 100)
    assert [verdict.status for _, verdict in one.verdicts] == ["truncated"]
    assert not any(record.complete for _, record in one.records)


# --- bytes that decode to more ----------------------------------------------------------------------------------------


def test_a_piece_decodes_to_no_more_than_its_limit() -> None:
    """B09."""
    data = gzip.compress(bytes(4 * MEGABYTE))
    decoder = decoder_of("gzip", 8 * MEGABYTE)
    assert decoder is not None
    assert len(decoder.feed(data)) == 4 * MEGABYTE
    small = decoder_of("gzip", MEGABYTE)
    assert small is not None
    with pytest.raises(CodingError):
        small.feed(data)


# --- memory -----------------------------------------------------------------------------------------------------------


def peak(one: Exchange, body_pieces: list[bytes]) -> int:
    """The most bytes that Python held more than at the start, while a body went through."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for piece in body_pieces:
        one.feed(piece)
    one.close()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most - before


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("", "text"),
        ("<tool_call>", "never closed"),
        ('<invoke name="No"><parameter name="a">', "a call that is declined"),
    ],
)
def test_memory_does_not_grow_with_a_reply_that_passes(start: str, name: str) -> None:
    """A tenth of B06, in events of 10 kB: 10 MB through, a few buffers held."""

    frames = [
        event(chunk(HEAD)),
        event(chunk({"content": start or "So. "})),
        *[event(chunk({"content": "x y " * 2500}))] * 1000,
    ]
    assert peak(exchange(SPOKEN["openai_chat"], TOOLS), frames) < 4 * MEGABYTE, name


@pytest.mark.parametrize("tools", [TOOLS, (Tool("Bash"),), (Tool("Other"),)], ids=["typed", "untyped", "undeclared"])
@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_no_grammar_keeps_more_than_a_call_may_have(tools: tuple[Tool, ...], policy: Any) -> None:
    """A call that is never closed, in every dialect: 600 kB come, and 50 kB are allowed."""
    for name, dialect in all_dialects().items():
        try:
            text = dialect.write((Call("Bash", '{"command": "START"}'),), Toolbox((Tool("Bash"),)))
        except Unwritable:
            continue
        terms = Terms(route(policy=policy, max_buffer_bytes=2000, max_call_chars=50_000), Request(tools=tools))
        reader = Reader(terms)
        tracemalloc.start()
        reader.feed(text[: text.index("START")])
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(100):
            reader.feed("some words " * 550)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most - before < 300_000, name


def test_a_line_without_an_end_is_held_up_to_its_limit() -> None:
    """A tenth of B04."""
    one = exchange(SPOKEN["openai_chat"], TOOLS, route(max_frame_bytes=MEGABYTE))
    assert peak(one, [b"data: ", *[b"x" * 10_000] * 1000]) < 6 * MEGABYTE
    assert [note.rule for _, note in one.notes] == ["max_frame_bytes"]


# --- what is promised -------------------------------------------------------------------------------------------------


def test_each_limit_is_told_in_the_configuration() -> None:
    told = (REPO / "config" / "toolcalls.yaml").read_text(encoding="utf-8")
    for name in (
        "max_buffer_bytes",
        "max_call_chars",
        "max_calls",
        "max_candidates",
        "max_frame_bytes",
        "max_decoded_bytes",
    ):
        assert f"\n  {name}: {getattr(Route(), name)}\n" in told, name


def test_the_wires_are_all_here() -> None:
    """A wire that can carry calls and is not in the table would go untested."""
    silent = {"ollama_generate", "openai_completions"}
    assert {spoken.wire for spoken in SPOKEN.values()} >= set(all_wires()) - silent - UNSPOKEN


UNSPOKEN: set[str] = set()
