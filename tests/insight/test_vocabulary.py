"""The vocabulary: every code that the hub declares has its entry, and every entry says all that people need of it.

Reading `words.toml` refuses a code that is not declared, and an entry without one of its fields. Here the two are held
to each other, and to what the code does: what is written into a verdict past the types, and what the cases and the
recordings hold.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from mitmproxy import flowfilter, http
from mitmproxy.io import FlowReader
from mitmproxy.test import tflow

from support.casefiles import dialect_cases
from support.processorcases import exchange_for, route_of
from support.repository import REPO
from toolcalls import insight
from toolcalls.dialects import all_dialects
from toolcalls.events import Reason, Repair, ReplyDefect, Status
from toolcalls.flows import flow_metadata
from toolcalls.insight import report
from toolcalls.insight.vocabulary import fields
from toolcalls.insight.vocabulary.entries import NO_REMEDY, ConditionNumber, Outcome, ReasonEntry
from toolcalls.insight.vocabulary.fields import EXCHANGE_FIELDS, FIELDS, VERDICT_FIELDS
from toolcalls.insight.vocabulary.words import (
    CONDITIONS,
    FILE,
    NOTES,
    OUTCOMES,
    REASONS,
    REPAIRS,
    REPLY_STATUSES,
    STATUSES,
    words_of,
)

pytestmark = pytest.mark.whole

ADDON = REPO / "addon" / "toolcalls"
CODES = {"status": set(get_args(Status)), "reason": set(get_args(Reason)), "repairs": set(get_args(Repair))}


@pytest.mark.parametrize(
    ("declared", "table"),
    [
        (get_args(Status), STATUSES),
        (get_args(Reason), REASONS),
        (get_args(Repair), REPAIRS),
        (get_args(ReplyDefect), NOTES),
        (get_args(Outcome), OUTCOMES),
    ],
    ids=["statuses", "reasons", "repairs", "notes", "outcomes"],
)
def test_each_code_has_one_entry(declared: tuple[str, ...], table: dict[str, Any]) -> None:
    missing = [code for code in declared if code not in table]
    assert not missing, f"declared without an entry in {FILE.name}: {', '.join(missing)}"
    assert list(table) == list(declared), f"{FILE.name} has the order of the declaration"


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("[reason.fenced]", "[reason.fencd]", "Invalid enum value 'fencd'"),
        ('outcomes = { declined = "leak" }', 'outcomes = { declined = "leek" }', "Invalid enum value 'leek'"),
        ("condition = 4", "condition = 8", "Invalid enum value 8"),
        ("[repair.alias]\nsentence", "[repair.alias]\nsentense", "unknown field `sentense`"),
        ('mark = "eyes"', "", "missing required field `mark`"),
        ("[note.empty]", "[note.empty", "Expected"),
    ],
)
def test_a_mistake_in_an_entry_is_found(was: str, becomes: str, said: str) -> None:
    text = FILE.read_text(encoding="utf-8")
    assert was in text
    with pytest.raises(ValueError, match=re.escape(said)):
        words_of(text.replace(was, becomes, 1))


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('[field.agent]\ndocs = "the', '[field.agent]\ndosc = "the', "docs"),
        ("in_log = true", "in_lock = true", "unknown field `in_lock`"),
        ('type = "text_or_null"', 'type = "text_or_nothing"', "text_or_nothing"),
        ('presence = "later"', 'presence = "soon"', "Invalid enum value 'soon'"),
        ("[field.flow]", "[field.flow", "Expected"),
    ],
)
def test_a_mistake_in_a_field_is_found(was: str, becomes: str, said: str) -> None:
    text = fields.FILE.read_text(encoding="utf-8")
    assert was in text
    with pytest.raises((ValueError, KeyError), match=re.escape(said)):
        fields.fields_of(text.replace(was, becomes, 1))


def test_each_condition_has_its_words() -> None:
    assert tuple(CONDITIONS) == get_args(ConditionNumber)


def _sentences() -> Iterator[tuple[str, str]]:
    for table in (REASONS, REPAIRS, OUTCOMES):
        yield from ((code, entry.sentence) for code, entry in table.items())
    yield from ((code, words) for code, words in ((str(number), words) for number, words in CONDITIONS.items()))
    for code, status in STATUSES.items():
        for one in (status.native, status.text):
            yield from ((code, words) for words in (one.model, one.client, one.became))
    for code, reason in REASONS.items():
        yield code, reason.in_docs or reason.sentence
        yield code, reason.subject.name
        if reason.remedy != NO_REMEDY:
            yield code, reason.remedy.setting


def test_words_go_on_in_a_sentence() -> None:
    """They come after a colon, a comma or "the model"."""
    sentences = [*_sentences()]
    assert sentences
    for code, words in sentences:
        assert re.fullmatch(r"[a-z`].*[^.\s]", words, re.DOTALL), f"{code}: {words!r}"
        assert words.format(dialect="invoke"), code


@pytest.mark.parametrize("entry", REASONS.values(), ids=lambda entry: entry.code)
def test_each_reason_says_how_it_counts(entry: ReasonEntry) -> None:
    assert entry.outcomes, "with which statuses does it come?"
    for status, outcome in entry.outcomes.items():
        usual = STATUSES[status].outcome
        damaged = status in {"native", "lowered", "lifted"} and outcome == "broken"
        assert outcome == usual or outcome == "decline" or damaged, f"{status} counts as {usual}, or as no call at all"


def test_each_status_has_a_place_of_its_own() -> None:
    severities = [one.severity for one in STATUSES.values()] + [one.severity for one in REPLY_STATUSES.values()]
    assert sorted(severities) == list(range(len(severities)))
    assert sorted(one.in_summary for one in STATUSES.values()) == list(range(len(STATUSES)))


def test_the_page_has_a_colour_for_each_outcome() -> None:
    style = (Path(insight.__file__).parent / "page.css").read_text(encoding="utf-8")
    assert all(f"--{code}:" in style and f".legend .{code} " in style for code in OUTCOMES)


def _written(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The codes that a module writes into a verdict as keyword arguments, with the name of the field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in CODES:
                    for constant in ast.walk(keyword.value):
                        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                            yield keyword.arg, constant.value


@pytest.mark.parametrize("folder", ["processors", "reading", "replies", "writing"])
def test_what_is_written_into_a_verdict_is_declared(folder: str) -> None:
    """`msgspec.structs.replace` takes any keyword, so mypy does not see it."""
    found = [
        (str(path.relative_to(ADDON)), field, code)
        for path in sorted((ADDON / folder).rglob("*.py"))
        for field, code in _written(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert [one for one in found if one[2] not in CODES[one[1]]] == []


def test_an_undeclared_code_is_found() -> None:
    tree = ast.parse('replace(verdict, status="blocked", reason="new" if a else "loop", repairs=("newer",))')
    assert list(_written(tree)) == [("status", "blocked"), ("reason", "new"), ("reason", "loop"), ("repairs", "newer")]


def _recorded() -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """Status, reason and repairs of the verdicts in the dialects' cases and in the recordings."""
    for case in (case for name in all_dialects() for case in dialect_cases(name)):
        yield from ((status, reason, ()) for status, reason, _, _ in case.verdicts)
    for path in sorted((REPO / "recordings").rglob("*.flow")):
        with path.open("rb") as file:
            for flow in FlowReader(file).stream():
                assert isinstance(flow, http.HTTPFlow)
                for verdict in flow.metadata.get(flow_metadata.REPORT, {}).get("verdicts", ()):
                    yield verdict["status"], verdict["reason"], tuple(verdict["repairs"])


