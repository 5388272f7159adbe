"""Limits: at each of them text passes, the reader finds its feet after it, and the report says so (T6, B03 to B09).

Strategy: every limit is a route's setting, so each is set low and met exactly, and gone past by one; then what a
stranger could send is sent at full size, with a bound on what is held.
"""

import gzip
import json
import random
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import brotli
import pytest
import zstandard

from support.allocations import allocates_at_most
from support.chatclient import HEAD, chunk, ending, event
from support.loopback import encoded
from support.repository import REPO
from support.sampling import some
from support.spoken import SPOKEN, Spoken, exchange, through
from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Text, Verdict
from toolcalls.flows.content_codings import CodingError, decoder_of
from toolcalls.insight import report
from toolcalls.processors import Processors, unavailable
from toolcalls.reading.candidate import Candidate
from toolcalls.reading.limits import CallLimits
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in

TOOLS = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
SPOKEN_IDS = list(SPOKEN)
MEGABYTE = 1024 * 1024


def call(command: str) -> str:
    return f'<invoke name="Bash"><parameter name="command">{command}</parameter></invoke>'


def route(**settings: Any) -> Route:
    return Route(client="native", upstream="text", **settings)


def read(text: str, size: int = 0, **settings: Any) -> list[Event]:
    size = size or max(1, len(text))
    return read_parts([text[at : at + size] for at in range(0, len(text), size)], **settings)


def read_parts(parts: list[str], tools: tuple[Tool, ...] = TOOLS, **settings: Any) -> list[Event]:
    reader = Reader(CallPolicy(route(**settings), Request(tools=tools)))
    events = [event for part in parts for event in reader.feed(part)]
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


@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_what_follows_in_a_call_past_its_limit_is_shown_as_it_comes(policy: Any) -> None:
    """Not only at the end of the call, which may never come."""
    reader = Reader(CallPolicy(route(max_call_chars=100, policy=policy), Request(tools=TOOLS)))
    reader.feed('<invoke name="Bash"><parameter name="command">')
    reader.feed("x" * 300)
    for word in ("first ", "second ", "third "):
        assert shown(list(reader.feed(word))) == word


@pytest.mark.parametrize("sign", ["x", "é", "😀"])
def test_held_text_is_limited_in_bytes(sign: str) -> None:
    text = '<invoke name="Bash"><parameter name="command">' + 100 * sign
    for limit, expected in ((len(text.encode()), ""), (len(text.encode()) - 1, text)):
        reader = Reader(
            CallPolicy(route(policy="strict", max_buffer_bytes=64, max_held_call_bytes=limit), Request(tools=TOOLS))
        )
        assert shown(list(reader.feed(text))) == expected


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
    assert not any(record.complete for _, record in one.client_calls)
    assert json.dumps({"command": "x" * 300}).encode() not in out.replace(b"\\", b"")


EXACT = ["invoke", "hermes", "mistral", "glm_xml", "gemma4", "harmony", "deepseek_dsml", "yaml_xml"]
VALUES = {
    "text": json.dumps({"command": 'x <y {[("\n\u0001' * 20}),
    "deep": '{"o": ' + '{"a": [1, {"k": "v"}], "b": ' * 9 + "1" + "}" * 10,
    "deep and short": '{"o": ' + "[" * 30 + "]" * 30 + "}",
    "both": json.dumps({"command": "é(" * 30, "o": {"z": [["w"] * 20]}}),
}


