"""How replies came, by model and server: the same numbers on the scorecard, in the report, the commands and exports."""

import json
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter

from support import manyflows
from support.loopback import chunk, streamed
from toolcalls import cli
from toolcalls.flows.flow_records import record_of
from toolcalls.insight.conformance import OTHERS, ROWS, Conformance, Kind
from toolcalls.insight.damage import IN_TEXT, Damage, damage_of, sentence_of
from toolcalls.insight.exports import jsonl, otel
from toolcalls.insight.page import live_overview, report_page
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import Turn, turn_of
from toolcalls.insight.vocabulary.words import NOTES
from toolcalls.mitm.tables import in_lines, outcome_counts, reports_by_server

END = b"data: [DONE]\n\n"
READ = '{"path": "a.py"}'


def _call(arguments: str, id_: str = "call_1", name: str = "read_file") -> bytes:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]})


BEGIN = chunk({"role": "assistant", "content": None})
REPLIES = {
    "sound": [BEGIN, _call(READ), chunk({}, "tool_calls"), END],
    "text": streamed("Done."),
    "nothing": [BEGIN, chunk({}, "stop"), END],
    "nothing-again": [BEGIN, chunk({}, "stop"), END],
    "denied": [BEGIN, _call(READ), chunk({}, "stop"), END],
    "no-id": [BEGIN, _call(READ, ""), chunk({}, "tool_calls"), END],
    "wrong": [BEGIN, _call('{"path": 1}'), chunk({}, "tool_calls"), END],
    "quoted": streamed(f"```\n{manyflows.written('read_file', path='a')}\n```\n"),
    "in-text": streamed(manyflows.written("read_file", path="a") + "\n" + manyflows.written("Bash", command="ls")),
    "leaked": streamed("Now: " + manyflows.written("read_file", path="a")),
}
# What of these came damaged: in how many replies, how often, how often mended.
FOUND = {
    "empty": (2, 2, 0),
    IN_TEXT: (2, 3, 2),
    "finish_denies_calls": (1, 1, 1),
    "no_id": (1, 1, 1),
    "wrong_type": (1, 1, 0),
    "likely_meant": (1, 1, 0),  # no damage for sure: such a reply is counted among those without
}


def _flows() -> list[http.HTTPFlow]:
    return [manyflows.flow_of(name, [manyflows.user("go")], pieces, model="kimi") for name, pieces in REPLIES.items()]


def _turns() -> list[Turn]:
    return [turn_of(record_of(flow)) for flow in _flows()]


def _kept() -> Sessions:
    sessions = Sessions()
    for turn in _turns():
        sessions.put(turn)
    return sessions


def test_the_scorecard_counts_damage_by_model_and_server() -> None:
    (row,) = _kept().scorecard.conformance.rows()
    assert (row.model, row.server, row.turns, row.sound) == ("kimi", "gpu-box:8000", 10, 3)
    assert {kind.code: (kind.turns, kind.count, kind.mended) for kind in row.kinds} == FOUND
    assert row.rate("empty") == 0.2
    assert row.rate("glued_calls") == 0.0


def test_a_turn_that_goes_or_comes_again_is_counted_once() -> None:
    sessions, turns = _kept(), _turns()
    for turn in turns:
        sessions.put(turn)
    for turn in turns[:3]:
        sessions.discard(turn.id)
    (row,) = sessions.scorecard.conformance.rows()
    assert (row.turns, row.sound) == (7, 1)
    assert row.rate("empty") == 1 / 7
    for turn in turns:
        sessions.discard(turn.id)
    assert sessions.scorecard.conformance.rows() == []


def test_a_reply_that_is_coming_or_was_not_read_is_not_counted() -> None:
    flow = manyflows.flow_of("refused", [manyflows.user("go")], [b"busy"], told=False)
    assert not turn_of(record_of(flow, {"wire": "openai_chat"})).is_read
    assert not turn_of(record_of(flow, {})).is_read


def test_the_page_says_how_replies_came() -> None:
    sessions = _kept()
    report = report_page(sessions, "a file")
    live = next(block.html for block in live_overview(sessions) if block.key == "damage")
    for html in (report, live):
        assert "How replies came" in html
        cells = html.partition(">empty</span>")[2].partition("</tr>")[0]
        assert [f">{count}<" in cells for count in ("2", "20%", "0")] == [True] * 3
        assert "the reply holds neither text nor a call nor a refusal" in html


def test_exports_count_the_damage_of_each_exchange() -> None:
    lines = [jsonl.exchange_data(record_of(flow)) for flow in _flows()]
    by_name = dict(zip(REPLIES, lines, strict=True))
    assert by_name["sound"]["damage"] == by_name["text"]["damage"] == []
    assert by_name["quoted"]["damage"] == [{"code": "likely_meant", "count": 1, "mended": 0, "possible": True}]
    assert by_name["denied"]["damage"] == [{"code": "finish_denies_calls", "count": 1, "mended": 1, "possible": False}]
    assert by_name["wrong"]["damage"] == [{"code": "wrong_type", "count": 1, "mended": 0, "possible": False}]
    assert {line["server"] for line in lines} == {"gpu-box:8000"}
    assert all(isinstance(note.get("mended", True), bool) for line in lines for note in line["notes"])