def test_verdicts_are_as_their_entries_say() -> None:
    found = set(_recorded())
    assert {status for status, _, _ in found} >= CODES["status"] - {"blocked"}, "too little is looked at"
    for status, reason, repaired in found:
        assert reason is None or status in REASONS[reason].outcomes, f"{reason} comes with {status}"
        assert set(repaired) <= REPAIRS.keys()


# --- fields -----------------------------------------------------------------------------------------------------------


def _report() -> dict[str, Any]:
    """The report of a reply with a call that is blocked, one that is lifted, one that is fenced, one misspelt and one
    that is not closed, and a native one that came damaged.
    """
    call = '<invoke name="{}">\n<parameter name="command">ls</parameter>\n</invoke>'
    fenced = f"```\n{call.format('Bash')}\n```"
    broken = '<invoke name="Bash">\n<parameter name="command">ls'
    text = "\n\n".join([call.format("list_files"), call.format("Bash"), fenced, call.format("Bahs"), broken])
    rules = {"access": {"rules": [{"name": "no-list", "action": "block", "tools": "list_files"}]}}
    exchange = exchange_for(route_of(rules), "lift", "whole")
    native = {"id": "n", "type": "function", "function": {"name": "Bash", "arguments": ""}}
    message = {"content": text, "tool_calls": [native]}
    exchange.feed(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())
    exchange.close()
    made = report.make_report(exchange, model="a model")
    meant = exchange_for(route_of({}), "lift", "whole")
    meant.feed(json.dumps({"choices": [{"message": {"content": fenced}, "finish_reason": "stop"}]}).encode())
    meant.close()
    return {**made, "verdicts": [*made["verdicts"], *report.make_report(meant)["verdicts"]]}


