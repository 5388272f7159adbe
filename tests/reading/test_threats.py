"""Quoted text never becomes a call: every way to quote one, in every dialect, by every policy, with all dialects read.

Strategy: texts with places for a call (`cases/quoting.yaml`) are filled with the same call as each dialect writes it.
`strict` must find none where it is quoted, `standard` only where nothing but the words after it could tell, and both
must find the one that is made. So it goes with the texts of `cases/quoting_notations.yaml`, in a few dialects. Then the
rows of `shared/suites/threats.jsonl` that are about quoting (Q01 to Q26, P1 to P7), as they stand, and of
`real_ambiguous.jsonl` those whose recorded replies lie there too. The rest of the list: S rows (values that would break
out of their frame) go through each wire; X, J and B rows through the reader.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from support.casefiles import CaseFile, case_file
from support.casereports import no_mistakes
from support.chatclient import chunk, event
from support.growth import grows_with_its_input
from support.quoting import (
    CASE,
    DIALECTS,
    NOTATIONS,
    TOO_LATE,
    TOOLS,
    check_called,
    check_called_behind,
    check_followed,
    check_other_notation,
    check_quoted,
    filled,
    written,
)
from support.repository import REPO, shared_path
from support.sampling import share, smaller, some
from support.spoken import SPOKEN, Spoken, exchange, through
from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Markup, Text, Verdict
from toolcalls.insight.report import visible
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import PolicyName, Route, Taken
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in, write

POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")


def read(
    text: str,
    policy: PolicyName = "standard",
    *,
    request: Request | None = None,
    cut: bool = False,
    size: int = 0,
    take: tuple[Taken, ...] | None = None,
) -> list[Event]:
    """All events of a text, fed `size` characters at a time, 0 for all at once; with all dialects."""
    route = Route(client="native", upstream="text", policy=policy, take=take)
    reader = Reader(CallPolicy(route, request or Request(tools=TOOLS)))
    size = size or max(1, len(text))
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    return [*events, *reader.finish(cut=cut)]


def verdicts(events: Iterable[Event]) -> list[Verdict]:
    return [event for event in events if isinstance(event, Verdict)]


def shown(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def all_of(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text | Markup))


def reading(text: Callable[[int], str], size: int = 0) -> Callable[[int], Callable[[], object]]:
    """The work of reading a text as long as asked, `size` characters at a time, 0 for all at once."""

    def work(length: int) -> Callable[[], object]:
        made = text(length)
        return lambda: read(made, size=size)

    return work


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["title"]) for case in CASE[kind]]


@pytest.mark.parametrize("file", [pytest.param(case_file(name), id=name) for name in ("quoting", "quoting_notations")])
def test_a_file_has_the_format(file: CaseFile) -> None:
    """A case with a mistake fails here, and in no other test."""
    no_mistakes(file)


@pytest.mark.parametrize("case", cases("quoted"))
def test_a_quoted_call_is_none(case: Mapping[str, Any]) -> None:
    check_quoted(case)


def titled(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["title"]) for case in NOTATIONS[kind]]


@pytest.mark.parametrize("case", titled("quoted"))
def test_a_call_that_another_notation_quotes_is_none(case: Mapping[str, Any]) -> None:
    check_other_notation(case)


@pytest.mark.parametrize("policy", ["standard", "strict"])
@pytest.mark.parametrize("case", titled("calls"))
def test_a_call_behind_another_notation_is_one(case: Mapping[str, Any], policy: PolicyName) -> None:
    check_called_behind(case, policy)


# Where a token begins with a word, that only counts at the start of a line.
IN_A_LINE = [name for name in DIALECTS if all_dialects()[name].place == "anywhere" and not written(name)[0].isalpha()]
ON_LINES = frozenset({"cursor_composer"})  # whose line ends are part of the form
BEFORE = ("// ", "file:12:", "| x |", "I would never write ", "Sure.", "- item ", "a\\", "**b** ")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dialect", IN_A_LINE)
def test_strict_takes_a_special_token_at_the_start_of_a_line_only(dialect: str) -> None:
    call = written(dialect) if dialect in ON_LINES else written(dialect).replace("\n", "")
    for before in BEFORE:
        for text in (before + call, f"Look.\n{before}{call}\n"):
            for size in (0, 1, 5):
                events = read(text, "strict", size=size)
                assert not calls_in(events), before
                assert shown(events) == text
            assert len(calls_in(read(text))) == 1
            assert len(calls_in(read(text, "strict", take=("inline",)))) == 1
    for before in ("", "Sure.\n", "Sure.\n\n  ", "Hm.</think>"):
        assert len(calls_in(read(before + call, "strict"))) == 1, before


def test_behind_the_end_of_a_dialects_own_message_another_begins() -> None:
    for dialect, before in (
        ("cohere_cmd3", "<|START_RESPONSE|>Sure.<|END_RESPONSE|>"),
        ("kimi_k3", "<|open|>response<|sep|>Sure.<|close|>response<|sep|>"),
        ("inkling", "<|message_model|><|content_text|>Sure.<|end_message|>"),
        ("harmony", "<|channel|>final<|message|>Sure.<|end|>"),
        ("harmony", "Sure.<|end|>"),
    ):
        for size in (0, 1, 5):
            assert len(calls_in(read(f"{before}{written(dialect)}", "strict", size=size))) == 1, (dialect, size)


@pytest.mark.parametrize("case", cases("followed"))
def test_what_follows_a_call_says_that_it_is_quoted(case: Mapping[str, Any]) -> None:
    check_followed(case)


@pytest.mark.parametrize("policy", ["standard", "strict"])
@pytest.mark.parametrize("case", cases("calls"))
def test_a_call_is_one(case: Mapping[str, Any], policy: PolicyName) -> None:
    check_called(case, policy)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dialect", ["bare_json", "fenced_json", "harmony", "hermes", "invoke", "mistral", "pythonic"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_quotation_is_seen_however_it_is_cut(dialect: str, policy: PolicyName) -> None:
    for case in (*CASE["quoted"], *CASE["followed"], *CASE["calls"]):
        text = filled(case["text"], written(dialect))
        if text is None:
            continue
        cut = case.get("finish", "stop") != "stop"
        once, again = read(text, policy, cut=cut), read(text, policy, cut=cut, size=3)
        assert all_of(once) == text
        assert (calls_in(again), shown(again), verdicts(again)) == (calls_in(once), shown(once), verdicts(once)), case


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("fenced", "So:\n\n```\n{call}\n```\n"),
        ("indented_code", "So:\n\n{indented}\n"),
        ("inline_code", "So: `{line}` it is"),
        ("block_quote", "So:\n\n> {line}\n"),
        ("html_comment", "<!--\n{call}\n-->\n"),
        ("reasoning", "<think>\n{call}\n</think>\nwell"),
        ("inline", "So: {line}"),
    ],
)
def test_each_condition_can_be_dropped(reason: Taken, text: str) -> None:
    """One at a time, and no other with it."""
    call = '<tool_call>{"name": "run_shell", "arguments": {"command": "ls"}}</tool_call>'
    whole = filled(text, call)
    assert whole is not None
    assert [verdict.reason for verdict in verdicts(read(whole))] == [reason]
    for other in ("fenced", "indented_code", "inline_code", "block_quote", "html_comment", "reasoning", "inline"):
        events = read(whole, take=(other,))
        assert len(calls_in(events)) == (other == reason), other
    assert not calls_in(read(whole, "lenient", take=()))


def test_what_an_escaped_call_is() -> None:
    """It is read for what clients escape, and `strict` takes it for a quotation unless a route names the dialect."""
    text = "".join(
        {"<": "&lt;", ">": "&gt;"}.get(one, one)
        for one in '<invoke name="run_shell">\n<parameter name="command">ls</parameter>\n</invoke>'
    )
    assert len(calls_in(read(text))) == 1
    events = read(text, "strict")
    assert [verdict.reason for verdict in verdicts(events)] == ["escaped"]
    assert shown(events) == text
    assert len(calls_in(read(text, "strict", take=("escaped",)))) == 1
    reader = Reader(CallPolicy(Route(policy="strict", dialects=("invoke_escaped",)), Request(tools=TOOLS)))
    assert len(calls_in([*reader.feed(text), *reader.finish(cut=False)])) == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "tag",
    ["t\u043eol_call", "\u200btool_call", "tool\u200d_call", "tool_call\u00ad", "\uff54ool_call", "tool_ca\u217cl"],
    ids=["cyrillic", "zero width", "joiner", "soft hyphen", "fullwidth", "roman numeral"],
)
def test_a_tag_that_only_looks_like_one_is_none(tag: str, policy: PolicyName) -> None:
    """Q25, Q26. What is inside such a tag is no whole message, so it is no bare JSON either. A verdict tells."""
    text = f'So:\n<{tag}>\n{{"name": "run_shell", "arguments": {{"command": "ls"}}}}\n</{tag}>'
    take: tuple[Taken, ...] = ("undeclared",) if policy == "lenient" else ()
    for size in (0, 1, 2, 5):
        events = read(text, policy, take=take, size=size)
        assert not calls_in(events)
        assert shown(events) == text
        found = [(one.status, one.reason, text[one.start : one.end]) for one in verdicts(events)]
        assert found == [("declined", "look_alike", f"<{tag}>")]


LOOK_ALIKES = {
    "fullwidth brackets": ("\uff1ctool_call\uff1e", 0, 11),
    "a declared tool's tag": ("<run_sh\u0435ll>", 0, 11),
    "an attribute behind it": ('<inv\u200boke name="run_shell">', 0, 9),
    "in a line": ("It is <tool\u200b_call> here", 6, 18),
    "behind another bracket": ("<<t\u043eol_call>", 1, 12),
    "ASCII for a token of other characters": ("<\uff5ctool_call\uff5c>", 0, 13),
}
NO_LOOK_ALIKES = {
    "no tag": "a < \u0431 and <\u044d\u0442\u043e>",
    "another tag": "<t\u043eol_b\u043ex>",
    "only its beginning": "<tool_c\u0430",
    "too much that shows nothing": f"<tool{chr(0x200B) * 17}_call>",
    "a word in prose": "\u0410ction: \u0432\u0441\u0451",
    "ASCII": "<tulcall> <b>",
}


@pytest.mark.parametrize(("text", "start", "end"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_what_looks_like_a_tag_has_a_verdict_however_it_is_cut(text: str, start: int, end: int) -> None:
    for size in (0, 1, 3):
        events = read(text, size=size)
        assert [(one.reason, one.start, one.end) for one in verdicts(events)] == [("look_alike", start, end)]
        assert shown(events) == text


@pytest.mark.parametrize("text", NO_LOOK_ALIKES.values(), ids=NO_LOOK_ALIKES)
def test_what_looks_like_no_tag_has_none(text: str) -> None:
    for size in (0, 1, 3):
        events = read(text, size=size)
        assert not verdicts(events)
        assert shown(events) == text


def test_a_quoted_look_alike_is_quoted_and_a_call_behind_one_is_a_call() -> None:
    text = f"```\n<t\u043eol_call>\n```\n<t\u043eol_call>\n\n{written('hermes')}"
    for size in (0, 1, 7):
        events = read(text, size=size)
        assert [one.reason for one in verdicts(events)] == ["fenced", "look_alike", None]
        assert all_of(events) == text


def test_look_alikes_are_candidates_that_are_counted() -> None:
    """So many of them are no reply of a model, and cost no more than other text."""
    text = "<tool_ca\u217cl>" * 30_000
    events = read(text)
    assert len(verdicts(events)) == Route().max_candidates + 1
    assert shown(events) == text
    grows_with_its_input(reading(lambda size: text[:size]), smaller(len(text) // 16))


def test_text_waits_only_while_it_may_look_like_a_tag() -> None:
    reader = Reader(CallPolicy(Route(client="native", upstream="text"), Request(tools=TOOLS)))
    waits = {}
    for piece in ("\u4f60\u597d\u3010\u300a", "\uff1c", "t", "\u043e", "x", "<", "\u200b", "9"):
        waits[piece] = shown(reader.feed(piece))
    assert waits == {
        "\u4f60\u597d\u3010\u300a": "\u4f60\u597d\u3010\u300a",
        "\uff1c": "", "t": "", "\u043e": "", "x": "\uff1ct\u043ex", "<": "", "\u200b": "", "9": "<\u200b9",
    }  # fmt: skip


def test_a_native_call_that_was_text_before_does_not_leave() -> None:
    """The text call was out when the native one came. The other way round the text stays (`replies/test_twins.py`)."""
    wire = all_wires()["openai_chat"]
    call = '<tool_call>\n{"name": "run_shell", "arguments": {"command": "ls"}}\n</tool_call>'
    for arguments, reason in (('{ "command": "ls" }', "repeated"), ('{"command": "ls -a"}', None)):
        entry = {"index": 0, "id": "call_x", "function": {"name": "run_shell", "arguments": arguments}}
        body = b"".join(
            event(part) for part in (chunk({"content": call}), chunk({"tool_calls": [entry]}), chunk({}, "tool_calls"))
        )
        for take in (None, ("duplicate",)):
            route = Route(client="native", upstream="text", take=take)
            one = exchange(SPOKEN["openai_chat"], TOOLS, route)
            through(one, body + b"data: [DONE]\n\n")
            found = [(verdict.status, verdict.reason) for _, verdict in one.verdicts]
            kept = ("blocked", reason) if reason and not take else ("native", None)
            assert found == [("lifted", None), kept], wire.name


# --- the shared list --------------------------------------------------------------------------------------------------


@cache
def rows() -> dict[str, dict[str, Any]]:
    lines = shared_path("suites/threats.jsonl").read_bytes().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@cache
def their_tools() -> tuple[Tool, ...]:
    tools = json.loads(shared_path("suites/threats-tools.json").read_text(encoding="utf-8"))
    return tuple(Tool(tool["function"]["name"], tool["function"]["parameters"]) for tool in tools)


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    found = [row for row in rows().values() if row["category"] in kinds]
    assert {row["category"] for row in found} == set(kinds)
    return found


def read_row(row: Mapping[str, Any], policy: PolicyName, size: int) -> list[Event]:
    tools = their_tools() if row.get("tools") != [] else ()
    quotable = (row["request_tool_result"],) if "request_tool_result" in row else ()
    request = Request(tools=tools, tool_choice=row.get("tool_choice", "auto"), quotable=quotable)
    return read(row["assistant_text"], policy, request=request, cut=row.get("finish_reason") == "length", size=size)


REASON = {
    "Q01": "fenced", "Q02": "fenced", "Q03": "fenced", "Q04": "fenced", "Q05": "indented_code", "Q06": "inline_code",
    "Q07": "block_quote", "Q08": "html_comment", "Q09": "reasoning", "Q11": "inline", "Q12": "inline",
    "Q13": "undeclared", "Q14": "tool_choice_none", "Q15": "no_tools", "Q20": "echo", "Q22": "fenced",
}  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_quoting_rows(policy: PolicyName, size: int) -> None:
    for row in of_kind("quoting", "control"):
        events = read_row(row, policy, size)
        made = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
        if policy == "standard" and row["id"] in TOO_LATE:
            assert len(made) == 1
            continue
        wanted = [(row["expect_name"], row["expect_args"])] if row["expect_calls"] else []
        assert made == wanted, row["id"]
        if row.get("text_must_survive"):
            assert all_of(events) == row["assistant_text"]
        if not wanted and row["id"][:3] != "Q17":
            assert shown(events) == row["assistant_text"], row["id"]
        if row["id"][:3] in REASON:
            assert [verdict.reason for verdict in verdicts(events)] == [REASON[row["id"][:3]]], row["id"]


def test_real_replies_that_look_like_calls() -> None:
    """Recorded replies of real models with markup that is no call; those that lie in `shared/` as streams."""
    lines = shared_path("suites/real_ambiguous.jsonl").read_bytes().splitlines()
    wanted = {row["id"]: row for row in map(json.loads, lines)}
    seen = set()
    for path in sorted(shared_path("suites/streams").glob("*.jsonl")):
        wire = all_wires().get(path.stem.replace("-", "_"))
        for line in path.read_bytes().splitlines() if wire is not None else ():
            row = json.loads(line)
            if row["id"] not in wanted or wire is None:
                continue
            seen.add(row["id"])
            request = request_of(wire, json.dumps(row.get("request") or {"messages": []}).encode())
            for policy in POLICIES:
                route = Route(client="native", upstream="text", policy=policy)
                call_policy, tools = call_policy_of(route, request, decide(route, request, {}, ()))
                exchange = Exchange(wire, call_policy, decide(route, request, {}, ()), tools, form="sse")
                exchange.feed(row["body"].encode("utf-8", "surrogatepass"))
                exchange.close()
                assert not [one for _, one in exchange.verdicts if one.status == "lifted"], (row["id"], policy)
    if not seen:
        pytest.skip("none of the recorded replies lies in shared/suites/streams")


# --- values: arguments are what the model wrote -----------------------------------------------------------------------


def lifted_value(value: str, dialect: str) -> str | None:
    """The value of a call's argument after reading it from a dialect's text; None where no call was made."""
    text = written(dialect, Call("run_shell", json.dumps({"command": value})))
    made = calls_in(read(text, size=5))
    return json.loads(made[0].arguments)["command"] if made else None


@pytest.mark.parametrize("dialect", ["invoke", "hermes", "forge", "tagged", "pythonic", "harmony", "mistral"])
def test_values_of_the_list_survive(dialect: str) -> None:
    """S00 to S09, X00 to X11: what a value holds reaches the call exactly, or nothing is called."""
    held = 0
    for row in of_kind("sse-injection", "argument-value"):
        if row["id"] in {"S20", "S21"}:
            continue
        value = lifted_value(row["value"], dialect)
        assert value in {None, row["value"]}, (row["id"], value)
        held += value is not None
    assert held >= 5


def test_json_arguments_keep_their_spelling() -> None:
    """J00 to J11, in hermes: strict JSON passes character for character; what is repaired is named."""
    for row in of_kind("json-arguments"):
        text = f'<tool_call>\n{{"name": "run_shell", "arguments": {row["value"]}}}\n</tool_call>'
        events = read(text)
        made = calls_in(events)
        try:
            json.loads(row["value"], parse_constant=lambda _: 1 / 0)
            strict = True
        except (ValueError, ZeroDivisionError):
            strict = False
        if strict:
            assert [call.arguments for call in made] == [row["value"]], row["id"]
        elif made:
            assert verdicts(events)[0].repairs, row["id"]
        else:
            assert row["value"] in shown(events) or verdicts(events)[0].reason == "bad_arguments", row["id"]


def test_xml_files_are_text() -> None:
    """T4: documents made against XML parsers, as values of the dialects that look like XML, also many times."""
    lines = shared_path("suites/xml_attacks.jsonl").read_bytes().splitlines()
    for row in map(json.loads, some(lines, 6, "XML")):
        value = base64.b64decode(row["body_b64"])[:100_000].decode("utf-8", "replace")
        for dialect in ("invoke", "forge", "tagged"):
            got = lifted_value(value, dialect)
            assert got in {None, value}, (row["name"], dialect)
            many = written(dialect, Call("run_shell", json.dumps({"command": (value * 2000)[:2000]})))
            grows_with_its_input(reading(lambda size, many=many: many[:size], 5), len(many) // 4)


def test_naughty_strings_survive() -> None:
    lines = shared_path("suites/naughty_strings.jsonl").read_bytes().splitlines()
    for value in (json.loads(line)["value"] for line in some(lines, 120, "naughty strings")):
        for dialect in ("invoke", "hermes"):
            assert lifted_value(value, dialect) in {None, value}, (value, dialect)


@pytest.mark.parametrize(
    ("first", "repeated", "count"),
    [
        pytest.param("", "<tool_call>", 95_325, id="B01"),
        pytest.param("", "<function=a>", 87_381, id="B02"),
        pytest.param("", "<function=run_shell>\n", 40_000, id="B02 at line starts"),
        pytest.param("", "<a>", 100_000, id="B07"),
        pytest.param('<tool_call>{"name": "run_shell", "arguments": ', "[", 100_000, id="B08"),
        pytest.param("", "[", 100_000, id="B08 bare"),
        pytest.param("", "Thought: a\nAction: b\n", 381, id="B10"),
    ],
)
def test_texts_made_to_be_slow_are_not(first: str, repeated: str, count: int) -> None:
    """The work grows with the text, with the limits that routes have; `reading/test_linear.py` does without these."""
    count = smaller(count)
    text = first + repeated * count
    events = read(text)
    assert not calls_in(events)
    assert all_of(events) == text
    grows_with_its_input(reading(lambda count: first + repeated * count), count // 16)


# --- nothing breaks out -----------------------------------------------------------------------------------------------

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
DISPLAYED = {
    "L00": "\x1b[31mred\x1b[0m",
    "L02": "\x1b]52;c;ZWNobw==\x07",
    "L03": "\x1b]8;;http://example.invalid\x07click\x1b]8;;\x07",
    "L05": "\x9b31mred",
    "L06": "\x9d0;t\x9c",
    "L07": "\u202egnp.exe",
    "L08": "\u2066x\u2069",
    "L09": "safe line\rFAKE OK",
    "L10": "x\n[12:00:00] all is well",
    "L11": "a\u200bb",
    "L12": "\x7f\x00",
}


@pytest.mark.parametrize("value", DISPLAYED.values(), ids=DISPLAYED)
def test_what_is_shown_is_one_line_of_visible_characters(value: str) -> None:
    assert not HIDDEN.search(visible(value))


def test_display_rows() -> None:
    """L00 to L17."""
    for row in of_kind("display"):
        assert not HIDDEN.search(visible(row["value"])), row["id"]


# What a value, a name and an id of the model could hold to end an event, a line or a string (S00 to S21, in own words).
BREAKING = {
    "event": 'a\n\ndata: {"choices":[]}\n\n',
    "carriage return": "a\rdata: [DONE]\r\r",
    "CRLF": "a\r\n\r\nevent: error\r\ndata: {}\r\n\r\n",
    "line separators": "\u2028data: x\u2029\n\n",
    "NUL": "a\x00b",
    "BOM": "\ufeffdata: 1\n\n",
    "next line": "\x85data: x\x85",
    "quotes": 'a"},{"b":"',
    "backslash": "a\\",
}


def broken_out(spoken: Spoken, value: str, size: int) -> None:
    """A value of a call, and of a text beside it: one call, one text, exactly as they were written."""
    call = f'<tool_call>\n{{"name": "run_shell", "arguments": {json.dumps({"command": value})}}}\n</tool_call>'
    text = f"I say {value!r}.\n\n"
    pieces = [text, *(call[at : at + 9] for at in range(0, len(call), 9))]
    one = exchange(spoken, TOOLS)
    out = through(one, spoken.said(pieces), size)
    assert one.failure is None
    assert spoken.heard(out) == (text, [("run_shell", {"command": value})])
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id_) for id_ in spoken.ids(out))


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize("value", BREAKING.values(), ids=BREAKING)
def test_a_value_stays_inside_its_string(spoken: Spoken, value: str) -> None:
    for size in (0, 11):
        broken_out(spoken, value, size)


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
def test_rows_that_would_break_out(spoken: Spoken) -> None:
    """S00 to S09."""
    for row in of_kind("sse-injection"):
        if row["id"] not in {"S20", "S21"}:
            broken_out(spoken, row["value"], 13)


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
@pytest.mark.parametrize(
    "name", ["run_shell\n\ndata: [DONE]\n\n", "run\rshell", 'x","arguments":"', "\x9b2J", "a" * 300]
)
def test_a_name_that_is_not_declared_stays_text(spoken: Spoken, name: str) -> None:
    """S20: also where undeclared names are taken, the name stays inside its string."""
    call = f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {{"command": "ls"}}}}\n</tool_call>'
    one = exchange(spoken, TOOLS)
    assert spoken.heard(through(one, spoken.said([call]))) == (call, [])
    route = Route(client="native", upstream="text", policy="lenient")
    out = through(exchange(spoken, TOOLS, route), spoken.said([call]))
    _, calls = spoken.heard(out)
    assert [arguments for _, arguments in calls] in ([], [{"command": "ls"}])


def test_an_id_that_a_model_writes_is_not_used() -> None:
    """S21, F20, F21: ids and numbers are our own."""
    spoken = SPOKEN["openai_chat"]
    call = '<tool_call>\n{"id": "call_1\\nevent: x", "name": "run_shell", "arguments": {"command": "ls"}}\n</tool_call>'
    out = through(exchange(spoken, TOOLS), spoken.said([call, "\n", call]))
    ids = spoken.ids(out)
    assert len(ids) == len(set(ids)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id_) for id_ in ids)


# --- what was cut off -------------------------------------------------------------------------------------------------

SOME = Tool(
    "run_shell", {"properties": {"command": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}}
)


CUT_OFF = ['{"command": "rm -rf /tmp/a"}', '{"command": "", "n": 125, "o": {"a": [1]}}']


@pytest.mark.parametrize(("turn", "arguments"), [*enumerate(CUT_OFF)])
@pytest.mark.parametrize("dialect", all_dialects())
def test_no_call_comes_of_a_reply_that_was_cut_off(dialect: str, turn: int, arguments: str) -> None:
    """Q17, F06, I6: wherever a call is cut, only calls that were whole before it are made. Every other place is tried,
    and of the other arguments those between."""
    calls = [Call("run_shell", arguments)] * 2
    text = ""
    for several in (calls, calls[:1]):
        with suppress(Unwritable):
            text = text or write(dialect, several, Toolbox((SOME,)))
    request = Request(tools=(SOME,))
    whole = calls_in(read(text, request=request))
    for place in some(share(range(len(text)), turn, len(CUT_OFF)), 10, f"cuts {dialect}"):
        part = calls_in(read(text[:place], request=request, cut=True))
        assert part == whole[: len(part)], text[:place]


# --- every threat has its tests ---------------------------------------------------------------------------------------

HELD: dict[str, tuple[str, ...]] = {
    "T1 quoted or injected markup becomes a call": (
        "reading/test_threats.test_a_quoted_call_is_none",
        "text/test_echo.test_an_echo_is_text",
    ),
    "T2 secrets in recordings and logs": (
        "mitm/test_leaks.test_no_secret_stands_in_anything_that_is_written",
        "mitm/test_leaks.test_rows_of_secrets",
    ),
    "T3 line breaks end an event": (
        "reading/test_threats.test_a_value_stays_inside_its_string",
        "reading/test_threats.test_rows_that_would_break_out",
    ),
    "T4 entities, CDATA": (
        "reading/test_threats.test_xml_files_are_text",
        "reading/test_threats.test_values_of_the_list_survive",
    ),
    "T5 quadratic work": (
        "reading/test_threats.test_texts_made_to_be_slow_are_not",
        "reading/test_linear.test_reading_is_linear",
    ),
    "T6 unbounded holding": (
        "reading/test_limits.test_no_dialect_holds_more_than_the_limit",
        "reading/test_limits.test_memory_does_not_grow_with_a_reply_that_passes",
    ),
    "T7 terminals and logs": (
        "reading/test_threats.test_display_rows",
        "mitm/test_outputs.test_nothing_hidden_stands_in_any_output",
    ),
    "T8 pages": ("live/test_report_page.test_hostile_text_is_text",),
    "T9 arguments are altered": (
        "reading/test_threats.test_json_arguments_keep_their_spelling",
        "reading/test_threats.test_naughty_strings_survive",
    ),
    "T10 listeners and relays": (
        "mitm/test_leaks.test_which_listeners_the_network_reaches",
        "mitm/test_leaks.test_where_a_request_goes_is_never_changed",
    ),
    "T11 files": (
        "mitm/test_leaks.test_a_link_is_not_followed",
        "mitm/test_leaks.test_a_link_is_replaced_by_what_is_written",
    ),
    "T12 replay reaches real servers": (
        "live/test_traps.test_server_replay_gives_the_same_verdicts",
        "mitm/test_leaks.test_offline_commands_open_no_connection",
    ),
    "T13 the CA's key": ("mitm/test_leaks.test_a_folder_for_keys_is_its_owners_alone",),
    "T14 ids and numbers from traffic": ("reading/test_threats.test_an_id_that_a_model_writes_is_not_used",),
    "Q": ("reading/test_threats.test_quoting_rows",),
    "P": ("reading/test_threats.test_quoting_rows",),
    "S": (
        "reading/test_threats.test_rows_that_would_break_out",
        "reading/test_threats.test_a_name_that_is_not_declared_stays_text",
    ),
    "X": ("reading/test_threats.test_values_of_the_list_survive",),
    "J": ("reading/test_threats.test_json_arguments_keep_their_spelling",),
    "B01 B02 B07 B08 B10": ("reading/test_threats.test_texts_made_to_be_slow_are_not",),
    "B03 a long argument in small pieces": ("reading/test_limits.test_memory_does_not_grow_with_a_reply_that_passes",),
    "B04 a line without an end": ("reading/test_limits.test_a_line_without_an_end_is_held_up_to_its_limit",),
    "B05 many small events": ("reading/test_linear.test_an_exchange_is_linear",),
    "B06 a call that is never closed": ("reading/test_limits.test_no_dialect_holds_more_than_the_limit",),
    "B09 a decompression bomb": ("reading/test_limits.test_a_piece_decodes_to_no_more_than_its_limit",),
    "L": (
        "reading/test_threats.test_display_rows",
        "mitm/test_leaks.test_one_record_is_one_line",
        "mitm/test_leaks.test_a_name_of_a_megabyte_is_cut",
    ),
    "K": ("mitm/test_leaks.test_rows_of_secrets",),
    "R00 R01 R02 a name that leads elsewhere": ("mitm/test_leaks.test_no_name_of_a_file_comes_from_traffic",),
    "R03 a link in the place of a file": (
        "mitm/test_leaks.test_a_link_is_not_followed",
        "mitm/test_leaks.test_a_link_is_replaced_by_what_is_written",
    ),
    "R04 an object in a file": ("mitm/test_leaks.test_a_configuration_is_data_only",),
    "R05 a header that holds another": ("mitm/test_leaks.test_a_header_that_holds_another_stays_one",),
    "R06 a replay that reaches the network": ("mitm/test_leaks.test_offline_commands_open_no_connection",),
    "R07 a body without an end": (
        "mitm/test_traps.test_a_body_that_is_too_large_to_keep_passes_all_the_same",
        "mitm/test_addon.test_a_full_disk_stops_the_log_and_nothing_else",
    ),
    "R08 files that others can read": (
        "mitm/test_leaks.test_the_journal_is_its_owners_alone",
        "mitm/test_leaks.test_no_secret_stands_in_anything_that_is_written",
    ),
    "R09 two processes, one file": ("mitm/test_leaks.test_two_processes_tear_no_line",),
    "R10 a torn record": ("mitm/test_leaks.test_a_torn_record_loses_only_itself",),
    "R11 a newer version": ("mitm/test_leaks.test_a_newer_version_is_refused",),
    "N00 the address": (
        "mitm/test_leaks.test_which_listeners_the_network_reaches",
        "mitm/test_leaks.test_the_documented_commands_listen_on_loopback",
    ),
    "N01 an open relay": (
        "mitm/test_leaks.test_where_a_request_goes_is_never_changed",
        "mitm/test_leaks.test_a_listener_without_a_password_gets_a_warning",
    ),
    "N02 an old mitmproxy": ("live/test_addon.test_an_old_mitmproxy_is_refused_in_one_line",),
    "N03 a certificate that is wrong": ("mitm/test_leaks.test_nothing_switches_a_check_off",),
    "N04 the CA's folder": ("mitm/test_leaks.test_a_folder_for_keys_is_its_owners_alone",),
    "N05 HTTP/2": ("live/test_traps.test_http_2_on_both_sides",),
    "N06 a page that asks other hosts": ("live/test_report_page.test_the_file_is_whole_in_itself",),
    "N07 a configuration that others may write": (
        "mitm/test_leaks.test_a_configuration_that_anybody_may_write_gets_a_warning",
    ),
    "N08 code from traffic": ("mitm/test_leaks.test_nothing_is_evaluated",),
}


def test_every_threat_has_its_tests() -> None:
    """Each row of the list is held by tests that exist."""
    defined: set[str] = set()
    for path in (REPO / "tests").rglob("test_*.py"):
        names = re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        defined |= {f"{path.relative_to(REPO / 'tests').with_suffix('')}.{name}" for name in names}
    named = {test for tests in HELD.values() for test in tests}
    assert named - defined == set()
    known = {word for row in HELD for word in row.split() if re.fullmatch(r"[A-Z]\d*", word)}
    assert known >= {f"T{number}" for number in range(1, 15)}
    missing = [id_ for id_ in rows() if id_.partition("-")[0] not in known and id_[0] not in known]
    assert not missing
