"""Pairs of which half is missing, in every dialect that writes keys and values.

Strategy: the dialect writes a call with two parameters; then each tag around a key or a value is left out, one at a
time. The call must come out as it was, with a repair, and no pair may end up in the value before it.
"""

import json
import re

import pytest

from support.damaged import TOOLS, of_shape, outcome
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.values.toolbox import Toolbox

ARGUMENTS = json.dumps({"path": "a.ts", "content": "two words\nand <b>more</b>"})
NAMES = [name for name in of_shape(PairForm) if name != "glm_naked"]


def written(name: str) -> str:
    return all_dialects()[name].write([Call("Write", ARGUMENTS)], Toolbox(TOOLS))


def tags(name: str) -> list[re.Match[str]]:
    """The tags around keys and values in what the dialect writes."""
    dialect = all_dialects()[name]
    assert isinstance(dialect, PairForm)
    elements = "|".join(map(re.escape, (dialect.key, dialect.value)))
    return list(re.finditer(f"</?(?:{elements})>", written(name)))


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("name", NAMES)
def test_a_call_with_a_tag_left_out_is_the_same_call(name: str, number: int) -> None:
    text, tag = written(name), tags(name)[number]
    read = outcome(text[: tag.start()] + text[tag.end() :], name)
    assert read.calls == (("Write", ARGUMENTS),)
    assert read.text == ""
    assert read.repairs


@pytest.mark.parametrize("number", range(8))
def test_it_is_the_same_among_all_dialects(number: int) -> None:
    text, tag = written("glm_xml"), tags("glm_xml")[number]
    assert outcome(text[: tag.start()] + text[tag.end() :]).calls == (("Write", ARGUMENTS),)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_is_not_closed_belongs_to_the_call_only_where_the_reply_ends(name: str) -> None:
    """A file that documents the form goes on after the closers that it quotes."""
    text = written(name)
    closer = tags(name)[-1]
    unclosed = text[: closer.start()] + text[closer.end() :]
    assert outcome(f"{unclosed}\nThat is the form.", name).calls == ()
    assert outcome(unclosed, name, finish="length").calls == ()
    assert outcome(f"{unclosed}\n{text}", name).calls == (("Write", ARGUMENTS), ("Write", ARGUMENTS))


@pytest.mark.parametrize("name", NAMES)
def test_a_line_end_that_is_written_as_an_escape_is_layout(name: str) -> None:
    dialect = all_dialects()[name]
    assert isinstance(dialect, PairForm)
    text = written(name).replace("\nand", " and").replace(f"<{dialect.key}>", f"\\n<{dialect.key}>")
    read = outcome(text, name)
    assert read.calls == (("Write", ARGUMENTS.replace("\\nand", " and")),)
    assert "escaped_line_end" in read.repairs


def test_what_only_looks_like_half_a_pair_is_the_values() -> None:
    """It has a closing tag of its own, the call has that parameter, or no parameter has that name."""
    for inside in (
        "<arg_key>content</arg_key><arg_value>x</arg_value>",
        "<arg_key>path</arg_key><arg_value>x",
        "path</arg_key>",
        "<arg_key>other</arg_key>",
        "</arg_value>other</arg_key><arg_value>",
    ):
        text = f"<tool_call>Write<arg_key>path</arg_key><arg_value>see {inside}</arg_value></tool_call>"
        assert outcome(text, "glm_xml").calls == (("Write", json.dumps({"path": f"see {inside}"})),)


@pytest.mark.parametrize(
    ("value", "read", "repair"),
    [
        (r"[\"a\", \"b\"]", '{"list": ["a", "b"]}', "escaped_quotes"),
        ("{'a'}", '{"list": ["a"]}', "python_literal"),
        ("(1, 2)", '{"list": [1, 2]}', "python_literal"),
    ],
)
def test_a_list_that_is_spelt_otherwise(value: str, read: str, repair: str) -> None:
    for text in (
        f"<tool_call>Tune<arg_key>list</arg_key><arg_value>{value}</arg_value></tool_call>",
        f"<tool_call>\n<function=Tune>\n<parameter=list>\n{value}\n</parameter>\n</function>\n</tool_call>",
        f'<invoke name="Tune">\n<parameter name="list">{value}</parameter>\n</invoke>',
        f"<Tune>\n<list>{value}</list>\n</Tune>",
    ):
        assert outcome(text).calls == (("Tune", read),)
        assert repair in outcome(text).repairs
