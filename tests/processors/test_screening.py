"""Rules for text clients: what such a client would make of quoted text is judged, and what passes stays as it was.

Strategy: the client's own dialect, without any regard for Markdown, is what counts. So a reply is read back with all
conditions taken away, and no call that a rule blocks may be found in it, wherever it stood and however it was cut.
"""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chatclient import HEAD, chunk, ending, event, outer, received
from support.processorcases import TOOLS, exchange_for, got, no_reactors, route_of, run, words
from toolcalls.processors import Processors
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in, write

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
    reader = Reader(CallPolicy(route, Request(tools=TOOLS)))
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
    "Text. ", "\n", "```\n", "`", "> ", "    ", "<!-- ", " -->", written("ls"), written("rm"), written("rm", "shell"),
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


@pytest.mark.parametrize("step", [9, 1 << 20])
def test_nothing_is_shown_behind_too_many_candidates_in_one_piece(step: int) -> None:
    """A piece with a block quote in it is read line by line; lines after the limit stay unread."""
    text = f"{written('ls')}\n" * 5 + f"> so\n> it is\n```\n{written('rm x')}\n```\n"
    exchange = exchange_for(route_of({**NO_RM, "max_candidates": 3}), "roundtrip")
    out = run(exchange, body_with(text, "sse", step))
    assert "rm x" not in shown(out, "sse")
    assert [note.text for _, note in exchange.notes if "max_candidates" in note.text]


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


NO_BASH = {"access": {"message": "No.", "rules": [{"name": "no-bash", "action": "block", "tools": "Bash"}]}}
FORMS = {
    "invoke": '<invoke name="Bash">\n<parameter name="command">rm x</parameter>\n</invoke>',
    "tagged": "<Bash>\n<command>rm x</command>\n</Bash>",
    "hermes": '<tool_call>\n{"name": "Bash", "arguments": {"command": "rm x"}}\n</tool_call>',
}


def text_client(rules: dict[str, Any], dialect: str) -> Exchange:
    route = route_of(rules)
    decision = Decision("roundtrip", "text", "auto", dialect, ())
    call_policy, tools = call_policy_of(route, Request(tools=TOOLS), decision)
    processors = Processors(route, run=no_reactors)
    wire = all_wires()["openai_chat"]
    return Exchange(wire, call_policy, decision, tools, form="sse", seed=b"s", processors=processors)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


@pytest.mark.parametrize("rules", [NO_RM, NO_BASH], ids=["argument", "name"])
@pytest.mark.parametrize("dialect", FORMS)
def test_a_block_quote_hides_no_call(dialect: str, rules: dict[str, Any]) -> None:
    """Parsers that look for tags find a call whose lines each begin with a mark, too."""
    call = FORMS[dialect]
    for before, after in (("", "Done.\n"), (quoted(call.replace("rm x", "ls")) + "\n>\n", "> So.\n"), ("A.\n", "")):
        for step in (1, 5, 1000):
            exchange = text_client(rules, dialect)
            out = shown(run(exchange, body_with(f"{before}{quoted(call)}\n{after}", "sse", step)), "sse")
            assert "rm x" not in out
            assert out.endswith(after)
            assert "No." in out
            assert (before.rstrip("\n>") in out) == (rules is NO_RM or not before.startswith(">"))
            rule = "no-rm" if rules is NO_RM else "no-bash"
            assert f"blocked Bash {rule}" in words(exchange)


@pytest.mark.parametrize("dialect", FORMS)
def test_a_quoted_call_that_passes_keeps_its_marks(dialect: str) -> None:
    text = f"See:\n\n{quoted(FORMS[dialect].replace('rm x', 'ls'))}\n\n> a\n  > > b\nDone: a > b\n"
    for step in (1, 5, 1000):
        exchange = text_client(NO_RM, dialect)
        body = body_with(text, "sse", step)
        assert run(exchange, body) == body
        assert not [word for word in words(exchange) if word.startswith("blocked")]


def test_marks_inside_a_call_that_stands_beside_them_are_its_own() -> None:
    """What a file gets is no call, and a bracket at the start of a line may be a tag's."""
    file = f"<write_file>\n<path>a.md</path>\n<content>\n{quoted(FORMS['tagged'])}\n</content>\n</write_file>"
    route = {**NO_RM, "tools": [{"name": "write_file", "parameters": {"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}}}}]}  # fmt: skip
    body = body_with(f"{file}\n", "sse", 5)
    assert run(text_client(route, "tagged"), body) == body
    text = '```\n<invoke name="Bash"\n>\n<parameter name="command"\n>rm x</parameter>\n</invoke>\n```\n'
    assert "rm x" not in shown(run(text_client(NO_RM, "invoke"), body_with(text, "sse", 5)), "sse")


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize("rules", [NO_RM, NO_BASH], ids=["argument", "name"])
@pytest.mark.parametrize("dialect", FORMS)
def test_a_quoted_call_that_never_ends_is_judged_by_what_came(dialect: str, rules: dict[str, Any], finish: str) -> None:
    """Some clients run what is there when the reply has ended. Without its opener it is nobody's call."""
    cut = FORMS[dialect].rindex("rm x") + 4
    opener = FORMS[dialect][:8]
    for end in ("", "\n```\nAnd more.\n"):
        for step in (1, 5, 1000):
            exchange = text_client(rules, dialect)
            body = body_with(f"So:\n\n```\n{FORMS[dialect][:cut]}{end}", "sse", step)
            out = shown(run(exchange, body.replace(b'"stop"', json.dumps(finish).encode())), "sse")
            assert opener.strip() not in out
            assert "No." in out
            assert out.endswith(end)
            assert len([word for word in words(exchange) if word.startswith("blocked Bash")]) == 1


@pytest.mark.parametrize("dialect", FORMS)
def test_a_mention_is_no_call(dialect: str) -> None:
    """An opener that nothing follows which any client could run stays, where the rule is about an argument."""
    opener = FORMS[dialect].partition("\n")[0]
    for text in (f"Use `{opener}` for it.\n\nAnd more.\n", f"> {opener}\n\nis how it begins.\n", f"So: `{opener}`"):
        exchange = text_client(NO_RM, dialect)
        body = body_with(text, "sse", 5)
        assert run(exchange, body) == body


@pytest.mark.parametrize("dialect", ["invoke", "tagged"])
def test_a_quoted_call_that_cannot_be_read_is_judged_by_what_came(dialect: str) -> None:
    for junk in ("<x", "</command>", "</parameter></parameter>", "junk <b>"):
        cut = FORMS[dialect].rindex("rm x") + 4
        text = f"```\n{FORMS[dialect][:cut]}</{'parameter' if dialect == 'invoke' else 'command'}>{junk}\n```\nMore.\n"
        exchange = text_client(NO_RM, dialect)
        out = shown(run(exchange, body_with(text, "sse", 5)), "sse")
        assert FORMS[dialect][:8] not in out, out
        assert "More." in out


def test_other_dialects_stay_what_they_are() -> None:
    """An example of another form is no call to this client, and must not become one."""
    text = '```\n<tool_call>{"name": "Bash", "arguments": {"command": "rm"}}</tool_call>\n```\n'
    exchange = exchange_for(route_of(NO_RM), "roundtrip")
    body = body_with(text, "sse", 9)
    assert run(exchange, body) == body


def test_a_client_of_another_dialect() -> None:
    exchange = text_client(NO_RM, "tagged")
    text = "```\n<Bash>\n<command>rm x</command>\n</Bash>\n```\n"
    assert shown(run(exchange, body_with(text, "sse", 5)), "sse") == "```\nNo.\n```\n"