def test_the_report_has_the_fields_that_are_declared() -> None:
    made = _report()
    assert made.keys() - EXCHANGE_FIELDS.keys() == {"guarded"}
    assert {name for name, field in EXCHANGE_FIELDS.items() if field.in_report} <= made.keys()
    fields = {name for name, field in VERDICT_FIELDS.items() if field.in_report}
    assert {name for verdict in made["verdicts"] for name in verdict} == fields


def test_the_docs_name_the_fields_of_the_report_and_of_the_log() -> None:
    page = (REPO / "docs" / "log.md").read_text(encoding="utf-8")

    def named(begin: str, end: str) -> set[str]:
        return set(re.findall(r"`([a-z_]+)`", page.partition(begin)[2].partition(end)[0]))

    fields = {name for name, field in VERDICT_FIELDS.items() if field.in_report}
    assert named("Each of `verdicts` has", "Bodies and arguments") == fields
    logged = {field.path.rpartition(".")[2] for field in FIELDS if field.in_log}
    table = page.partition("<!-- log fields:")[2].partition("<!-- end of log fields")[0]
    beside = named("Beside these fields a line has", ":\n")
    assert beside | set(re.findall(r"^\| `([a-z]+)`", table, re.MULTILINE)) == logged | {"time", "host", "path"}
    filters = (REPO / "docs" / "commands.md").read_text(encoding="utf-8").partition("\n## Filters\n")[2]
    words = {f"{field.filter_word}:" for field in FIELDS if field.filter_word} - {"reason:"}
    assert set(re.findall(r"`(\w+:)`", filters.partition("\n## ")[0])) == words


@pytest.mark.parametrize(
    ("expression", "finds"),
    [
        ("~meta reason:fenced", True),
        ("~meta reason:inline", False),
        ("~meta dialect:invoke", True),
        (r"~meta dialect:invoke\b", True),
        (r"~meta dialect:invo\b", False),
        ("~meta status:lifted", True),
        ("~meta status:native", False),
        ("~meta rule:no-list", True),
        ("~meta name:Bash", True),
        ("~meta model:a_model", True),
        ("~meta wire:openai_chat & ~meta kind:lift", True),
        ("""~meta "'dialect': 'invoke'" """, True),
    ],
)
def test_filters_find_a_reply_by_plain_words(expression: str, finds: bool) -> None:
    flow = tflow.tflow(resp=True)
    flow_metadata.annotate(flow, _report())
    assert bool(flowfilter.match(expression, flow)) is finds
    flow_metadata.clear(flow)
    assert not flowfilter.match(expression, flow)


def test_the_docs_name_the_reasons_that_are_no_leak() -> None:
    page = (REPO / "docs" / "exports.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"A leak is `declined` for a reason other than (.*?), in a reply", page, re.DOTALL)
    no_leak = {code for code, entry in REASONS.items() if entry.outcomes.get("declined") == "decline"}
    assert set(re.findall(r"`(\w+)`", listed)) == no_leak
