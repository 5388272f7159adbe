"""Rules for text clients: what such a client would make of quoted text is judged, and what passes stays as it was.

Strategy: the client's own dialect, without any regard for Markdown, is what counts. So a reply is read back with all
conditions taken away, and no call that a rule blocks may be found in it, wherever it stood and however it was cut.
"""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatclient import HEAD, chunk, ending, event, outer, received
from test_processors import TOOLS, exchange_for, got, no_reactors, route_of, run, words
from toolcalls.evidence import Decision, terms_of
from toolcalls.exchange import Exchange
from toolcalls.frames import Form
from toolcalls.policy import Terms
from toolcalls.processors import Processors
from toolcalls.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call
from toolcalls.tools import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing import calls_in, write

NO_RM = {"access": {"message": "No.", "rules": [{"name": "no-rm", "action": "block", "arguments": {"command": "rm"}}]}}


def written(command: str, name: str = "Bash") -> str:
    return write("invoke", [Call(name, json.dumps({"command": command}))], Toolbox(TOOLS))


def body_with(text: str, form: Form, step: int) -> bytes:
    if form == "whole":
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return json.dumps({**outer([choice]), "object": "chat.completion"}).encode()
    pieces = [event(chunk({"content": text[at : at + step]})) for at in range(0, len(text), step)]
    return event(chunk(HEAD)) + b"".join(pieces) + ending("stop")


def shown(out: bytes, form: Form) -> str:
    if form == "whole":
        return str(json.loads(out)["choices"][0]["message"]["content"] or "")
    return received(out).choices[0].text


def lax(text: str) -> list[Call]:
    """The calls that a client finds which minds no Markdown and no declaration."""
    route = Route(dialects=("invoke",), take=get_args(Taken), require=())
    reader = Reader(Terms(route, Request(tools=TOOLS)))
    return list(calls_in([*reader.feed(text), *reader.finish(cut=False)]))


PLACES = {
    "fenced": ("Look:\n\n```xml\n{}\n```\nDone.\n", "Look:\n\n```xml\nNo.\n```\nDone.\n"),
    "inline": ("So {} it is.\n", "So \n\nNo.\n\n it is.\n"),
    "inline_code": ("So `{}` it is.\n", "So `\n\nNo.\n\n` it is.\n"),
    "html_comment": ("<!-- {} -->\n", "<!-- \n\nNo.\n\n -->\n"),
    "reasoning": ("<think>{}</think>\nHi\n", "<think>\n\nNo.\n\n</think>\nHi\n"),
    "indented_code": ("So:\n\n    {}\n", "So:\n\n    \n\nNo.\n"),
}


@pytest.mark.parametrize("form", ["sse", "whole"])
@pytest.mark.parametrize("place", PLACES)
def test_a_quoted_call_that_a_rule_blocks_is_taken_away(place: str, form: Form) -> None:
    before, after = PLACES[place]
    text = before.format(written("rm x").replace("\n", ""))
    for step in (1, 9, 1000):
        exchange = exchange_for(route_of(NO_RM), "roundtrip", form)
        out = run(exchange, body_with(text, form, step))
        assert "".join(shown(out, form).split()) == "".join(after.split())
        assert words(exchange) == ["blocked Bash no-rm"]


def test_verdict_and_siblings() -> None:
    """The verdict says where the call stood; a sibling of it still stands by itself."""
    both = [Call("Bash", '{"command":"rm"}'), Call("Bash", '{"command":"ls"}')]
    for calls in (both, both[::-1]):
        exchange = exchange_for(route_of(NO_RM), "roundtrip")
        text = f"See {write('invoke', calls, Toolbox(TOOLS))}\n"
        out = run(exchange, body_with(text, "sse", 9))
        assert lax(shown(out, "sse")) == [Call("Bash", '{"command":"ls"}')]
        (blocked,) = [verdict for _, verdict in exchange.verdicts if verdict.status == "blocked"]
        assert (blocked.reason, blocked.rule, blocked.dialect) == ("access", "no-rm", "invoke")
        assert text[blocked.start : blocked.end].count("rm") == 1
        assert [verdict.status for _, verdict in exchange.verdicts].count("declined") == 1


PARTS = [
    "Text. ", "\n", "```\n", "`", "> ", "    ", "<!-- ", " -->", written("ls"), written("rm"), written("rm", "bash"),
    '<invoke name="Bash">', "</invoke>", "<function_calls>", "<thi", "&lt;", "**",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.integers(1, 40))
