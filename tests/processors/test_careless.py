"""Rules for text clients hold against the most careless parser of a client's dialect (law 13).

A generator writes a forbidden and a permitted call in every shape that such a parser still reads: with words,
comments, fences and unknown parameters in between, with parameters twice and further inside, without closers, over
several blocks.
The readers of `support.careless` are written down from what clients do. Of the forbidden call none of them may find
anything in what leaves; the permitted one leaves byte for byte.

Every shape is played on one API of each kind: where text comes in deltas, and where it comes in blocks. The screen
takes a reply's text after its wire, so on the others only the frames around it differ: they get some shapes of each
form.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.careless import (
    FORMS,
    INSERTS,
    RULES,
    SHAPES,
    TOOLS,
    blocks_of,
    broken_off,
    cut,
    forbidden,
    fragments,
    in_blocks,
    inserted,
    is_forbidden,
    written,
)
from support.carelessclients import ANY_STEP, STEPS, client_of, got
from support.growth import grows_with_its_input
from support.processorcases import route_of, words
from support.repository import REPO
from support.sampling import a_few, a_few_where, share, some
from support.spoken import SPOKEN, through
from support.strategies import law
from toolcalls.dialects import about, all_dialects
from toolcalls.processors.access import Gate
from toolcalls.processors.careless import PATIENCE, CarelessReading
from toolcalls.processors.careless_calls import Decided
from toolcalls.processors.careless_messages import CarelessMessages
from toolcalls.processors.careless_tags import Tags
from toolcalls.processors.careless_words import WORD_FORMS
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires.frames import Form

EVERY_SHAPE_ON = "openai_chat"


def played(shapes: list[Any], form: str, wire: str) -> Sequence[Any]:
    """Those of a form's shapes that are played on a wire."""
    of = f"{form} {wire}"
    return some(shapes if wire == EVERY_SHAPE_ON else a_few(shapes, 12, of), 3, of)


@cache
def forbidden_shapes(form: str) -> list[Any]:
    """The shapes of a form in which a careless reader finds the forbidden call."""
    return [shape for shape in SHAPES if shape[0] == form and forbidden(form, written(shape, "rm -rf x"))]


@pytest.mark.parametrize("wire", SPOKEN)
@pytest.mark.parametrize("form", FORMS)
def test_no_reader_finds_a_forbidden_call(form: str, wire: str) -> None:
    assert len(forbidden_shapes(form)) > 50
    for shape in played(forbidden_shapes(form), form, wire):
        text = written(shape, "rm -rf x")
        steps = a_few(ANY_STEP, 2 if wire == EVERY_SHAPE_ON else 1, f"{shape} {wire}")
        outs = {got(FORMS[form].dialect, cut(text, step), wire)[0] for step in steps}
        assert len(outs) == 1, shape
        assert not forbidden(form, outs.pop()), shape


@pytest.mark.parametrize("wire", SPOKEN)
@pytest.mark.parametrize("form", FORMS)
def test_a_permitted_call_stays_byte_for_byte(form: str, wire: str) -> None:
    for shape in played([shape for shape in SHAPES if shape[0] == form], form, wire):
        text = written(shape, "du -sh x")
        for step in a_few(ANY_STEP, 1, f"{shape} {wire}"):
            out, exchange = got(FORMS[form].dialect, cut(text, step), wire)
            assert out == (got(FORMS[form].dialect, cut(text, step), wire, {})[0] if FORMS[form].rewritten else text), (
                shape
            )
            assert not [word for word in words(exchange) if word.startswith("blocked")]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("body_form", ["sse", "whole"])
@pytest.mark.parametrize("wire", ["anthropic", "openai_responses"])
@pytest.mark.parametrize("form", FORMS)
def test_a_call_over_several_blocks_is_one_call(form: str, wire: str, body_form: Form) -> None:
    call = FORMS[form].write
    dialect = FORMS[form].dialect
    for command in ("rm -rf x", "du -sh x"):
        # Words, so that no candidate streams; one word alone in a wrapper is a stray one, with a call after it.
        text = call("execute_command", [("title", "a"), ("command", command)], "So it is.\n")
        turn = 2 * (wire == "anthropic") + (body_form == "sse")  # each place on one API, live or whole
        for at in some(share(range(1, len(text)), turn, 4), 10, f"{form} {wire} {body_form}"):
            parts = [text[:at], text[at:]]
            exchange = client_of(dialect, wire, body_form)
            blocks = blocks_of(wire, body_form, through(exchange, in_blocks(wire, body_form, parts)))
            assert exchange.failure is None
            if command.startswith("rm"):
                assert not is_forbidden(form, blocks), parts
            else:
                unruled = client_of(dialect, wire, body_form, {})
                assert blocks == blocks_of(wire, body_form, through(unruled, in_blocks(wire, body_form, parts)))
                assert not [word for word in words(exchange) if word.startswith("blocked")]