def outcome(events: list[Event]) -> tuple[str, dict[int, tuple[str, bool]], list[Verdict]]:
    """All that anybody sees of a reply: its text, each call's JSON and whether it ended, the verdicts."""
    calls = {event.index: ("", False) for event in events if isinstance(event, CallStart)}
    for one in events:
        if isinstance(one, CallPiece):
            calls[one.index] = (calls[one.index][0] + one.json, False)
        elif isinstance(one, CallEnd):
            calls[one.index] = (calls[one.index][0], True)
    return shown(events), calls, [event for event in events if isinstance(event, Verdict)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dialect", EXACT)
@pytest.mark.parametrize("tools", [TOOLS, (Tool("Bash"),)], ids=["typed", "untyped"])
def test_a_limit_of_a_call_is_met_at_the_same_character_however_it_is_cut(
    dialect: str, tools: tuple[Tool, ...]
) -> None:
    """Law 2 at `max_call_chars` and `max_depth`: text, JSON and verdicts are the same for any split."""
    chance = random.Random(7)  # the same cuts in every run
    met = set()
    for arguments in VALUES.values():
        try:
            text = all_dialects()[dialect].write((Call("Bash", arguments),), Toolbox(tools))
        except Unwritable:
            continue
        text = f"So.\n\n{text}\nThen {{a}} [b]."
        for limits in ({"max_call_chars": 90}, {"max_call_chars": 217}, {"max_depth": 5}, {"max_depth": 2}):
            for policy in ("standard", "strict"):
                whole = outcome(read(text, tools=tools, policy=policy, **limits))
                met |= {verdict.reason for verdict in whole[2]}
                for size in (1, 3, 7):
                    assert outcome(read(text, size, tools=tools, policy=policy, **limits)) == whole, (limits, size)
                for _ in range(2):
                    cuts = sorted(chance.sample(range(1, len(text)), 5))
                    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
                    assert outcome(read_parts(parts, tools=tools, policy=policy, **limits)) == whole, (limits, cuts)
    assert {"max_call_chars", "max_depth"} <= met


def test_json_ends_with_the_last_character_that_the_limit_allows() -> None:
    for most in (64, 99, 100):
        events = read(call("é\n" * 200), max_call_chars=most)
        assert pieces(events) == ('{"command":"' + "é\\n" * 200)[:most]


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 9])
@pytest.mark.parametrize(
    ("limits", "reason", "lifted"),
    [
        ({"max_calls": 1}, "max_calls", 1),
        ({"max_calls": 2}, "max_calls", 2),
        ({"multiple_calls": False}, "multiple_calls", 1),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "<function_calls>\n{}\n</function_calls>"])
def test_calls_that_wait_for_the_end_of_the_message_count_as_well(
    size: int, limits: dict[str, Any], reason: str, lifted: int, frame: str
) -> None:
    """The first ones are calls. One too many is text, and still a call: those before it are at the end."""
    text = frame.format("\n".join(call(command) for command in "abc"))
    events = read(text, size, policy="strict", **limits)
    assert verdicts(events) == [("lifted", None)] * lifted + [("declined", reason)] * (3 - lifted)
    assert shown(events) == text[text.index(call("abc"[lifted])) - 1 :]
    late = read(f"{text}\nThat is all.", size, policy="strict", **limits)
    assert verdicts(late) == [("declined", "not_terminal")] * lifted + [("declined", reason)] * (3 - lifted)
    assert shown(late) == f"{text}\nThat is all."
    assert verdicts(read(text, size, max_calls=3, policy="strict")) == [("lifted", None)] * 3


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
    events = read(text, 10, policy=policy, max_buffer_bytes=200, max_held_call_bytes=200)
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
    limits = {"max_buffer_bytes": 1000, "max_held_call_bytes": 2000}
    reader = Reader(CallPolicy(route(policy=policy, **limits), Request(tools=TOOLS)))
    fed = out = 0
    for piece in [text, *["some words. "] * 1000]:
        fed += len(piece)
        out += sum(len(event.text) for event in reader.feed(piece) if isinstance(event, Text | Markup))
        assert fed - out <= 2000 + 4 * len(piece) + len(text), f"{fed - out} characters are held"


# --- calls that count only when they are complete ---------------------------------------------------------------------

FILE = "".join(f"line {number} with `code`, <b>, 'quotes' and \"more\"\n" for number in range(2500))


def written_in(dialect: str, content: str) -> str:
    try:
        return all_dialects()[dialect].write((Call("Bash", json.dumps({"command": content})),), Toolbox(TOOLS))
    except Unwritable:
        pytest.skip("it does not write this call")


@pytest.mark.parametrize("policy", ["standard", "strict"])
@pytest.mark.parametrize("dialect", all_dialects())
def test_a_call_that_waits_for_its_end_may_be_larger_than_other_text_that_is_held(dialect: str, policy: Any) -> None:
    """A file of 120 KB, which `max_buffer_bytes` would not let wait."""
    text = written_in(dialect, FILE)
    assert len(text) > 1.5 * Route().max_buffer_bytes
    for size in (0, 1500):
        events = read(text, size, policy=policy, max_payload_chars=0, dialects=(dialect,))
        assert [(status, reason) for status, reason in verdicts(events) if reason != "no_call"] == [("lifted", None)]
        assert [json.loads(made.arguments) for made in calls_in(events)] == [{"command": FILE}]


