"""A fixed part of what `make reliability` throws at the addon, and whether the run would notice what it looks for.

Strategy: every group with a small fraction, always the same inputs, all of which must survive. Then the product is
broken in each of the ways that are counted, and the run must say so: a counter that cannot move proves nothing. Below
them stand the faults that the generator has found, each as the stream that showed it.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from reliability import blocks, echoes, generated, halves, invariants, leftovers, naughty, reasoning, rules, run
from reliability.driving import driven
from reliability.faults import FAULTS, Faulted, given
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, serially
from reliability.materials import PATHS, SUITES, Reply
from reliability.rows import Row, merged, table
from reliability.said import with_tools
from reliability.spliced import envelopes
from support.sampling import SAMPLED
from support.spoken import SPOKEN
from toolcalls.insight import own_secrets, redaction
from toolcalls.insight.exports import FORMATS
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.processors import reply as processors_reply
from toolcalls.reading import reader
from toolcalls.reading.block import Block
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.lane import Lane, MessagePlace
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.text.echo import EchoIndex
from toolcalls.text.markdown import Position
from toolcalls.wires.openai_responses import items
from toolcalls.writing import for_client

FRACTIONS = {
    "recordings": 0.0008,
    "quoting": 0.001,
    "rules": 0.0006,
    "blocks": 0.001,
    "echoes": 0.001,
    "reasoning": 0.0005,
    "values": 0.004,
    "halves": 0.0003,
    "roundtrips": 0.002,
    "sse": 0.1,
    "jsons": 0.02,
    "xml": 0.005,
    "naughty": 0.005,
    "cuts": 0.0001,
    "generated": 0.0006,
}
BASH = Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}})
LIFTS = with_tools(Route(client="native", upstream="text"), [BASH])
CALL = '<invoke name="Bash"><parameter name="command">ls -la</parameter></invoke>'
WORDS = "Nothing to see here: a < b, and 2 > 1.\n"
CONTENT = [f"export, {format_}, content={content}" for format_ in FORMATS for content in (False, True)]
PAGES = ("HTML report", "page, session")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("group", FRACTIONS)
def test_a_fixed_part_survives(group: str) -> None:
    part = FRACTIONS[group] / (40 if SAMPLED else 1)
    rows = merged(serially(import_module(f"reliability.{group}").jobs(part, 7)))
    if not rows and not SUITES.exists():
        pytest.skip("shared/suites does not lie beside the repository, and this group is nothing but a suite")
    assert rows
    for row in rows:
        assert row.survived == row.n, "\n".join(row.failures)
        assert row.clean


def test_every_group_of_the_run_has_its_part_here() -> None:
    """The live ones are in a test module of their own."""
    assert {*FRACTIONS, "live"} == set(run.GROUPS)


# --- the generator ----------------------------------------------------------------------------------------------------


def test_the_kinds_are_the_36_of_the_list() -> None:
    assert [fault.id for fault in FAULTS] == [f"F{number:02}" for number in range(1, 37)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_a_function_of_the_bytes_and_the_seed(fault: Any) -> None:
    """It strikes the events of every API that has events, twice alike; its pieces are the body that it says."""
    for key, several in envelopes().items():
        if key[1] != "sse":
            continue
        body = several[0].reply.body + "data: é🙂\n\n".encode()
        one, again = (fault.make(given(body, "sse"), Random(5)) for _ in "12")
        assert one == again
        assert one is not None
        if fault.effect == "same":
            assert one.body == body
        if not one.coding:
            assert b"".join(one.pieces) == one.body


def test_frames_make_up_the_body() -> None:
    for (_, form), several in envelopes().items():
        for envelope in several[:5]:
            cut = given(envelope.reply.body, form)
            assert b"".join(cut.frames) == envelope.reply.body
        assert len(given(several[0].reply.body, form).frames) > 1


# --- what the run would notice ----------------------------------------------------------------------------------------


def reply_of(text: str, wire: str = "openai_chat") -> Reply:
    """A reply that says a text, in pieces of five characters."""
    spoken = SPOKEN[wire]
    body = spoken.said([text[at : at + 5] for at in range(0, len(text), 5)])
    request = {"openai_responses": {"input": []}, "gemini, events": {"contents": []}}.get(wire, {"messages": []})
    kind = "application/x-ndjson" if spoken.form == "ndjson" else "text/event-stream"
    return Reply("made", PATHS[spoken.wire.replace("_", "-")], kind, json.dumps(request).encode(), body)


@contextmanager
def broken(owner: type, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """What a method returns is changed."""
    whole = owner.__dict__[name]

    def instead(*args: Any, **kwargs: Any) -> Any:
        return change(whole(*args, **kwargs))

    with patch.object(owner, name, instead):
        yield


def kinds(breaches: Iterator[Breach]) -> set[str]:
    return {breach.kind for breach in breaches}


def untouched(reply: Reply) -> set[str]:
    outcome = driven(reply, [reply.body])
    faulted = Faulted(reply.body, (reply.body,))
    return kinds(invariants.sound(outcome, faulted)) | kinds(invariants.untouched(outcome, faulted))


def test_a_byte_that_is_lost_is_noticed() -> None:
    reply = reply_of(WORDS)
    assert untouched(reply) == set()
    with broken(Exchange, "feed", lambda out: out[:-1]):
        assert "lost" in untouched(reply)
    with broken(ResponseTap, "__call__", lambda out: out and bytes(out).replace(b"Nothing", b"nothing")):
        assert "lost" in untouched(Reply("made", reply.path, reply.content_type, reply.request, b"Nothing\n\n"))


def test_a_call_that_is_invented_is_noticed() -> None:
    reply = Reply("made", PATHS["openai-chat"], "text/event-stream", b'{"messages": []}', reply_of(CALL).body)
    outcome = driven(reply, [reply.body], route=LIFTS)
    assert "invented" in kinds(invariants.untouched(outcome, Faulted(reply.body, (reply.body,))))


def test_a_call_of_a_reply_that_was_cut_is_noticed() -> None:
    reply = reply_of(CALL)
    whole = driven(reply, [reply.body], route=LIFTS)
    cut = reply.body[: len(reply.body) * 7 // 10]  # inside the argument
    assert not list(invariants.cut_short(driven(reply, [cut], ends=False, route=LIFTS), whole, ends=False))
    outcome = driven(reply, [cut], ends=False, route=LIFTS)
    outcome.client_calls[0][1].complete = True
    assert "invented" in kinds(invariants.cut_short(outcome, whole, ends=False))


def test_a_verdict_that_is_missing_is_noticed() -> None:
    reply = reply_of(CALL)
    with patch.object(Exchange, "verdicts", property(lambda _: [], lambda *_: None), create=True):
        assert kinds(invariants.sound(driven(reply, [reply.body], route=LIFTS), Faulted(reply.body, ()))) == {"failed"}


def test_an_exception_is_noticed_though_all_bytes_pass() -> None:
    reply = reply_of(CALL)

    def fails(*_: object, **__: object) -> None:
        raise KeyError("x")

    with patch.object(Block, "begin", fails):
        outcome = driven(reply, [reply.body], route=LIFTS)
    assert outcome.out == reply.body
    assert kinds(invariants.sound(outcome, Faulted(reply.body, ()))) == {"failed"}


def test_what_hangs_is_noticed() -> None:
    reply = reply_of(WORDS)

    def sleeps(*_: object) -> bytes:
        while True:
            pass

    with patch("reliability.driving.LIMIT", 0.2), patch.object(Exchange, "feed", sleeps):
        outcome = driven(reply, [reply.body])
    assert "hang" in kinds(invariants.sound(outcome, Faulted(reply.body, ())))


def test_a_secret_that_is_told_is_noticed() -> None:
    header = {"x-api-key": "sk-ant-CANARY"}
    assert not list(naughty._breaches(header, CALL, fails=False))
    with patch("toolcalls.mitm.reporting.exchange_label", lambda flow: repr(dict(flow.request.headers))):
        assert kinds(naughty._breaches(header, CALL, fails=False)) == {"secret"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("header", "places"),
    [
        ({"x-api-key": "sk-ant-CANARY"}, {"redacted recording", *CONTENT[2:4]}),
        ({"body": "refresh_token=CANARY"}, {"redacted recording", *CONTENT[1:4], CONTENT[5], *PAGES, "page, overview"}),
        ({":path": "/v1/x?key=CANARY"}, {"redacted recording", *CONTENT[:4], *PAGES}),
    ],
    ids=["header", "body", "query"],
)
def test_a_secret_is_noticed_wherever_it_may_stand(header: dict[str, str], places: set[str]) -> None:
    """With nothing taken out: exports, the HTML report and redacted flows are searched, too."""
    nothing = re.compile("(?!)(?P<query>)(?P<before>)(?P<scheme>)(?P<jar>)(?P<name>)")
    kept = redaction.KEPT_HEADERS | {"x-api-key"}
    with (
        patch.object(redaction, "SECRET", nothing),
        patch.object(own_secrets, "_LEAST", 1 << 30),
        patch.object(redaction, "SECRET_KEY", nothing),
        patch.object(redaction, "KEPT_HEADERS", kept),
        patch.object(redaction, "_KEPT_QUERY", {"key": re.compile(".*")}),
    ):
        found = list(naughty._breaches(header, CALL, fails=False))
    assert kinds(iter(found)) == {"secret"}
    assert {breach.text.partition(":")[0] for breach in found} == places


def test_what_is_recorded_is_searched() -> None:
    """The process that records is not patched, so a word that is no secret shows that its file is read."""
    found = dict(naughty._outputs({"body": "a word that is kept"}, CALL, fails=False))
    assert "a word that is kept" in found["recording"]
    assert not [name for name in naughty.CANARIES if name in found["recording"]]


def test_what_a_reply_leaves_behind_is_noticed() -> None:
    """What the next reply of the process would find: here the note of a citation, in a list that all replies share."""
    where = {"item_id": "m", "output_index": 0, "content_index": 0}
    kind = "response.output_text"
    cite = {"type": f"{kind}.annotation.added", **where, "annotation": {"url": "https://example.test/"}}
    events = [{"type": f"{kind}.delta", **where, "delta": WORDS}, cite]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    reply = Reply("made", PATHS["openai-responses"], "text/event-stream", b'{"input": []}', body)

    def outcome() -> Iterator[Breach]:
        yield from invariants.untouched(driven(reply, [body], route=LIFTS), Faulted(body, (body,)))

    tally = Tally("x")
    tally.count("as it is", outcome())
    assert tally.row == Row("x", 1, 1)
    with patch.object(items, "NOTHING", []), patch.object(leftovers, "LOOKOUT", leftovers.Lookout()):
        tally = Tally("x")
        tally.count("shared", outcome())
        tally.count("shared", iter(()))
    assert tally.row.survived == 1
    assert "shared: I8 left behind: toolcalls.wires.openai_responses.items.NOTHING holds" in tally.row.failures[0]


# What is switched off, what is in its place, and the part of a group that counts what then gets through.
OFF: dict[str, tuple[Any, str, Callable[..., Any], Callable[..., Row], tuple[str, ...]]] = {
    "careless readings": (processors_reply.Reply, "careless", lambda *_: None, rules.in_shapes, ("tagged", "ollama")),
    "careless readings of messages": (
        processors_reply.Reply, "careless", lambda *_: None, rules.in_shapes, ("continue_codeblock", "anthropic")
    ),
    "quotations over blocks": (
        Lane, "next_block", lambda _: MessagePlace(Position(), None), blocks.of_a_dialect, ("hermes",)
    ),
    "echoes": (EchoIndex, "trace", lambda *_: None, echoes.of_a_dialect, ("hermes",)),
    "values for simple readers": (
        for_client, "whole_for_client", lambda _, call, __: call, halves.to_a_client, ("OpenHands",)
    ),
    "reasoning": (reader, "may_be_reasoning", lambda *_: False, reasoning.of_a_dialect, ("invoke",)),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("feature", OFF)
def test_a_feature_that_is_off_is_noticed(feature: str) -> None:
    owner, name, instead, part, arguments = OFF[feature]
    assert part(*arguments, 0.015, 3).clean
    with patch.object(owner, name, instead):
        assert part(*arguments, 0.015, 3).invented


# --- the table and the goals ------------------------------------------------------------------------------------------


def test_the_table() -> None:
    rows = merged([Row("a", 2, 2), Row("b", 30_000, 29_999, lost=1, failures=("x",)), Row("a", 1, 1)])
    assert table(rows).split("\n") == [
        "| group |      N | survived |       % | lost/altered | invented | secrets | hangs |",
        "| ----- | -----: | -------: | ------: | -----------: | -------: | ------: | ----: |",
        "| a     |      3 |        3 |     100 |            0 |        0 |       0 |     0 |",
        "| b     | 30,000 |   29,999 | 99.9966 |            1 |        0 |       0 |     0 |",
    ]


@pytest.mark.parametrize(
    ("row", "reached"),
    [
        (Row("recordings", 10, 10), True),
        (Row("recordings", 10_000, 9_999, lost=1), False),
        (Row("faults: spliced", 10_000, 9_999, lost=1), True),
        (Row("faults: spliced", 10_000, 9_998, lost=2), False),
        (Row("faults: spliced", 100_000, 99_999, hangs=1), False),
        (Row("secrets", 10, 10, secrets=1), False),
    ],
)
def test_a_goal(row: Row, reached: bool) -> None:
    assert run.reached(row) == reached


def test_a_tally_counts_an_input_once() -> None:
    tally = Tally("x")
    tally.count("one", [Breach("lost", "a"), Breach("lost", "b\nc"), Breach("failed", "d")])
    tally.count("two", [])
    assert tally.row == Row("x", 2, 1, lost=1, failures=("one: a; b c; d",))


def test_a_run_that_misses_a_goal_fails(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", "sse", "--fraction", "0.05", "--jobs", "1"]
    row = Row("SSE cases", 2, 1, lost=1, failures=("this one",))
    with patch("reliability.run.done", lambda *_: iter([row])):
        assert run.main(arguments) == 1
    assert "SSE cases: this one" in capsys.readouterr().out
    with patch("reliability.run.done", lambda *_: iter([Row("SSE cases", 2, 2)])):
        assert run.main(arguments) == 0
    with patch("reliability.run.done", lambda *_: iter([])):
        assert run.main(arguments) == 1


def counted(number: int) -> Row:
    """A job of `five`."""
    return Row("five", 1, 1, failures=(f"number {number}",))


def five(_fraction: float, _seed: int) -> Iterator[Job]:
    """Is in for a group's jobs."""
    return (Job(counted, (number,)) for number in range(5))