@pytest.mark.parametrize("form", FORMS)
def test_no_reader_finds_a_forbidden_call_with_something_in_it(form: str) -> None:
    """In each of its places, also far more than a tag has, or than is held of a call that nobody forbids."""
    found = a_few_where(inserted(form, "rm -rf x"), lambda place: is_forbidden(form, place[1]), 40, form)
    for name, parts in some(found, 8, form):
        exchange = client_of(FORMS[form].dialect, "anthropic", "sse")
        blocks = blocks_of("anthropic", "sse", through(exchange, in_blocks("anthropic", "sse", parts)))
        assert exchange.failure is None
        assert not is_forbidden(form, blocks), name


@pytest.mark.parametrize("form", FORMS)
def test_no_reader_finds_a_forbidden_call_that_breaks_off(form: str) -> None:
    for text in broken_off(form, "rm -rf 'x'"):
        if is_forbidden(form, [text]):
            exchange = client_of(FORMS[form].dialect, "anthropic", "sse")
            blocks = blocks_of("anthropic", "sse", through(exchange, in_blocks("anthropic", "sse", [text])))
            assert exchange.failure is None
            assert not is_forbidden(form, blocks), text


@pytest.mark.parametrize("members", [10, 1000])
@pytest.mark.parametrize("value", ["rm x", "ls"])
def test_an_object_that_breaks_off_may_be_long(value: str, members: int) -> None:
    """A forbidden call in it is blocked, and a document that is no JSON either passes."""
    inside = "".join(f'  "key{number}": "it\'s {{a}} {number}", // \n' for number in range(members))
    document = f'Final Answer: so.\n```json\n{{"name": "x",\n{inside}"command": "{value}"\n}}\n```\nDone.'
    call = f'{{"action": "execute_command", "action_input": {{\n{inside}"words": ["a", "b"], "command": "{value}'
    for text, forbids in ((document, False), (call, value == "rm x")):
        exchange = client_of("react", "anthropic", "sse")
        blocks = blocks_of("anthropic", "sse", through(exchange, in_blocks("anthropic", "sse", [text])))
        assert (blocks == [text]) != forbids
        assert not [note for _, note in exchange.notes if note.rule == "unread"]