# Arguments in a string, which are read whole before the call begins.
ENCODED = f"<tool_call>{json.dumps({'name': 'Bash', 'arguments': json.dumps({'command': 'x' * 900})})}</tool_call>"


@pytest.mark.parametrize("size", [0, 1, 700])
@pytest.mark.parametrize(
    ("text", "most", "reason"),
    [
        (f'{{"name": "Bash", "arguments": {{"command": "{"x" * 900}"}}}}', 800, "overflow"),
        (f'{{"name": "Bash", "arguments": {{"command": "{"x" * 900}"}}}}', 2000, None),
        (f'{{"name": "Bash", "arguments": {{"command": "{"x" * 900}"}}}}\nSo.', 2000, "not_terminal"),
        (f'{{"arguments": {{"command": "{"x" * 900}"}}, "name": "Bash"}}', 2000, "overflow"),
        (f'{{"name": "Other", "arguments": {{"command": "{"x" * 900}"}}}}', 2000, "undeclared"),
        (ENCODED, 2000, None),
        (
            ENCODED,
            800,
            "overflow",
        ),
        (f'[Bash(command="{"x" * 900}")]', 800, "overflow"),
        (f'[Bash(command="{"x" * 900}"), Bash(command="{"y" * 900}")]', 4000, None),
        (f'[Other(command="{"x" * 900}")]', 4000, "undeclared"),
    ],
)
def test_it_is_held_while_it_is_a_call_of_a_declared_tool(text: str, most: int, reason: str | None, size: int) -> None:
    limits = {"max_buffer_bytes": 200, "max_held_call_bytes": most}
    reader = Reader(CallPolicy(route(**limits), Request(tools=TOOLS)))
    held = not any(isinstance(event, Text) for event in reader.feed(text[:-5]))
    assert held == (reason not in {"overflow", "undeclared"})
    events = read(text, size, **limits)
    assert {why for _, why in verdicts(events)} == {reason}
    assert bool(calls_in(events)) == (reason is None)
    assert shown(events) == ("" if reason is None else text)


@pytest.mark.parametrize("size", [0, 11])
@pytest.mark.parametrize("room", [64, 1000])
def test_an_echo_far_behind_in_what_is_held_is_one(room: int, size: int) -> None:
    one, two = ('{"name": "Bash", "arguments": {"command": "%s"}}' % (sign * 200) for sign in "xy")
    for echoed, said in ((False, two.replace("y", "z")), (True, two)):
        reader = Reader(CallPolicy(route(max_buffer_bytes=room), Request(tools=TOOLS, quotable=(said,))))
        text = f"{one}\n{two}"
        parts = [text[at : at + (size or len(text))] for at in range(0, len(text), size or len(text))]
        events = [*(event for part in parts for event in reader.feed(part)), *reader.finish(cut=False)]
        assert ("echo" in [why for _, why in verdicts(events)]) == echoed


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN_IDS)
def test_a_stream_holds_the_frames_of_such_a_call_up_to_their_limit(spoken: Spoken) -> None:
    text = json.dumps({"name": "Bash", "arguments": {"command": FILE}})
    body = spoken.said([text[at : at + 40] for at in range(0, len(text), 40)])
    for most, status in ((8 * MEGABYTE, "lifted"), (200_000, "declined")):
        one = exchange(spoken, TOOLS, route(max_frame_bytes=most))
        out = through(one, body, 4000)
        assert one.failure is None
        assert [verdict.status for _, verdict in one.verdicts] == [status]
        assert (out == body) == (status == "declined")


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
        reader = Reader(CallPolicy(route(policy=policy), Request(tools=tools)))
        events = [*reader.feed(text), *reader.finish(cut=False)]
        assert not calls_in(events)
        assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text


def nested(depth: int) -> str:
    """A call whose arguments nest so deep: the object itself, and lists."""
    lists = depth - 1
    return f'<tool_call>\n{{"name": "Bash", "arguments": {{"m": {"[" * lists}"[{{"{"]" * lists}}}}}\n</tool_call>'


