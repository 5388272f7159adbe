"""Calls that are written after a text (`writing/behind.py`): they read back in their place, or they are not written.

Strategy: every dialect after texts of every kind that Markdown knows, open and closed, with calls of one and two
tools. What is written is read with the text in front of it, by `standard` and by `lenient`. The addon must keep the
same law: the same texts come from an upstream whose calls are native, on a wire with one text and on one with blocks.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import anthropicclient, chatclient
from support.exchanges import in_pieces, of_kind, run
from support.sampling import a_few, some
from support.strategies import NOISE, PARTS, TAGS, law, tool
from toolcalls.dialects import all_dialects, chosen
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.text.markdown import Position
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.behind import TextBefore, behind
from toolcalls.writing.writer import calls_in, same_calls, write

DIALECTS = all_dialects()
MESSAGE = tuple(name for name, dialect in DIALECTS.items() if dialect.place == "message")
TOOLS = (tool("Bash", command="string"), tool("read_file", path="string", line="integer"))
BOX = Toolbox(TOOLS)
CALLS = (
    (Call("Bash", '{"command": "ls -l"}'),),
    (Call("read_file", '{"path": "src/a.ts", "line": 7}'), Call("Bash", '{"command": "make"}')),
)
# After these no dialect but those that are a whole message may refuse.
ORDINARY = (
    "I look.", "I look.\n", "I look.\n\n", "I look. ", "I look:\r\n", "* one\n* two", "1. one\n2. two\n", "# Head",
    "> quoted", "> quoted\n", "> ```\n> code", "    code", "See `this", "See `this`", "a < b", "| a | b |\n|---|---|",
    "```\ncode\n```", "1. a\n   ```\n   x\n   ```\n", "<b>bold</b>", "Then call:", "[link](x)",
)  # fmt: skip
# Nor after these, which leave something open that can be closed.
OPEN = (
    "```\ncode\n", "```py\ncode", "```py", "~~~~\ncode\n", "1. a\n   ```\n   x", "<!-- comment", "<think>\nI think",
    "<example>\nx", "<pre>\nx",
)  # fmt: skip
TANGLED = ('["a", ', '{"a": ', "cat <<EOF\nx\n", '"""\nx', "Call: ", ">>>", "```tool_code\n", "Action: ")
BLANK = ("", " ", "\n\n")
LENGTHY = "word " * 1000


def reads(before: str, text: str, dialect: str, calls: tuple[Call, ...], policy: PolicyName) -> bool:
    reader = Reader(CallPolicy(Route(dialects=(dialect,), policy=policy), Request(tools=TOOLS), alone=True))
    events = [*reader.feed(before + text), *reader.finish(cut=False)]
    return same_calls(calls_in(events), calls)


def written(before: str, dialect: str, calls: tuple[Call, ...]) -> str | None:
    """What comes after a text; None where the dialect cannot hold it there."""
    text = write(dialect, calls, BOX)
    try:
        return behind(before, dialect, text, calls, BOX)
    except Unwritable:
        return None


# The beginning of a call in a form that is read with the dialect, which the client does not know.
BESIDE = [
    (dialect, beside.name)
    for dialect in DIALECTS
    if dialect not in MESSAGE  # which nothing may come before
    for beside in sorted({*chosen((dialect,))} - {*chosen((dialect,), alone=True)}, key=lambda one: one.name)
]


def holds(dialect: str, calls: tuple[Call, ...]) -> bool:
    try:
        write(dialect, calls, BOX)
    except Unwritable:
        return False
    return True


@pytest.mark.parametrize(("dialect", "beside"), BESIDE)
def test_what_begins_in_a_form_that_the_client_does_not_know_is_text(dialect: str, beside: str) -> None:
    begun = f"So:\n{write(beside, CALLS[0], BOX)[:25]}"
    text = written(begun, dialect, CALLS[0])
    assert text is not None
    assert reads(begun, text, dialect, CALLS[0], "lenient")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_written_behind_a_text_is_read_there(dialect: str) -> None:
    for calls in CALLS:
        if not holds(dialect, calls):
            continue
        for before in some(a_few((*ORDINARY, *OPEN, *TANGLED, *BLANK), 12, dialect), 3, dialect):
            text = written(before, dialect, calls)
            if text is None:
                assert before in TANGLED or (dialect in MESSAGE and before not in BLANK), before
                continue
            assert text.endswith(write(dialect, calls, BOX)), "nothing but what stands in front is new"
            for policy in ("standard", "lenient"):
                assert reads(before, text, dialect, calls, policy), (before, policy)


def test_a_dialect_that_is_a_whole_message_is_not_written_behind_a_sentence() -> None:
    assert {"fenced_json", "gemma3_tool_code", "functionary_v32", "nexusraven"} <= set(MESSAGE)
    for dialect in MESSAGE:
        assert [written(before, dialect, CALLS[0]) for before in ORDINARY] == [None] * len(ORDINARY)
        assert [written(before, dialect, CALLS[0]) for before in BLANK] != [None] * len(BLANK)


def test_as_many_line_ends_as_the_addon_puts_there() -> None:
    for before, lead in (("I look.", "\n\n"), ("I look.\n", "\n"), ("I look.\n\n", ""), ("> quoted\n", "\n"), ("", "")):
        assert written(before, "hermes", CALLS[0]) == lead + write("hermes", CALLS[0], BOX)