def test_spans_name_the_damage_of_each_exchange() -> None:
    spans = [span for span in otel.spans_of(map(record_of, _flows())) if span.name.startswith("chat")]
    found = [(span.attributes or {}) for span in spans]
    damage = [tuple(one["toolcalls.damage"]) for one in found if "toolcalls.damage" in one]  # type: ignore[arg-type]
    assert sorted(damage) == sorted(
        [
            ("empty",),
            ("empty",),
            ("finish_denies_calls",),
            ("no_id",),
            ("wrong_type",),
            (IN_TEXT,),
            (IN_TEXT,),
            ("likely_meant",),
        ]
    )
    assert sum("toolcalls.mended" in one for one in found) == 3


def test_stats_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.flow"
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for flow in _flows():
            writer.add(flow)
    assert cli.main(["stats", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "kimi at gpu-box:8000: 10 replies, 3 without damage (30%)"
    assert "likely_meant 10% in 1 reply, 1 time, possibly lost" in [" ".join(line.split()) for line in said]
    assert " ".join(said[2].split()) == "empty 20% in 2 replies, 2 times, 0 mended"
    assert cli.main(["stats", "--json", str(path)]) == 0
    (server,) = json.loads(capsys.readouterr().out)["servers"]
    assert {code: (one["turns"], one["count"], one["mended"]) for code, one in server["damage"].items()} == FOUND
    assert server["damage"]["empty"]["rate"] == 0.2


def test_stats_of_flows_in_mitmproxy() -> None:
    table = outcome_counts(reports_by_server(_flows()))
    assert len({len(row) for row in table}) == 1
    assert ["empty, kimi at gpu-box:8000", "20% (2 of 10 replies), 0 mended"] in [row[:2] for row in table]
    lines = [line for (line,) in in_lines(table)]
    assert f"{IN_TEXT}, kimi at gpu-box:8000: 20% (2 of 10 replies), 3 times, 2 mended" in lines


def test_a_client_of_text_has_no_calls_in_the_wrong_place() -> None:
    verdict = {"status": "lowered", "reason": None, "dialect": "invoke", "repairs": []}
    leak = {"status": "declined", "reason": "undeclared", "dialect": "invoke", "repairs": []}
    assert damage_of({"verdicts": [verdict, leak]}, waits=False) == ()
    assert damage_of({"verdicts": [verdict, leak]}, waits=True) == (Damage(IN_TEXT, 1, 0),)


def test_a_native_call_that_never_came_whole_counts_by_its_reason() -> None:
    verdict = {"status": "truncated", "reason": "cut_off", "dialect": None, "repairs": []}
    assert damage_of({"verdicts": [verdict]}, waits=True) == (Damage("cut_off", 1, 0),)


def test_what_a_rule_noted_is_no_damage() -> None:
    notes = [{"rule": "access", "text": "", "warns": True}, {"rule": "empty", "text": "", "warns": True}]
    assert damage_of({"notes": notes}, waits=True) == (Damage("empty", 1, 0),)


def test_a_repair_of_another_name_mends_its_defect() -> None:
    verdict = {
        "status": "native",
        "reason": "glued_calls",
        "dialect": None,
        "repairs": ["shared_index"],
        "defects": [{"code": "glued_calls"}, {"code": "wrong_type"}, {"code": "wrong_type"}],
    }
    assert damage_of({"verdicts": [verdict]}, waits=True) == (Damage("glued_calls", 1, 1), Damage("wrong_type", 1, 0))


@pytest.mark.parametrize("code", [IN_TEXT, "wrong_type", *NOTES])
def test_each_kind_has_a_sentence(code: str) -> None:
    assert sentence_of(code)


def test_the_rows_are_bounded() -> None:
    found = Conformance()
    for number in range(ROWS + 20):
        found.add(f"m{number}", "s", ())
    rows = found.rows()
    assert len(rows) == ROWS + 1
    assert (rows[0].model, rows[0].turns) == (OTHERS, 20)


def test_kinds_stand_in_the_order_of_their_frequency() -> None:
    found = Conformance()
    for damage in ((Damage("empty", 1, 0),), (Damage("empty", 1, 0), Damage("no_id", 2, 2)), ()):
        found.add("", "", damage)
    (row,) = found.rows()
    assert (row.model, row.server, row.sound) == ("(not named)", "(not named)", 1)
    assert row.kinds == (Kind("empty", 2, 2, 0), Kind("no_id", 1, 2, 2))