@pytest.mark.parametrize("policy", ["standard", "strict"])
@pytest.mark.parametrize("most", [2, 20, 512])
def test_depth_of_just_the_limit_is_a_call_and_one_more_is_none(most: int, policy: Any) -> None:
    """Brackets inside of strings do not count."""
    assert verdicts(read(nested(most), max_depth=most, policy=policy)) == [("lifted", None)]
    events = read(nested(most + 1), max_depth=most, policy=policy)
    status = "declined" if policy == "strict" else "truncated"
    assert verdicts(events) == [(status, "max_depth")]
    assert not calls_in(events)
    if policy == "strict":
        assert shown(events) == nested(most + 1)
    else:
        assert pieces(events).count("[") == most - 1


# --- after a limit ---------------------------------------------------------------------------------------------------

MARKED = f'TOOL_CALL: {{"name": "Bash", "arguments": {{"command": "{"x" * 300}"}}}}'
PAST = {
    "max_call_chars": (call("x" * 300), {"max_call_chars": 100}),
    "max_depth": (nested(9), {"max_depth": 8}),
    "overflow": (call("x" * 300), {"max_buffer_bytes": 100, "max_held_call_bytes": 100, "policy": "strict"}),
    "max_payload_chars": (MARKED, {"max_payload_chars": 100}),
}


@pytest.mark.parametrize("size", [0, 1, 11])
@pytest.mark.parametrize("policy", ["standard", "strict", "lenient"])
@pytest.mark.parametrize("reason", PAST)
def test_the_reader_finds_its_feet_behind_each_limit(reason: str, policy: Any, size: int) -> None:
    """Text after the block is text, and a call after it is one, that has its verdict."""
    first, settings = PAST[reason]
    settings = {"policy": policy, **settings}
    text = f"{first}\nThen `this` and\n\n{call('ls')}"
    events = read(text, size, **settings)
    assert [why for _, why in verdicts(events)] == [reason, None]
    assert [json.loads(made.arguments) for made in calls_in(events)] == [{"command": "ls"}]
    assert shown(events).endswith("\nThen `this` and\n\n")
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
    assert "max_frame_bytes" in report.make_report(one)["summary"]


def test_a_call_that_is_under_way_when_a_frame_is_too_long_stays_open() -> None:
    spoken = SPOKEN["openai_chat"]
    text = call("ls -la")
    body = spoken.said([text[:-24], "x" * 5000, text[-24:]])
    one = exchange(spoken, TOOLS, route(max_frame_bytes=2000))
    through(one, body, 100)
    assert [verdict.status for _, verdict in one.verdicts] == ["truncated"]
    assert not any(record.complete for _, record in one.client_calls)


BESIDE = {
    "comments": b": ping\n\n",
    "reasoning": event(chunk({"reasoning_content": "thinking about it"})),
    "usage": event({"id": "x", "choices": [], "usage": {"total_tokens": 1}}),
    "nothing": event(chunk({"content": ""})),
    "another choice": event({"id": "x", "choices": [{"index": 1, "delta": {"content": "hello "}}]}),
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=list(BESIDE))
@pytest.mark.parametrize("size", [0, 1, 50])
def test_undecided_text_does_not_hold_back_all_that_comes_beside_it(beside: bytes, size: int) -> None:
    """Up to as many bytes as one frame may have; then it is text, and what comes after it is read."""
    text, most = "Look: <inv", 2000
    last = event(chunk({"content": f"alid>.\n{call('ls')}"}))
    frames = [event(chunk(HEAD)), event(chunk({"content": text})), *[beside] * 100, last]
    body = b"".join([*frames, ending()])
    one = exchange(SPOKEN["openai_chat"], TOOLS, route(max_frame_bytes=most))
    came = gone = held = 0
    out = b""
    for piece in frames if not size else [body[at : at + size] for at in range(0, len(body), size)]:
        left = one.feed(piece)
        came, gone, out = came + len(piece), gone + len(left), out + left
        held = max(held, came - gone)
    assert held <= most + len(beside) + size
    if not size:
        out += one.feed(ending())
    out += one.close()
    assert one.failure is None
    assert [(verdict.status, verdict.name) for _, verdict in one.verdicts] == [("lifted", "Bash")]
    assert out.startswith(b"".join(frames[:-1]))
    assert out == through(exchange(SPOKEN["openai_chat"], TOOLS, route(max_frame_bytes=most)), body, 7)