def test_an_open_quotation_is_closed_with_its_own_closer() -> None:
    leads = ("```\n\n", "\n```\n\n", "```\n\n", "~~~~\n\n", "\n\n", "-->\n\n", "</think>\n\n", "</example>\n\n",
             "</pre>\n\n")  # fmt: skip
    text = write("hermes", CALLS[0], BOX)
    assert [written(before, "hermes", CALLS[0]) for before in OPEN] == [lead + text for lead in leads]


def test_of_a_long_text_its_markdown_is_known() -> None:
    for before in (*ORDINARY, *OPEN):
        for dialect in ("hermes", "mistral", "fenced_json"):
            short, long = (written(lead + before, dialect, CALLS[0]) for lead in ("word\n\n", f"{LENGTHY}\n\n"))
            place = TextBefore()
            for at in range(0, len(LENGTHY), 7):
                place.add(LENGTHY[at : at + 7])
            place.add(f"\n\n{before}")
            place.ends_with(f"\n\n{before}")
            text = write(dialect, CALLS[0], BOX)
            assert short == long
            if long is None:
                with pytest.raises(Unwritable, match="behind the text"):
                    place.placed(dialect, text, CALLS[0], BOX, Route())
            else:
                assert place.placed(dialect, text, CALLS[0], BOX, Route()) == long


def test_where_the_text_before_begins_matters() -> None:
    place = Position()
    place.advance("```\ncode\n")
    text = write("hermes", CALLS[0], BOX)
    assert TextBefore(place).placed("hermes", text, CALLS[0], BOX, Route()) == f"```\n\n{text}"
    assert TextBefore().placed("hermes", text, CALLS[0], BOX, Route()) == text


def test_a_route_without_line_ends_has_none_where_the_call_can_be_read_in_the_line() -> None:
    text = write("hermes", CALLS[0], BOX)
    for before, lead in (("I look.", ""), ("```\ncode\n", "```\n\n"), ("> quoted\n", "\n")):
        place = TextBefore()
        place.add(before)
        place.ends_with(before)
        assert place.placed("hermes", text, CALLS[0], BOX, Route(prepend_newlines=False)) == lead + text


@law
@given(
    st.lists(st.sampled_from([*NOISE, *PARTS, *TAGS, "[", "{", "```json\n", "Call:"]), max_size=6).map("".join),
    st.sampled_from(tuple(DIALECTS)),
    st.sampled_from(CALLS),
)
def test_law_7_behind_any_text(before: str, dialect: str, calls: tuple[Call, ...]) -> None:
    if not holds(dialect, calls) or (text := written(before, dialect, calls)) is None:
        return
    # The text may hold calls, and begin ones, too.
    known = Reader(CallPolicy(Route(dialects=(dialect,)), Request(tools=TOOLS)))
    first = calls_in([*known.feed(before), *known.finish(cut=False)])
    assert reads(before, text, dialect, (*first, *calls), "standard")


# --- the addon --------------------------------------------------------------------------------------------------------


def of_chat(said: str, calls: tuple[Call, ...]) -> bytes:
    body = chatclient.event(chatclient.chunk({"role": "assistant", "content": ""}))
    for at in range(0, len(said), 5):
        body += chatclient.event(chatclient.chunk({"content": said[at : at + 5]}))
    for index, call in enumerate(calls):
        body += chatclient.native(call, index, [call.arguments])
    return body + chatclient.ending("tool_calls")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_the_addon_writes_behind_a_text_is_read_there(dialect: str) -> None:
    calls = CALLS[0]
    if not holds(dialect, calls):
        pytest.skip("its clients hold no such call")
    for said in some(a_few((*ORDINARY, *OPEN, *TANGLED, *BLANK), 8, dialect), 2, dialect):
        body = of_chat(said, calls)
        outs = set()
        for size in (0, 60):
            exchange = of_kind(all_wires()["openai_chat"], TOOLS, Route(), "lower", form="sse", dialect=dialect)
            outs.add(run(exchange, in_pieces(body, size)))
        (out,) = outs
        (choice,) = chatclient.received(out).choices.values()
        natives = tuple(Call(call["name"], call["arguments"]) for call in choice.calls)
        if natives:
            assert same_calls(natives, calls)
            assert choice.text == said
            assert written(said, dialect, calls) is None
            assert [verdict.reason for _, verdict in exchange.verdicts if verdict.name] == ["unwritable"]
        else:
            assert choice.text.startswith(said)
            assert choice.text == said + (written(said, dialect, calls) or "")


@pytest.mark.parametrize("said", ["I look.", "```\ncode\n", "<!-- comment"])
def test_blocks_of_a_message_are_read_as_joined(said: str) -> None:
    (call,) = CALLS[0]
    events = anthropicclient.stream(
        [anthropicclient.text(said), anthropicclient.call("toolu_1", call.name, call.arguments)], "tool_use"
    )
    exchange = of_kind(all_wires()["anthropic"], TOOLS, Route(), "lower", form="sse", dialect="hermes")
    reply = anthropicclient.received(run(exchange, [anthropicclient.written(events)]))
    assert reply.text.startswith(said)
    assert reads("", reply.text, "hermes", CALLS[0], "standard")


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if all_dialects()[name].place == "message"])
def test_a_message_of_json_is_no_call_where_the_client_asked_for_json(dialect: str) -> None:
    for calls in CALLS:
        if holds(dialect, calls):
            text = write(dialect, calls, BOX)
            assert TextBefore().placed(dialect, text, calls, BOX, Route()).strip() == text.strip()
            with pytest.raises(Unwritable):
                TextBefore(structured=True).placed(dialect, text, calls, BOX, Route())