@pytest.mark.sampled(0)
def test_the_parts_of_a_run_are_the_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each input once, added up in a file; a part comes only once, and not to those of another run."""
    arguments = ["--only", "sse", "--jobs", "1", "--into", str(tmp_path / "sum.json")]
    threads = patch("reliability.run.ProcessPoolExecutor", lambda count, _: ThreadPoolExecutor(count))
    with patch("reliability.sse.jobs", five):
        with threads:  # soon started; the last part has its processes
            for part in ("1/3", "3/3"):
                assert run.main([*arguments, "--seed", "5", "--part", part]) == 0
        capfd.readouterr()
        assert run.main([*arguments, "--seed", "5", "--part", "2/3"]) == 0
        told = capfd.readouterr().out
        assert "parts 1, 2, 3 of 3" in told
        assert told.startswith(table([Row("five", 5, 5)]))
        assert sorted(line for line in told.split("\n") if line.startswith("five: ")) == [
            f"five: number {number}" for number in range(5)
        ]
        for wrong in (["--seed", "5", "--part", "2/3"], ["--seed", "6", "--part", "2/3"], ["--part", "2/4"]):
            assert run.main([*arguments, *wrong]) == 1
            assert "nothing is tried" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        run.main([*arguments, "--part", "4/3"])


# --- what it found ----------------------------------------------------------------------------------------------------


def test_a_text_that_is_said_again_under_another_place_is_no_second_call() -> None:
    """F19 in a key: as where servers of the Responses API count otherwise in `done` events than in the pieces."""
    reply = reply_of(CALL, "openai_responses")
    at = reply.body.index(b"response.output_text.done", reply.body.index(b"response.output_text.done") + 1)
    body = reply.body[:at] + reply.body[at:].replace(b'"output_index":0', b'"output_index":3', 1)
    assert body != reply.body
    outcome = driven(reply, [body], route=LIFTS)
    assert outcome.complete == [("Bash", '{"command":"ls -la"}')]


def native(index: int) -> bytes:
    """A native call of Gemini's."""
    call = {"name": "Bash", "args": {"command": f"ls {index}"}}
    candidate = {"content": {"parts": [{"functionCall": call}], "role": "model"}, "index": 0}
    return b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\r\n\r\n"