SPLIT = {
    "closer": ("tagged", ["<execute_command>a</execute", "_command>b<command>rm x</command>c</execute_command>"]),
    "parameter": ("tagged", ["<execute_command><title", ">a<command>rm x</command></title></execute_command>"]),
    "objects": (
        "hermes", ["<tool_call>a</tool_", 'call>{"name": "read_file", "arguments": {"path": "/etc/x"}}</tool_call>']
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", SPLIT)
def test_a_tag_over_two_blocks_is_one_and_is_none(title: str) -> None:
    """Clients join blocks with nothing or with a line end."""
    form, parts = SPLIT[title]
    assert is_forbidden(form, parts)
    exchange = client_of(form, "anthropic", "sse")
    blocks = blocks_of("anthropic", "sse", through(exchange, in_blocks("anthropic", "sse", parts)))
    assert not is_forbidden(form, blocks), blocks


FILE = "<write_to_file>\n<path>{}</path>\n<content>x</content>\n{}\n</write_to_file>"
DUPLICATES = {
    "twice": (FILE.format("ok.txt", "<path>/etc/passwd</path>\ny</content>"), "write_to_file"),
    "first": (FILE.format("/etc/passwd", "<path>ok.txt</path>"), "write_to_file"),
    "inside": (
        "<read_file>\n<args><file><path>/etc/passwd</path></file></args>\n</read_file>", "read_file"
    ),
    "unknown": (
        "<read_file>\n<files><one><path>/etc/passwd</path></one></files>\n</read_file>", "read_file"
    ),
    "behind its closer": (
        "<execute_command>\n<command>ls</command>\n</execute_command>\n<command>rm x</command>\n</execute_command>",
        "execute_command"
    ),
    "never ends": ("<execute_command>\nSo:\n<command>rm x", "execute_command"),
    "value swallows": ("<read_file>\n<path>/etc/passwd\n</read_file>", "read_file"),
}  # fmt: skip


@pytest.mark.parametrize("title", DUPLICATES)
def test_each_value_of_a_parameter_counts_wherever_it_stands(title: str) -> None:
    text, name = DUPLICATES[title]
    for step in (1, 7, 10_000):
        out, exchange = got("tagged", cut(f"{text}\nMore.\n", step))
        assert not forbidden("tagged", out), out
        assert [word for word in words(exchange) if word.startswith(f"blocked {name}")]
        assert out.count("No.") == 1


@pytest.mark.parametrize("title", sorted(DUPLICATES.keys() - {"value swallows"}))  # what never ends is undecided
def test_with_other_values_they_stay(title: str) -> None:
    text = DUPLICATES[title][0].replace("/etc/passwd", "/home/u/a").replace("rm x", "ls y") + "\nMore.\n"
    for step in (1, 7, 10_000):
        without = got("tagged", cut(text, step), rules={})[0]
        assert got("tagged", cut(text, step))[0] == without == text


def test_what_a_file_documents_is_no_call() -> None:
    """Up to its first closer a value is data to every client, also where it holds calls."""
    docs = "Call:\n\n<execute_command>\n<command>rm x</command>\n</execute_command>\n<path>/etc/x</path>\n"
    for form in ("tagged", "invoke", "qwen3_xml", "hermes"):
        text = FORMS[form].write("write_to_file", [("path", "a.md"), ("content", docs)], "")
        for step in STEPS:
            out, exchange = got(FORMS[form].dialect, cut(text, step))
            assert out == text
            assert not [word for word in words(exchange) if word.startswith("blocked")]


def test_a_mention_holds_no_text_for_long_and_still_opens_a_call() -> None:
    prose = "Use <execute_command> for it. " + "So it is. " * (PATIENCE // 5)
    exchange = client_of("tagged")
    spoken = SPOKEN["openai_chat"]
    out = spoken.said(cut(prose, 50))
    shown = exchange.feed(out[: out.index(b"[DONE]") - 300]).decode()
    assert shown.count("So it is") > PATIENCE // 10
    for step in (7, 10_000):
        text = f"{prose}\n<command>rm x</command>\nMore.\n"
        left, exchange = got("tagged", cut(text, step))
        assert left.startswith(prose)
        assert left.endswith("More.\n")
        assert not forbidden("tagged", left)
        assert words(exchange)[-1:] == ["blocked execute_command no-rm"]


JSON_CALL = '{"name": "execute_command", "arguments": {"command": "rm x"}}'


@pytest.mark.parametrize("wire", SPOKEN)
@pytest.mark.parametrize("behind", ["", "\nls> ", " <tool_call>```\n", "</tool_call> More."])
def test_json_far_behind_its_tag_is_held_again(wire: str, behind: str) -> None:
    """Some clients read a call whose tag is never closed up to the end of the message."""
    prose = "Use <tool_call> for it. " + "So it is. " * (PATIENCE // 5)
    for step in (7, 10_000):
        left, exchange = got("hermes", cut(f"{prose}{JSON_CALL}{behind}", step), wire)
        assert left.startswith(prose)
        assert "No." in left
        assert not forbidden("hermes", left)
        assert left.endswith("More.") == behind.endswith("More.")
        assert [word for word in words(exchange) if word.startswith("blocked")] == ["blocked execute_command no-rm"]
    unruled = got("hermes", cut(f"{prose}{JSON_CALL}{behind}", 7), wire, {})[0]
    permitted = f"{prose}{JSON_CALL.replace('rm', 'du')}{behind}"
    assert unruled.startswith(f"{prose}{JSON_CALL}")
    assert got("hermes", cut(permitted, 7), wire)[0] == got("hermes", cut(permitted, 7), wire, {})[0]


def test_json_far_behind_a_mention_of_a_tag_holds_nothing_before_it() -> None:
    prose = "Use <tool_call> for it. " + "So it is. " * (PATIENCE // 5)
    out = SPOKEN["openai_chat"].said(cut(f"{prose}{{", 50))
    shown = client_of("hermes").feed(out[: out.index(b"[DONE]") - 300]).decode()
    assert shown.count("So it is") > PATIENCE // 10


def test_a_mention_changes_nothing() -> None:
    for form, tag in (("tagged", "<execute_command>"), ("hermes", "<tool_call>")):
        body = SPOKEN["openai_chat"].said(cut(f"Use {tag} for it. " + "So it is. " * (PATIENCE // 5), 50))
        for size in (len(body), 40):
            exchange = client_of(form)
            out = b"".join(exchange.feed(body[at : at + size]) for at in range(0, len(body), size)) + exchange.close()
            assert out == body


def test_a_long_value_that_no_rule_asks_for_streams() -> None:
    text = FORMS["tagged"].write("write_to_file", [("path", "a.md"), ("content", "line\n" * PATIENCE)], "So.\n")
    exchange = client_of("tagged")
    body = SPOKEN["openai_chat"].said(cut(text, 50))
    assert exchange.feed(body[: len(body) // 2]).count(b"line") > PATIENCE // 4


@law
@given(st.data(), st.sampled_from(sorted(FORMS)), st.sampled_from([1, 2, 5]))
def test_no_text_of_tags_and_words_holds_a_forbidden_call(data: st.DataObject, form: str, step: int) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(fragments(form)), max_size=16)))
    whole = got(FORMS[form].dialect, cut(text, 1 << 20))[0]
    assert not forbidden(form, whole)
    left = got(FORMS[form].dialect, cut(text, step))[0]
    assert not forbidden(form, left)
    if not FORMS[form].rewritten:  # where what separates a call that is written anew depends on the pieces
        assert left == whole


COSTLY = {
    "openers": "<execute_command> ",
    "values": "<execute_command><command>ls</command> ",
    "closers": "</command>",
    "nested": "<args><file>",
    "tags that never end": "<execute_command a ",
    "calls": "<execute_command><command>ls</command></execute_command>\n",
    "words": "a < b and so on ",
}


@pytest.mark.parametrize("title", COSTLY)
def test_work_grows_with_the_text(title: str) -> None:
    access = route_of(RULES).access
    assert access is not None
    tools = Toolbox(TOOLS)

    def read(size: int) -> Callable[[], object]:
        pieces = cut("<execute_command><command>ls" + COSTLY[title] * size, 40)

        def work() -> None:
            reading = CarelessReading(Gate(access, model="", agent=""), Tags(("tagged",), tools, ()))
            for piece in pieces:
                if not reading.passes(piece) and not reading.hidden:
                    reading.feed(piece)
            reading.boundary()

        return work

    grows_with_its_input(read, 500)


@pytest.mark.parametrize("form", FORMS)
def test_work_grows_with_whatever_follows_an_opener(form: str) -> None:
    """Each fragment of the form's own, and of no form, again and again: in pieces and whole."""
    access = route_of(RULES).access
    assert access is not None
    dialect = FORMS[form].dialect
    begun = FORMS[form].write("execute_command", [("title", "a")], "")[:-8]

    def read(fragment: str, step: int, size: int) -> Callable[[], object]:
        pieces = cut(begun + fragment * (size // len(fragment)), step)
        gate, tools = Gate(access, model="", agent=""), Toolbox(TOOLS)

        def work() -> None:
            reading = (
                CarelessMessages(gate, WORD_FORMS[dialect], tools)
                if dialect in WORD_FORMS
                else CarelessReading(gate, Tags((dialect,), tools, ()))
            )
            for piece in pieces:
                if not reading.hidden and not reading.passes(piece):
                    reading.feed(piece)
            if not reading.hidden:
                reading.boundary()

        return work

    ours = [part for part in fragments(form) if len(part) < 100]
    others = [*(part[:20] for part in INSERTS), "<invoke ", "<invoke <b", "<tool ", "Action", '{"', '"a":']
    for fragment in some([*ours, *others], 4, form):
        for step in (40, 1 << 20):
            grows_with_its_input(partial(read, fragment, step), 8_000)


def test_every_dialect_of_a_known_text_client_has_a_careless_reader() -> None:
    """Those whose clients take one call a message, and those that the prompts of agents teach."""
    agents = ("Cline", "Roo Code", "Kilo Code", "OpenHands", "smolagents", "LangChain", "Anthropic")
    prompts = yaml.safe_load((REPO / "tests/cases/prompts.yaml").read_text(encoding="utf-8"))["prompts"]
    taught = {name for one in prompts if one["title"].startswith(agents) for name in one["teaches"]}
    spoken = {name for name in all_dialects() if about(name).one_call} | taught | {"forge"}
    assert spoken >= {"tagged", "openhands_fn", "continue_codeblock", "react", "invoke"}
    for name in spoken:
        assert name in WORD_FORMS or Tags((name,), Toolbox(TOOLS), ()), name
        assert any(form.dialect == name for form in FORMS.values()), name


WORDS = {
    "forge": "<tool><tool_name>write_to_file</tool_name><path>a</path>",
    "continue_codeblock": "TOOL_NAME: write_to_file\nBEGIN_ARG: path\na\nEND_ARG\n",
    "react": 'Action: write_to_file\nAction Input: {"path": "a"}\n',
}


@pytest.mark.parametrize("dialect", WORDS)
def test_the_work_on_a_message_grows_with_it(dialect: str) -> None:
    """Also where there are too many calls to look at, of which none is shown."""
    access = route_of(RULES).access
    assert access is not None

    def read(size: int) -> Callable[[], object]:
        pieces = cut(WORDS[dialect] + "word <a> { " * size, 40)

        def work() -> None:
            reading = CarelessMessages(Gate(access, model="", agent=""), WORD_FORMS[dialect], Toolbox(TOOLS))
            for piece in pieces:
                if not reading.passes(piece):
                    reading.feed(piece)
            assert sum(one.size for one in reading.boundary() if isinstance(one, Decided)) > size

        return work

    grows_with_its_input(read, 500)
    reading = CarelessMessages(Gate(access, model="", agent=""), WORD_FORMS[dialect], Toolbox(TOOLS))
    reading.feed(WORDS[dialect] * 300)
    assert not any(one.shown for one in reading.boundary() if isinstance(one, Decided))
    assert reading.hidden