def test_no_call_that_a_rule_blocks_is_left_and_nothing_else_goes(parts: list[str], step: int) -> None:
    text = "".join(parts)
    exchange = exchange_for(route_of(NO_RM), "roundtrip")
    body = body_with(text, "sse", step)
    out = run(exchange, body)
    assert not [call for call in lax(shown(out, "sse")) if "rm" in call.arguments]
    again = exchange_for(route_of(NO_RM), "roundtrip")
    run(again, body_with(text, "sse", 1000))
    assert again.verdicts == exchange.verdicts
    if not any("rm" in call.arguments for call in lax(text)) and "rm" not in text:
        unruled = exchange_for(Route(), "roundtrip")
        assert (out, exchange.verdicts) == (run(unruled, body), unruled.verdicts)
        assert out == body


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"allowed_tools": ["read_file"]}, written("rm x")),
        ({"multiple_calls": False}, written("ls") + "\n\n" + written("rm x")),
        ({"max_calls": 1}, written("ls") + "\n\n" + written("rm x")),
        ({"policy": "strict"}, written("rm x") + "\n\nAnd that is it."),
        ({}, written("rm x", "Shell")),
    ],
    ids=["allowed_tools", "multiple_calls", "max_calls", "strict", "undeclared"],
)
def test_rules_hold_for_what_a_route_declines(rules: dict[str, Any], text: str) -> None:
    exchange = exchange_for(route_of({**NO_RM, **rules}), "roundtrip")
    out = run(exchange, body_with(text, "sse", 9))
    assert "rm x" not in shown(out, "sse")
    assert [word for word in words(exchange) if word.startswith("blocked")] != []
    assert not any(verdict.status == "declined" for _, verdict in exchange.verdicts)


@pytest.mark.parametrize(
    ("limits", "text", "rule"),
    [
        ({"max_call_chars": 200}, f"```\n{written('x' * 500 + ' rm')}\n```\nmore", "max_call_chars"),
        ({"max_candidates": 3}, f"{written('ls')}\n" * 5 + written("rm x"), "max_candidates"),
    ],
)
def test_what_is_not_looked_at_is_not_shown(limits: dict[str, Any], text: str, rule: str) -> None:
    exchange = exchange_for(route_of({**NO_RM, **limits}), "roundtrip")
    out = run(exchange, body_with(text, "sse", 9))
    assert " rm" not in shown(out, "sse")
    assert "more" not in shown(out, "sse")
    assert got(out, "lift", "sse").finish == "length"
    assert [note.text for _, note in exchange.notes if rule in note.text]


def test_a_large_call_that_no_rule_is_about_is_shown() -> None:
    text = f"```\n{written('x' * 500)}\n```\nmore"
    rules = {"access": {"rules": [{"name": "no-read", "action": "block", "tools": "read_file"}]}}
    exchange = exchange_for(route_of({**rules, "max_buffer_bytes": 64}), "roundtrip")
    assert shown(run(exchange, body_with(text, "sse", 9)), "sse") == text


def test_what_is_more_than_others_hold_is_held_for_a_rule() -> None:
    deep = "[" * 600 + "rm" + "]" * 600
    for value in ("x" * 500 + " rm", deep):
        text = f"```\n{written(value)}\n```\nmore"
        exchange = exchange_for(route_of({**NO_RM, "max_buffer_bytes": 64, "max_depth": 4}), "roundtrip")
        assert "rm" not in shown(run(exchange, body_with(text, "sse", 9)), "sse")
        assert words(exchange) == ["blocked Bash no-rm"]


@pytest.mark.parametrize("kind", ["lift", "process"])
def test_a_native_client_keeps_quoted_text(kind: Any) -> None:
    text = f"```\n{written('rm x')}\n```\n"
    exchange = exchange_for(route_of(NO_RM), kind)
    body = body_with(text, "sse", 9)
    assert run(exchange, body) == body


def test_the_text_for_it_is_said_once_and_steering_leaves_a_notice() -> None:
    text = f"{written('rm x')}\n\n```\n{written('rm y')}\n```\n"
    for steering, said in (("reply", "No."), ("request", "[blocked: no-rm]")):
        route = route_of({**NO_RM, "steering": steering, "rewrite_request": True})
        exchange = exchange_for(route, "roundtrip")
        assert shown(run(exchange, body_with(text, "sse", 9)), "sse").count(said) == 1
        assert words(exchange) == ["blocked Bash no-rm"] * 2


def test_other_dialects_stay_what_they_are() -> None:
    """An example of another form is no call to this client, and must not become one."""
    text = '```\n<tool_call>{"name": "Bash", "arguments": {"command": "rm"}}</tool_call>\n```\n'
    exchange = exchange_for(route_of(NO_RM), "roundtrip")
    body = body_with(text, "sse", 9)
    assert run(exchange, body) == body


def test_a_client_of_another_dialect() -> None:
    route = route_of(NO_RM)
    decision = Decision("roundtrip", "text", "auto", "tagged", ())
    terms, tools = terms_of(route, Request(tools=TOOLS), decision)
    wire = all_wires()["openai_chat"]
    processors = Processors(route, run=no_reactors)
    exchange = Exchange(wire, terms, decision, tools, form="sse", seed=b"s", processors=processors)
    text = "```\n<Bash>\n<command>rm x</command>\n</Bash>\n```\n"
    assert shown(run(exchange, body_with(text, "sse", 5)), "sse") == "```\nNo.\n```\n"
