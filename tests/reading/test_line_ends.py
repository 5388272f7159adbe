"""Line ends around values, in every dialect that writes a value as it is between two tags.

Strategy: each dialect's own writer shows where the value stands. In its place come values with line ends of every kind
on either side, on the line of their tags and on lines of their own, and each text is also cut at every place.
Whole calls are read with line ends of another kind, too.
"""

import json
import re
from itertools import product

import pytest

from support.readings import read
from support.sampling import a_few, some
from support.strategies import STANDARD, TOOLS
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

_WORD = "VALUE"
_PLACE = re.compile(r"(?<=[>;])\n?VALUE\n?(?=[<\]&])")
_BREAKS = ("", "\n", "\r\n", "\n\n", "\r", " \n", "\n ")
VALUES = [*(f"{first}one{last}" for first, last in product(_BREAKS, _BREAKS)), "", "\n", "\n\n", "a\n\nb\n"]

# The forms in which a value may be on lines of its own. In all others it is what is between its tags.
ON_OWN_LINES = {
    "beam", "bullet_function", "function_elements", "function_tags_stripped", "invoke", "invoke_angleless",
    "invoke_elements", "invoke_escaped", "invoke_legacy", "minicpm5", "morph_xml", "openhands_fn", "qwen3_xml",
    "seed_oss", "tagged",
}  # fmt: skip


def written(dialect: str) -> str:
    return all_dialects()[dialect].write([Call("Save", json.dumps({"text": _WORD}))], Toolbox(TOOLS))


BETWEEN_TAGS = [name for name in all_dialects() if _PLACE.search(written(name))]


def expected(dialect: str, between: str) -> str:
    """What is between the tags without its layout: a line end on each side, where one is on the first."""
    lines = re.fullmatch(r"\r?\n(.*?)(?:\r?\n)?", between, re.DOTALL)
    return lines[1] if dialect in ON_OWN_LINES and lines is not None else between


def test_every_such_form_writes_its_value_between_tags() -> None:
    assert set(BETWEEN_TAGS) >= ON_OWN_LINES


@pytest.mark.parametrize("dialect", BETWEEN_TAGS)
def test_line_ends_are_layout_only_around_a_value_on_its_own_lines(dialect: str) -> None:
    before, behind = _PLACE.split(written(dialect))
    for between in some(a_few(VALUES, len(VALUES) // 2, dialect), 3, dialect):
        reply = before + between + behind
        found = calls_in(read(STANDARD, [reply]))
        assert [json.loads(call.arguments) for call in found] == [{"text": expected(dialect, between)}], repr(between)
        for at in range(len(before) - 2, len(before) + len(between) + 4):
            assert calls_in(read(STANDARD, [reply[:at], reply[at:]])) == found, (repr(between), at)
        assert calls_in(read(STANDARD, list(reply))) == found, repr(between)


@pytest.mark.parametrize("dialect", all_dialects())
def test_a_call_on_lines_that_end_with_crlf_is_the_same_call(dialect: str) -> None:
    """A server on Windows, or a gateway that joins lines."""
    calls = [Call("Save", json.dumps({"text": "one"})), Call("Bash", json.dumps({"command": "ls"}))]
    try:
        text = all_dialects()[dialect].write(calls, Toolbox(TOOLS))
    except Unwritable:  # one call a message
        text = all_dialects()[dialect].write(calls[:1], Toolbox(TOOLS))
    with_crlf = text.replace("\n", "\r\n")
    found = calls_in(read(STANDARD, [text]))
    assert found
    for pieces in ([with_crlf], list(with_crlf), with_crlf.splitlines(keepends=True)):
        assert [(call.name, json.loads(call.arguments)) for call in calls_in(read(STANDARD, pieces))] == [
            (call.name, json.loads(call.arguments)) for call in found
        ], pieces
