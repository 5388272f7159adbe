"""Calls and the ways to quote them: the cases of quoting.yaml."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from support.casefiles import load
from toolcalls.dialects import all_dialects
from toolcalls.events import Verdict
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


def in_some(text: str) -> Iterator[tuple[str, str]]:
    """A text as some dialects fill it, each with its dialect; where there is room for one line, in one line."""
    for dialect in A_FEW:
        call = written(dialect)
        yield dialect, filled(text, call) or filled(text, call.replace("\n", "")) or ""


def reasons_for(case: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """A quoted text read with the call of each dialect: those that make a call of it, and the reasons that all give."""
    made, common = [], None
    for dialect in DIALECTS:
        text = filled(case["text"], written(dialect))
        for policy in ("strict",) if case.get("anywhere") else POLICIES:
            if text is None:
                continue
            reader = Reader(CallPolicy(Route(client="native", upstream="text", policy=policy), Request(tools=TOOLS)))
            events = [*reader.feed(text), *reader.finish(cut=case.get("finish", "stop") != "stop")]
            if calls_in(events):
                made.append(f"{dialect}, {policy}")
            if all_dialects()[dialect].place != "message":
                found = {event.reason for event in events if isinstance(event, Verdict)} - {None}
                common = found if common is None else common & found
    return made, common or set()


# What is escaped is quoted, to `strict`.
DIALECTS = [name for name in all_dialects() if written(name) and name != "invoke_escaped"]
# In `standard` the words behind the call come too late.
TOO_LATE = {"Q19-hermes"}