@pytest.mark.parametrize("upstream", ["text", "native"])
@pytest.mark.parametrize("dialect", ["invoke", "tagged"])
@pytest.mark.parametrize("said", ["Look: <inv", f"Look:\n{call('ls')[:-9]}", f"{call('ls')}\n"])
def test_a_text_client_waits_no_longer_either(upstream: str, dialect: str, said: str) -> None:
    most, beside = 2000, BESIDE["reasoning"]
    settings = Route(client="text", upstream=upstream, client_dialect=dialect, max_frame_bytes=most)  # type: ignore[arg-type]
    one = exchange(SPOKEN["openai_chat"], TOOLS, settings)
    came = gone = 0
    for piece in [event(chunk(HEAD)), event(chunk({"content": said})), *[beside] * 100]:
        came, gone = came + len(piece), gone + len(one.feed(piece))
        assert came - gone <= most + len(beside) + len(said)
    assert one.failure is None


@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_a_call_that_waits_too_long_among_other_frames_is_never_completed(policy: str) -> None:
    """Under `strict` it is text, with a verdict; what the client has of it stays open. The next one is lifted."""
    whole = call("ls -la")
    said = [whole[:-9], *[None] * 100, whole[-9:], f"\nSo.\n\n{call('pwd')}"]
    frames = [event(chunk({"content": part})) if part else BESIDE["reasoning"] for part in said]
    body = b"".join([event(chunk(HEAD)), *frames, ending()])
    one = exchange(SPOKEN["openai_chat"], TOOLS, route(max_frame_bytes=4000, policy=policy))
    out = through(one, body, 100)
    assert one.failure is None
    status = "truncated" if policy == "standard" else "declined"
    told = [(verdict.status, verdict.reason) for _, verdict in one.verdicts]
    assert told == [(status, "overflow"), ("lifted", None)]
    assert [record.complete for _, record in one.client_calls][-1]
    assert len([record for _, record in one.client_calls if record.complete]) == 1
    assert out.count(BESIDE["reasoning"]) == 100


# --- bytes that decode to more ----------------------------------------------------------------------------------------


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate without a header": ("deflate", deflated),
    "br": ("br", lambda data: brotli.compress(data, quality=1)),
    "zstd": ("zstd", lambda data: zstandard.ZstdCompressor().compress(data)),
}


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_a_piece_decodes_to_no_more_than_its_limit(packed: tuple[str, Callable[[bytes], bytes]]) -> None:
    """B09: the limit is met exactly, in every coding, and little more than it is ever decoded."""
    coding, pack = packed
    data = pack(bytes(3 * MEGABYTE + 5))
    for limit, passes in ((3 * MEGABYTE + 5, True), (3 * MEGABYTE + 4, False)):
        decoder = decoder_of(coding, limit)
        assert decoder is not None
        if passes:
            assert len(decoder.feed(data)) == 3 * MEGABYTE + 5
        else:
            with pytest.raises(CodingError, match=str(limit)):
                decoder.feed(data)
    bomb = pack(bytes(64 * MEGABYTE))

    def refuse_the_bomb() -> Callable[[], None]:
        small = decoder_of(coding, 2 * MEGABYTE)
        assert small is not None

        def work() -> None:
            with pytest.raises(CodingError):
                small.feed(bomb)

        return work

    allocates_at_most(refuse_the_bomb, peak=12 * MEGABYTE)


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_what_is_packed_comes_out_however_it_is_cut(packed: tuple[str, Callable[[bytes], bytes]]) -> None:
    """Also where a few bytes decode to more than is decoded at once."""
    coding, pack = packed
    for data in (b"", b"x", bytes(3 * MEGABYTE), b"data: {}\n\n" * 1000):
        body = pack(data)
        for size in (7, 1000, len(body) or 1):
            decoder = decoder_of(coding)
            assert decoder is not None
            assert b"".join(decoder.feed(body[at : at + size]) for at in range(0, len(body), size)) == data


# --- memory -----------------------------------------------------------------------------------------------------------


def goes_through(start: Callable[[], Exchange], body_pieces: list[bytes], *, peak: int) -> Exchange:
    """Assert that a reply goes through a new exchange while at most so many bytes are held; returns an exchange."""
    started: list[Exchange] = []

    def prepare() -> Callable[[], object]:
        one = start()
        started.append(one)

        def work() -> None:
            for piece in body_pieces:
                one.feed(piece)
            one.close()

        return work

    allocates_at_most(prepare, peak=peak)
    return started[-1]


