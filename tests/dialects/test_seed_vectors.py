"""The vectors of `shared/cases/seed-vectors.json`, run as they are: `invoke`, `tagged`, `marker` and `forge`.

The vectors do not say which tools a request declares, nor under which policy they hold; `SETTINGS` says it for each
that needs more than "the tools that it expects are declared". Expected text is compared without the white space around
it: what comes before the first call stays (law 3), and some vectors leave that white space out.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.casefiles import Case, canonical, openai_tools
from support.dialectcases import WIRE, chunks, comparable, exchanged, read, reader_for, single
from support.repository import shared_path
from support.sampling import some
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import separated, write

NAME = "cases/seed-vectors.json"
OURS = ("invoke", "tagged", "text", "serialize->invoke", "marker", "forge")
LOOSE = {"a", "b", "ls", "rm", "second", "t", "tool_a", "tool_b", "tool_name", "x"}  # values typed by their looks
STRINGS = ("path", "content", "command", "c")

# Vector: (what the route or the case needs, why).
SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "vtc-07": ({"client": "native", "upstream": "native"}, "tool calling in text is switched off, so it is observed"),
    "vtc-09": ({"declares": ("rm",), "allowed_tools": ("ls",)}, "the call that is refused is declared all the same"),
    "vtc-10": ({"declares": ("rm",), "allowed_tools": ()}, "an empty list lets nothing pass"),
    "vtc-12": ({"declares": ("read_file",)}, "the draft must fail by its place, not for want of a tool"),
    "vtc-21": ({"declares": ("delete_file",)}, "the example must fail by its place, not for want of a tool"),
    "vtc-22": ({"declares": ("read_file",)}, "the example must fail by its place, not for want of a tool"),
    "vtc-23": (
        {"declares": ("write_to_file", "execute_command"), "allowed_tools": ("execute_command",)},
        "the payload's tool is declared and allowed, so only the outer call protects it",
    ),
    "vtc-26": (
        {"policy": "lenient", "declares": ("x",)},
        "the call stands behind other text on its line and in a call that never closes: `standard` and `strict` take "
        "neither, because the outermost call owns its payload",
    ),
    **{key: ({"policy": "lenient"}, "the call stands behind other text on its line") for key in ("for-s1", "for-s3")},
    **{
        key: ({"declares": names}, "what is refused is declared all the same")
        for key, names in {
            "sel-14": ("w",),
            "sel-16": ("test",),
            "sel-20": ("bob",),
            "sel-21": ("left-pad",),
            "for-14": ("t",),
        }.items()
    },
    "vtc-s5": ({"declares": ("a",)}, "the opener stands behind other text on its line: text either way"),
    "vtc-s6": (
        {"policy": "strict", "declares": ("write",), "max_buffer_bytes": 100, "max_held_call_bytes": 100},
        "only a policy that waits holds a call's text; `standard` streams it from the commit point and cannot overflow",
    ),
}


@cache
def vectors() -> dict[str, dict[str, Any]]:
    path: Path = shared_path(NAME)
    return {vector["id"]: vector for vector in json.loads(path.read_text(encoding="utf-8"))}


READING = [
    *(f"vtc-{number:02}" for number in range(1, 27)),
    *(f"vtc-s{number}" for number in range(1, 8)),
    *(f"sel-{number:02}" for number in range(1, 26)),
    *(f"for-{number:02}" for number in range(1, 16)),
    *(f"for-s{number}" for number in range(1, 4)),
]
WRITING = [f"ser-{number:02}" for number in range(1, 5)]


def test_no_vector_of_these_dialects_is_left_out() -> None:
    ours = {key for key, vector in vectors().items() if vector["dialect"] in OURS}
    assert ours == {*READING, *WRITING}


def case_of(vector: dict[str, Any]) -> Case:
    settings = dict(SETTINGS.get(vector["id"], ({}, ""))[0])
    options = vector.get("options", {})
    request = {key: {"type": options[key]} for key in ("response_format",) if key in options}
    if "marker" in options:
        settings["marker"] = (options["marker"],)
    if "max_payload_chars" in options:
        settings["max_payload_chars"] = options["max_payload_chars"]
    names = (*(name for name, _ in vector["expect_calls"]), *settings.pop("declares", ()))
    about = {name: dict.fromkeys(STRINGS, "string") for name in names}
    text = vector["input"] if vector["input"] is not None else "".join(vector["chunks"])
    tools = openai_tools({name: None if name in LOOSE else keys for name, keys in about.items()} or {"other": {}})
    return Case(
        title=vector["id"],
        text=text,
        request={"messages": [], "tools": tools, **request},
        route=Route(**{"client": "native", "upstream": "text", **settings}),
        finish="stop",
        shown="",
        calls=(),
        verdicts=(),
        repairs=(),
    )


@pytest.mark.parametrize("key", READING)
def test_a_vector_is_read(key: str) -> None:
    vector = vectors()[key]
    case = case_of(vector)
    outcome = read(case, [case.text])
    shown, calls, verdicts, _ = outcome
    assert [(name, canonical(arguments)) for name, arguments in calls] == [
        (name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in vector["expect_calls"]
    ]
    if vector.get("expect_text") is not None:
        assert shown.strip() == vector["expect_text"].strip()
    elif not calls:
        assert shown == case.text
    for verdict in verdicts:
        if verdict.index is None:
            assert case.text[verdict.start : verdict.end].strip() in shown
    for pieces in some([vector.get("chunks") or [case.text], chunks(case.text, 1), chunks(case.text, 5)], 1, key):
        assert read(case, pieces) == outcome
        assert exchanged(case, pieces, single) == comparable(outcome)


def test_text_that_can_be_no_call_is_let_go_at_once() -> None:
    vector = vectors()["vtc-s2"]
    held = 0
    reader = reader_for(case_of(vector))
    for piece in vector["chunks"]:
        events = reader.feed(piece)
        held = 0 if events else held + 1
        assert held <= vector["max_hold_chunks"]


@pytest.mark.parametrize("key", WRITING)
def test_a_vector_is_written(key: str) -> None:
    vector = vectors()[key]
    calls = [Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in vector["input"]]
    strings = {"ser-04": {"t": dict.fromkeys(("s", "z", "e", "c"), "string")}}.get(key, {})
    tools = Toolbox(request_of(WIRE, json.dumps({"messages": [], "tools": openai_tools(strings)}).encode()).tools)
    text = write("invoke", calls, tools)  # refuses what would not be read back as itself
    if "expect_xml" in vector:
        assert text == vector["expect_xml"]
    if "expect_joined" in vector:
        before = vector["preceding_text"]
        assert before + separated(before, text, Route()) == vector["expect_joined"]
