"""Calls and the ways to quote them: the cases of quoting.yaml and quoting_notations.yaml, and what each must be."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from support.casefiles import load
from support.sampling import some
from toolcalls.dialects import all_dialects
from toolcalls.events import Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CONTENT = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
TOOLS = (Tool("run_shell", COMMAND), Tool("write_file", CONTENT))
CALL = Call("run_shell", '{"command": "rm -rf build"}')
CASE = load("quoting")
NOTATIONS = load("quoting_notations")
A_FEW = ("hermes", "invoke", "tagged", "mistral")  # the last one begins with a special token, which counts in a line
POLICIES: tuple[PolicyName, ...] = ("standard", "strict")


@cache
def written(dialect: str, call: Call = CALL) -> str:
    """A call as a dialect writes it; "" where it cannot."""
    try:
        return write(dialect, (call,), Toolbox(TOOLS))
    except Unwritable:
        return ""


def filled(text: str, call: str) -> str | None:
    """A text with the call in its places; None where the call has lines and the place has room for one."""
    if "{line}" in text and "\n" in call:
        return None
    lines = call.split("\n")
    places = {
        "{call}": call,
        "{line}": call,
        "{indented}": "\n".join(f"    {line}" for line in lines),
        "{quoted}": "\n".join(f"> {line}" for line in lines),
        "{half}": call[: call.find("rm -rf") + 3],
    }
    for place, filling in places.items():
        text = text.replace(place, filling)
    return text


def read(text: str, policy: PolicyName = "standard", *, cut: bool = False, size: int = 0) -> list[Event]:
    """All events of a text, fed `size` characters at a time, 0 for all at once; with all dialects."""
    reader = Reader(CallPolicy(Route(client="native", upstream="text", policy=policy), Request(tools=TOOLS)))
    size = size or max(1, len(text))
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    return [*events, *reader.finish(cut=cut)]


def shown(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def verdicts(events: Iterable[Event]) -> list[Verdict]:
    return [event for event in events if isinstance(event, Verdict)]


def in_some(text: str) -> Iterator[tuple[str, str]]:
    """A text as some dialects fill it, each with its dialect; where there is room for one line, in one line."""
    for dialect in A_FEW:
        call = written(dialect)
        yield dialect, filled(text, call) or filled(text, call.replace("\n", "")) or ""


def reasons_for(case: Mapping[str, Any]) -> tuple[list[tuple[str, PolicyName]], set[str]]:
    """A quoted text read with the call of each dialect: those that make a call of it, and the reasons that all give."""
    made, common = [], None
    for dialect in DIALECTS:
        text = filled(case["text"], written(dialect))
        for policy in ("strict",) if case.get("anywhere") else POLICIES:
            if text is None:
                continue
            events = read(text, policy, cut=case.get("finish", "stop") != "stop")
            if calls_in(events):
                made.append((dialect, policy))
            if all_dialects()[dialect].place != "message":
                found = {verdict.reason for verdict in verdicts(events)} - {None}
                common = found if common is None else common & found
    return made, common or set()


def check_quoted(case: Mapping[str, Any]) -> None:
    """Assert that a case of `quoted` (quoting.yaml) makes no call, and why."""
    for dialect in some(DIALECTS, 25, case["text"]):
        text = filled(case["text"], written(dialect))
        for policy in ("strict",) if case.get("anywhere") else POLICIES:
            if text is None:
                continue
            events = read(text, policy, cut=case.get("finish", "stop") != "stop")
            assert not calls_in(events), (dialect, policy)
            assert shown(events) == text or "half" in case["text"], (dialect, policy)
            reasons = {verdict.reason for verdict in verdicts(events)}
            wanted = {case.get("reason")} - {None}
            if all_dialects()[dialect].place != "message":
                assert wanted <= reasons, (dialect, policy, reasons)


def check_followed(case: Mapping[str, Any]) -> None:
    """Assert that `strict` makes no call of a case of `followed`."""
    for dialect in some(DIALECTS, 25, case["text"]):
        text = filled(case["text"], written(dialect))
        assert text is not None
        events = read(text, "strict")
        assert not calls_in(events), dialect
        assert shown(events) == text, dialect


def check_called(case: Mapping[str, Any], policy: PolicyName) -> None:
    """Assert that a case of `calls` makes one call."""
    for dialect in some(DIALECTS, 25, case["text"]):
        if all_dialects()[dialect].place == "message" and not case.get("whole"):
            continue
        if policy == "strict" and dialect == "fenced_json":
            continue  # a fence is an example there
        text = filled(case["text"], written(dialect))
        assert text is not None
        _is_the_call(read(text, policy), dialect)


def check_other_notation(case: Mapping[str, Any]) -> None:
    """Assert that a case of `quoted` (quoting_notations.yaml) makes no call."""
    flag = case.get("flag")
    for dialect, whole in in_some(case["text"]):
        assert CALL.name in whole
        events = read(whole, "strict")
        assert not calls_in(events), dialect
        assert shown(events) == whole
        if flag == "late" or (flag and dialect == "mistral"):
            continue
        events = read(whole)
        assert not calls_in(events), dialect
        again = read(whole, size=3)
        assert (shown(again), verdicts(again)) == (shown(events), verdicts(events)), dialect


def check_called_behind(case: Mapping[str, Any], policy: PolicyName) -> None:
    """Assert that a case of `calls` (quoting_notations.yaml) makes one call."""
    for dialect, whole in in_some(case["text"]):
        _is_the_call(read(whole, policy), dialect)


def _is_the_call(events: Iterable[Event], dialect: str) -> None:
    made = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
    assert made == [(CALL.name, json.loads(CALL.arguments))], dialect


# What is escaped is quoted, to `strict`.
DIALECTS = [name for name in all_dialects() if written(name) and name != "invoke_escaped"]
# In `standard` the words after the call come too late.
TOO_LATE = {"Q19-hermes"}