@pytest.mark.parametrize(
    "start",
    ["", "<tool_call>", '<invoke name="No"><parameter name="a">'],
    ids=["text", "never closed", "a call that is declined"],
)
def test_memory_does_not_grow_with_a_reply_that_passes(start: str) -> None:
    """A tenth of B06, in events of 10 kB: 10 MB through, a few buffers held."""

    frames = [
        event(chunk(HEAD)),
        event(chunk({"content": start or "So. "})),
        *[event(chunk({"content": "x y " * 2500}))] * 1000,
    ]
    goes_through(partial(exchange, SPOKEN["openai_chat"], TOOLS), frames, peak=4 * MEGABYTE)


@pytest.mark.parametrize("tools", [TOOLS, (Tool("Bash"),), (Tool("Other"),)], ids=["typed", "untyped", "undeclared"])
@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_no_grammar_keeps_more_than_a_call_may_have(tools: tuple[Tool, ...], policy: Any) -> None:
    """A call that is never closed, in every dialect: 200 kB come, and 50 kB are allowed."""
    for name in some(tuple(all_dialects()), 16, f"{tools} {policy}"):
        dialect = all_dialects()[name]
        try:
            text = dialect.write((Call("Bash", '{"command": "START"}'),), Toolbox((Tool("Bash"),)))
        except Unwritable:
            continue
        call_policy = CallPolicy(
            route(policy=policy, max_buffer_bytes=2000, max_held_call_bytes=2000, max_call_chars=50_000),
            Request(tools=tools),
        )
        allocates_at_most(partial(reads_on, call_policy, text[: text.index("START")]), peak=120_000, of=name)


def reads_on(policy: CallPolicy, beginning: str) -> Callable[[], None]:
    """Reads the beginning of a call now, and 200 kB of its value when it is called."""
    reader = Reader(policy)
    reader.feed(beginning)

    def work() -> None:
        for _ in range(33):
            reader.feed("some words " * 550)

    return work


def test_a_line_without_an_end_is_held_up_to_its_limit() -> None:
    """A tenth of B04."""
    start = partial(exchange, SPOKEN["openai_chat"], TOOLS, route(max_frame_bytes=MEGABYTE))
    one = goes_through(start, [b"data: ", *[b"x" * 10_000] * 1000], peak=6 * MEGABYTE)
    assert [note.rule for _, note in one.notes] == ["max_frame_bytes"]


# --- what is promised -------------------------------------------------------------------------------------------------


def test_each_limit_is_told_in_the_configuration() -> None:
    told = (REPO / "config" / "toolcalls.yaml").read_text(encoding="utf-8")
    for name in (
        "max_buffer_bytes",
        "max_held_call_bytes",
        "max_call_chars",
        "max_depth",
        "max_calls",
        "max_candidates",
        "max_frame_bytes",
        "max_decoded_bytes",
    ):
        assert f"\n  {name}: {getattr(Route(), name)}\n" in told, name


def test_the_wires_are_all_here() -> None:
    """A wire that can carry calls and is not in the table would go untested."""
    silent = {"mistral_fim", "ollama_generate", "openai_completions"}
    assert {spoken.wire for spoken in SPOKEN.values()} >= set(all_wires()) - silent - UNSPOKEN


UNSPOKEN: set[str] = set()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_large_event_is_decoded_when_it_came_and_not_with_the_next(coding: str) -> None:
    """A library may keep what it has decoded and say that it takes more; a signature of a thought is that long."""
    noise = random.Random(7)
    letters = b"abcdefghijklmnopqrstuvwxyz0123456789+/"
    events = [bytes(noise.choices(letters, k=size)) for size in (900, 60_000, 50, 200_000)]
    decoder = decoder_of(coding)
    assert decoder is not None
    packed = encoded(events, coding)
    assert [decoder.feed(piece) for piece in packed[: len(events)]] == events


