"""What a sign must show by its strength, in each policy; and marks of a template where none of its messages can be."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.events import CallStart, Event, Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.reading.strength import ASKED, STRENGTHS, OpenedKeys
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Sign


def tool(name: str, *keys: str, required: Sequence[str] = ()) -> Tool:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in keys}, "required": list(required)}
    return Tool(name, schema)


SHELL = Request(tools=(tool("shell", "command"),))
READ = Request(tools=(tool("read", "path", "lines", required=("path",)), tool("now")))


def read(text: str, policy: CallPolicy, size: int = 0) -> tuple[list[tuple[str, str | None]], str, list[Event]]:
    reader = Reader(policy)
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    events = [event for piece in pieces for event in reader.feed(piece)] + reader.finish(cut=False)
    found = [(event.status, event.reason) for event in events if isinstance(event, Verdict)]
    return found, "".join(event.text for event in events if isinstance(event, Text)), events


def test_a_weaker_sign_must_show_more_and_lenient_asks_for_nothing() -> None:
    for policy, asked in ASKED.items():
        assert set(asked) == set(STRENGTHS)
        assert asked["mark"] == ()
        if policy == "lenient":
            assert not any(asked.values())
        else:
            assert {"parameter", "required"} <= set(asked["form"])
            assert {"parameter", "complete", "last", "known"} <= set(asked["rest"])
    assert set(ASKED["strict"]["form"]) - set(ASKED["standard"]["form"]) == {"unfenced"}


def test_a_dialect_may_have_openers_of_another_strength() -> None:
    sign = Sign(strength="form", marks=("```tool",), rests=("to=",))
    assert [sign.of(opener) for opener in ("```tool_call", "to=x", "<x>")] == ["mark", "rest", "form"]


KEYS = st.text(st.characters(codec="ascii"), max_size=6)
OBJECTS = st.dictionaries(
    KEYS, st.recursive(st.none() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(KEYS, of))
)


@examples(200)
@given(OBJECTS, st.lists(st.integers(min_value=0, max_value=200), max_size=6), st.booleans())
def test_the_keys_that_have_begun_are_those_of_the_object(
    value: dict[str, object], cuts: list[int], compact: bool
) -> None:
    text = json.dumps(value, separators=(",", ":") if compact else None)
    opened = OpenedKeys()
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    for start, end in pairwise(places):
        opened.feed(text[start:end])
    assert opened.keys == set(value)


def test_a_key_counts_when_its_value_begins() -> None:
    opened = OpenedKeys()
    for piece, keys in (
        ('{"a', set()),
        ('": ', set()),
        ('"x, \\"b\\": 1', {"a"}),
        ('", "b":', {"a"}),
        ("[", {"a", "b"}),
    ):
        opened.feed(piece)
        assert opened.keys == keys


@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_form_leaves_with_its_last_required_parameter(size: int) -> None:
    begun = "<read>\n<lines>1-2</lines>\n"
    reader = Reader(CallPolicy(Route(), READ))
    pieces = [begun[at : at + size] for at in range(0, len(begun), size)] if size else [begun]
    assert [event for piece in pieces for event in reader.feed(piece)] == []
    assert any(isinstance(event, CallStart) for event in reader.feed("<path>a"))


def test_a_form_that_is_longer_than_may_be_held_leaves_with_a_parameter() -> None:
    text = f"<read><lines>{'x' * 4000}</lines><path>a</path></read>"
    for size in (0, 7):
        assert read(text, CallPolicy(Route(max_buffer_bytes=1024), READ), size)[0] == [("lifted", None)]


WEAK, LIFTED = [("declined", "weak_sign")], [("lifted", None)]


def test_one_more_sign_makes_a_rest_a_call() -> None:
    told = Request(tools=SHELL.tools, assistant=("I look.\nshell>pwd",))
    explained = Request(tools=SHELL.tools, assistant=("shell>pwd\nshows where you are.",))
    for request, route, found in (
        (SHELL, Route(), WEAK),
        (Request(tools=SHELL.tools, model="zai/GLM-4.7"), Route(), LIFTED),
        (Request(tools=SHELL.tools, model="glm-4"), Route(policy="strict"), LIFTED),
        (told, Route(), LIFTED),
        (explained, Route(), WEAK),
        (SHELL, Route(dialects=("zeroclaw",)), LIFTED),
        (SHELL, Route(policy="lenient"), LIFTED),
        (SHELL, Route(take=("weak_sign",)), LIFTED),
        (SHELL, Route(take=("undeclared",)), WEAK),
    ):
        assert read("shell>ls", CallPolicy(route, request))[0] == found, (request, route)


def test_a_dialect_that_is_read_with_a_named_one_is_known() -> None:
    text = 'functions.read:0{"path": "a"}'
    assert read(text, CallPolicy(Route(dialects=("kimi_k2",)), READ))[0] == LIFTED
    assert read(f"{text}\nThere.", CallPolicy(Route(dialects=("kimi_k2",)), READ))[0] == [("declined", "not_terminal")]


def test_a_rest_without_a_required_argument_is_text() -> None:
    assert read("call:read{lines:3}", CallPolicy(Route(), READ))[0] == [("declined", "missing_argument")]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>read\n{"path": "a"}\n</tool_call>',
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    ],
)
def test_what_begins_as_a_clients_own_dialect_is_read_as_no_other(text: str) -> None:
    own = CallPolicy(Route(), READ, first=("hermes",))
    found, shown, _ = read(text, own)
    assert not [status for status, _ in found if status == "lifted"]
    assert shown == text
    assert read(text, CallPolicy(Route(), READ))[0] == LIFTED
    assert read('<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>', own)[0] == LIFTED


def test_a_client_that_declares_no_tools_runs_none() -> None:
    text = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
    lenient = Route(policy="lenient")
    assert read(text, CallPolicy(lenient, Request(), tools_known=True))[0] == [("declined", "no_tools")]
    assert read(text, CallPolicy(lenient, Request()))[0] == LIFTED
    assert read(text, CallPolicy(lenient, SHELL, tools_known=True))[0] == LIFTED
    assert read(text, CallPolicy(Route(take=("undeclared",)), Request(), tools_known=True))[0] == LIFTED


# A message of a template, what is left of it, and one that follows it.
MESSAGES = {
    "harmony": ("<|channel|>analysis<|message|>Hm.<|end|>", "",
                "<|start|>assistant<|channel|>final<|message|>Hi.<|return|>"),
    "harmony with its start": ("<|start|>assistant<|channel|>final<|message|>Hm.<|end|>", "Hm.", ""),
    "harmony_stripped": ("analysisWe wait.assistantfinalHm.", "Hm.", ""),
    "cohere": ("<|START_RESPONSE|>Hm.<|END_RESPONSE|>", "Hm.", "<|START_TEXT|>Hi.<|END_TEXT|>"),
    "cohere's thoughts": ("<|START_THINKING|>Hm.<|END_THINKING|>", "", "<|START_RESPONSE|>Hi.<|END_RESPONSE|>"),
    "gemma4": ("<|channel>thought\nHm.<channel|>", "", ""),
    "kimi_k3": ("<|open|>response<|sep|>Hm.<|close|>response<|sep|>", "Hm.", ""),
    "functionary_v2": ("<|recipient|>all\n<|content|>Hm.", "Hm.", ""),
    "inkling": ("<|content_text|>Hm.<|end_message|>", "Hm.", "<|message_model|><|content_text|>Hi.<|end_message|>"),
    "plamo3": ("<|plamo:begin_think:plamo|>Hm.<|plamo:end_think:plamo|>", "", ""),
}  # fmt: skip
AROUND = {
    "in a sentence": "The format is {} here.",
    "in a list": "The parts:\n\n- {}: a turn\n- b",
    "on a line": "It is rendered as\n{}\nby the library.",
    "in quotes": 'He wrote "{}" there.',
}


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", MESSAGES)
def test_marks_of_a_template_in_prose_stay(name: str, around: str, size: int) -> None:
    text = AROUND[around].format(MESSAGES[name][0])
    for route in (Route(), Route(policy="strict"), Route(policy="lenient")):
        _, shown, _ = read(text, CallPolicy(route, READ), size)
        assert shown == text


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("name", MESSAGES)
def test_marks_go_where_a_message_of_their_template_can_be(name: str, size: int) -> None:
    message, left, following = MESSAGES[name]
    for text, rest in (
        (message, left),
        (f"\n{message}", f"\n{left}"),
        (message + following, left + ("Hi." if following else "")),
    ):
        reader = CallPolicy(Route(), READ)
        assert read(text, reader, size)[1] == rest


# Prose, markup, shells and data in which a tool's name stands as a word; `{}` is the name, `{w}` any words.
PROSE = (
    "{}>{w}", "{}>{w}\n{w}", "{}>{w} {{ color: red; }}", "{}/{w}>{w}", "<{}>{w}</{}>",
    "<{}>\n- {w}\n- {w}\n</{}>\n{w}", "<{}/>", "<{} />\n{w}", "<{}></{}>", "<svg>\n<{}>{w}</{}>\n</svg>", "{}({w})",
    "[{}({w})]\n{w}", "{} > {w}", "TOOL_NAME: {}\n{w}", "{}[{w}]", "{}: {w}", "Action: {}\n{w}", "functions.{} {w}",
    "call:{} {w}", "to={} {w}", '{{"name": "{}", "version": "{w}"}}', "{}>\n{w}", "assistantfinal {w}",
    "<|channel|> {w}",
    "It is <|START_RESPONSE|>{w}<|END_RESPONSE|> {w}",
)  # fmt: skip
NAMES = st.sampled_from(["nav", "search", "title", "plan", "button", "web-search", "mcp__x__run", "open_file", "shell"])
WORDS = st.lists(
    st.sampled_from(["a", "index", "is false", "ul>li", "42", "it.", "b > c", "λ"]), min_size=1, max_size=4
)


@examples(200)
@given(
    st.lists(st.tuples(st.sampled_from(PROSE), NAMES, WORDS), min_size=1, max_size=4),
    st.sampled_from([("text",), ("target", "limit"), ()]),
    st.booleans(),
    st.integers(min_value=0, max_value=9),
)
def test_a_name_in_prose_is_no_call(
    made: list[tuple[str, str, list[str]]], keys: tuple[str, ...], needs: bool, size: int
) -> None:
    keys = keys or ("text",)
    text = "\n\n".join(form.replace("{}", name).format(w=" ".join(words)) for form, name, words in made)
    request = Request(tools=tuple(tool(name, *keys, required=keys[:1] if needs else ()) for _, name, _ in made))
    for route in (Route(), Route(policy="strict")):
        found, shown, _ = read(text, CallPolicy(route, request), size)
        assert shown == text
        assert not [status for status, _ in found if status == "lifted"]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ('{"name": "shell", "arguments": {}}', "bare_json"),
        ('```json\n{"name": "shell", "arguments": {}}\n```', "fenced_json"),
        ("[shell()]", "pythonic"),
        ("call:shell{}", "gemma4_stripped"),
        ("Action: shell\nAction Input: {}", "react"),
    ],
)
def test_empty_arguments_that_are_written_show_as_much_as_a_parameter(text: str, dialect: str) -> None:
    for size in (0, 1):
        found, shown, events = read(text, CallPolicy(Route(), SHELL), size)
        assert found == [("lifted", None)]
        assert (shown, [one.dialect for one in events if isinstance(one, CallStart)]) == ("", [dialect])


@pytest.mark.parametrize("text", ["<shell>\n</shell>", '{"name": "shell"}', "<shell></shell>"])
def test_a_name_alone_shows_nothing(text: str) -> None:
    for size in (0, 1):
        found, shown, _ = read(text, CallPolicy(Route(), SHELL), size)
        assert ("lifted", None) not in found
        assert shown == text