def test_a_native_call_behind_the_finish_reason_has_its_verdict() -> None:
    """F21: events out of order."""
    reply = reply_of("Go.\n", "gemini, events")
    body = reply.body + native(0)
    outcome = driven(reply, [body], route=LIFTS)
    assert outcome.out == body
    assert [(verdict.status, verdict.name) for _, verdict in outcome.verdicts] == [("native", "Bash")]


def test_an_event_of_a_native_call_that_has_its_verdict_passes() -> None:
    """F21, F27: the pieces of a call come again after the end."""
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "Bash"},
    }
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}
    events = [start, piece, end, piece, {"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    body = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)
    reply = Reply("made", PATHS["anthropic"], "text/event-stream", b'{"messages": []}', body)
    outcome = driven(reply, [body], route=replace(LIFTS, mend=()))
    assert outcome.failure is None
    assert outcome.out == body


@pytest.mark.parametrize("partial", [b"", b'{"model":"m","crea'])
def test_a_call_that_is_never_split_is_text_again_when_the_reply_just_stops(partial: bytes) -> None:
    """F07, F09: on Ollama's wire, where nothing of a call is shown before its end. What is cut of a line stays last."""
    reply = reply_of(f"Look.\n{CALL}", "ollama")
    body = reply.body[: len(reply.body) * 7 // 10]  # inside the argument
    body = body[: body.rindex(b"\n") + 1] + partial
    outcome = driven(reply, [body], route=LIFTS)
    said = [json.loads(line)["message"]["content"] for line in outcome.out.split(b"\n") if line.endswith(b"}")]
    assert "".join(said) == f"Look.\n{CALL}"[: len("".join(said))]
    assert '<parameter name="command">' in "".join(said)
    assert outcome.out.endswith(partial)


@pytest.mark.parametrize(
    ("path", "frame"),
    [
        ("/v1/chat/completions", '{"choices":[{"delta":{"content":%s}}]}'),
        ("/v1/chat/completions", '{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"a":%s}}}]}}]}'),
        ("/v1/messages", '{"type":"content_block_start","content_block":{"type":"tool_use","input":{"a":%s}}}'),
        ("/v1/responses", '{"type":"response.output_item.done","item":{"type":"message","content":%s}}'),
    ],
)
@pytest.mark.parametrize("closed", [True, False])
def test_depth_is_no_exception(path: str, frame: str, closed: bool) -> None:
    """`n_structure_open_array_object` and `100000_opening_arrays` of JSONTestSuite."""
    text = frame % ("[" * 20_000 + "]" * 20_000) if closed else frame.partition("%s")[0] + "[" * 20_000
    reply = Reply("made", path, "text/event-stream", b'{"messages": [], "input": []}', f"data: {text}\n\n".encode())
    outcome = driven(reply, [reply.body], route=LIFTS)
    assert outcome.failure is None
    assert outcome.out == reply.body


def test_a_call_without_a_closing_tag_does_not_wait_for_one() -> None:
    """F28: where the dialect has none, the call is complete with its last brace, also if nothing comes any more."""
    text = 'function call<|role_sep|>\n{"name": "Bash", "arguments": {"command": "ls"}}'
    reply = reply_of(text, "ollama")
    body = reply.body[: reply.body.rstrip(b"\n").rindex(b"\n") + 1]
    outcome = driven(reply, [body], route=LIFTS)
    assert b'"tool_calls"' in outcome.out


def test_generated_rows_name_what_failed() -> None:
    """A failure is told so that it can be had again."""
    with broken(Exchange, "close", lambda out: out + b"x"):
        row = generated.over_recorded(0, 2, 0.2, 1)
    assert row.lost == row.n - row.survived > 5
    assert len(row.failures) == row.lost
    assert all("stream=" in line and "fault=F" in line and "seed=1" in line for line in row.failures)