@pytest.mark.parametrize("other", [False, True], ids=["by its own arguments", "by another choice"])
@pytest.mark.parametrize("as_text", [False, True], ids=["native", "text"])
def test_a_call_that_a_rule_has_not_decided_is_not_held_without_end(as_text: bool, other: bool) -> None:
    """More than may wait: it is blocked, as what cannot be decided is, and what waits after it leaves."""
    rule = AccessRule("r", "block", ("Bash",), arguments=(Condition("x", "rm"),))
    ruled = route(access=Access((rule,)), max_frame_bytes=8192)
    one = exchange(SPOKEN["openai_chat"], (Tool("Bash"),), ruled, processors=Processors(ruled, run=unavailable))

    def piece(arguments: str, **more: str) -> bytes:
        if as_text:
            return event(chunk({"content": arguments}))
        function = {"name": "Bash", "arguments": arguments} if more else {"arguments": arguments}
        return event(chunk({"tool_calls": [{"index": 0, **more, "function": function}]}))

    out = one.feed(piece('<invoke name="Bash">\n<parameter name="command">' if as_text else '{"command": "', id="n"))
    most = 0
    for _ in range(200):
        out += one.feed(event(chunk({"content": "word " * 20}, index=1)) if other else piece("word " * 20))
        most = max(most, one._queue.size)
    out += one.feed(b"data: [DONE]\n\n") + one.close()
    assert most < 2 * 8192
    assert b"tool_calls" not in out
    assert b"<invoke" not in out or (as_text and other)
    assert (b"word" in out) == other
    statuses = {verdict.status for _, verdict in one.verdicts}
    assert statuses <= {"blocked", "declined", "malformed"}  # arguments that never end cannot be read
    assert one.failure is None


@pytest.mark.parametrize("size", [900, 1100])
def test_a_native_call_past_its_limit_passes_and_is_not_kept(size: int) -> None:
    """What passes through is not kept without end either: the view does without its arguments, and says why."""
    one = exchange(SPOKEN["openai_chat"], TOOLS, route(max_call_chars=1000))

    def entry(arguments: str, **name: str) -> bytes:
        began = {"id": "n"} if name else {}
        return event(chunk({"tool_calls": [{"index": 0, **began, "function": {**name, "arguments": arguments}}]}))

    body = [
        entry('{"command":"', name="Bash"),
        *(entry("x" * 10) for _ in range(size // 10)),
        entry('"}'),
        ending("tool_calls"),
    ]
    assert b"".join(map(one.feed, body)) + one.close() == b"".join(body)
    [(_, record)] = one.client_calls
    [(_, verdict)] = one.verdicts
    assert verdict.status == "native"
    assert verdict.reason == (None if size < 1000 else "max_call_chars")
    assert len(record.arguments) == (size + 14 if size < 1000 else 0)


def test_what_follows_of_a_blocked_call_is_not_kept_without_end() -> None:
    """Nothing of it waits any more, so no limit for what waits is met; the loop guard would count it in the end."""
    rule = AccessRule("r", "block", ("Bash",), arguments=(Condition("command", "rm"),))
    ruled = route(
        access=Access((rule,)),
        loops=Loops(action="replace"),
        filters=(Filter("f", literal="never said", calls=True),),
        max_call_chars=50_000,
    )

    def entry(arguments: str, **more: str) -> bytes:
        return event(chunk({"tool_calls": [{"index": 0, **more, "function": {"arguments": arguments}}]}))

    head = {"index": 0, "id": "n", "function": {"name": "Bash", "arguments": '{"command": "rm", "x": "'}}
    piece = entry("x" * 8000)
    started: list[Exchange] = []

    def blocked() -> Callable[[], None]:
        one = exchange(SPOKEN["openai_chat"], TOOLS, ruled, processors=Processors(ruled, run=unavailable))
        one.feed(event(chunk({"tool_calls": [head]})))
        started.append(one)

        def work() -> None:
            for _ in range(600):
                one.feed(piece)

        return work

    allocates_at_most(blocked, held=1_000_000)
    for one in started:
        one.feed(entry('"}') + ending("tool_calls"))
        one.close()
        assert [verdict.status for _, verdict in one.verdicts] == ["blocked"]


@pytest.mark.parametrize("start", [0, 10])
@pytest.mark.parametrize(("sign", "read"), [("x", 600), ("é", 250)])
def test_a_quarter_of_the_room_is_read_at_once_where_characters_may_have_four_bytes(
    start: int, sign: str, read: int
) -> None:
    limits = CallLimits(max_chars=10**6, max_depth=100, max_held=1000)
    assert limits.at_once("a" * start + sign * 600, start, None, 0, held=0) == read


def test_what_a_grammar_keeps_counts_until_it_reports_it() -> None:
    limits = CallLimits(max_chars=10, max_depth=100, max_held=1000)
    candidate = Candidate("invoke", "t", 0, 100)
    assert limits.collect(candidate, 5) is None
    assert limits.add(candidate, '{"a":') is None
    assert limits.collect(candidate, 5) is None
    assert limits.collect(candidate, 1) == "max_call_chars"
    assert [limits.keeps_too_much(at) for at in (5, 10, 11)] == [False, False, True]


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_brackets_behind_an_escaped_quote_are_no_depth(size: int) -> None:
    """Also where a piece ends with the backslash."""
    for command in ('x\\"{{{{', 'x\\\\\\"[[[[', "x\\\\"):
        text = f'<tool_call>{{"name": "Bash", "arguments": {{"command": "{command}"}}}}</tool_call>'
        assert verdicts(read(text, size, max_depth=2)) == [("lifted", None)]


@pytest.mark.parametrize(("json", "collected"), [('{"a":"' + "x" * 700, 0), ("[" * 60, 0), ('{"a":"', 700), ("", 0)])
def test_what_is_read_without_a_look_passes_no_limit(json: str, collected: int) -> None:
    """However long or deep a call is, whichever of the two it is near."""
    limits, candidate = CallLimits(max_chars=800, max_depth=80, max_held=10**6), Candidate("invoke", "Bash", 0, 80)
    assert limits.add(candidate, json) is None
    assert limits.collect(candidate, collected) is None
    assert candidate.size + candidate.collected + 8 * limits.free <= 800
    assert candidate.nesting.depth + limits.free <= 80


@pytest.mark.parametrize(
    ("settings", "held", "most"),
    [
        ({"max_chars": 160}, 0, 10),  # half of them, as a character may become eight
        ({"max_depth": 32}, 0, 16),
        ({"max_held": 1000}, 200, 50),  # a character may have four bytes
        ({"max_held": 1000}, 250, 0),
    ],
)
def test_before_a_call_a_piece_that_may_pass_a_limit_needs_a_look(
    settings: dict[str, int], held: int, most: int
) -> None:
    limits = CallLimits(**{"max_chars": 10**6, "max_depth": 10**6, "max_held": 10**6} | settings)
    assert limits.has_room("[" * most, held)
    assert not limits.has_room("[" * (most + 1), held)


@pytest.mark.parametrize("json", ['{"a":"' + "x" * 700, "[" * 60])
def test_near_a_limit_a_piece_needs_a_look(json: str) -> None:
    limits, candidate = CallLimits(max_chars=800, max_depth=80, max_held=10**6), Candidate("invoke", "Bash", 0, 80)
    assert limits.has_room("x" * 30, held=0)
    assert limits.add(candidate, json) is None
    assert not limits.has_room("x" * 30, held=0)
    limits.reset()
    assert limits.has_room("x" * 30, held=0)
    assert not limits.keeps_too_much(700)
    assert limits.has_room("x" * 12, held=0)
    assert not limits.has_room("x" * 13, held=0)


@pytest.mark.parametrize(
    ("json", "text", "at", "held", "read"),
    [
        (None, "x" * 200, 0, 0, 100),
        (None, "x" * 200, 0, 950, 50),
        (None, "x" * 200, 0, 1000, 1),
        (None, "x" * 200, 700, 0, 100),  # what was read before a call does not count
        ('{"a":"' + "x" * 700, "x" * 200, 0, 0, 11),
        ("", "x" * 200, 700, 0, 12),
        (None, "x[y[z[", 0, 0, 6),
        (None, "x[y[z[w[", 0, 0, 7),
        ("[[", "[y[", 0, 0, 2),
        ("[[[", "[[", 0, 0, 1),
        ("[[[", "x[", 0, 0, 1),
        ("[[[", "xy[", 0, 0, 2),
    ],
)
def test_so_much_is_read_at_once_as_passes_no_limit(json: str | None, text: str, at: int, held: int, read: int) -> None:
    """`json`: what has come of a call, None for no call."""
    limits = CallLimits(max_chars=800, max_depth=3, max_held=1000)
    candidate = None if json is None else Candidate("invoke", "Bash", 0, 80)
    assert candidate is None or limits.add(candidate, json or "") is None
    for start in (0, 5):
        assert limits.at_once("x" * start + text, start, candidate, at, held) == read
