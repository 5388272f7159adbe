"""Strings and calls of which marks are missing, in every dialect of the form `call:N{k:<q>text<q>}`."""

import json

import pytest

from support.damaged import TOOLS, of_shape, outcome
from toolcalls.dialects import all_dialects
from toolcalls.shapes import Call
from toolcalls.shapes.code.delimited_object import DelimitedObject
from toolcalls.values.toolbox import Toolbox

ARGUMENTS = json.dumps({"content": "it's {a}, b: c\n", "path": "a.ts"})
NAMES = of_shape(DelimitedObject)


def form(name: str) -> tuple[DelimitedObject, str]:
    """The dialect, and a call as it writes it."""
    dialect = all_dialects()[name]
    assert isinstance(dialect, DelimitedObject)
    return dialect, dialect.write([Call("Write", ARGUMENTS)], Toolbox(TOOLS))


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_string_without_its_last_delimiter_is_the_same_string(name: str, number: int) -> None:
    dialect, text = form(name)
    parts = text.split(dialect.delimiter)
    damaged = dialect.delimiter.join([*parts[:number], parts[number] + parts[number + 1], *parts[number + 2 :]])
    for whole in (damaged, f"{damaged}\n{text}"):
        read = outcome(whole, name)
        assert read.calls[0] == ("Write", ARGUMENTS)
        assert "unclosed_value" in read.repairs
    if number == 3:
        assert outcome(damaged, name, finish="length").calls == ()
        assert outcome(f"{damaged} That is the form.", name).calls == ()


@pytest.mark.parametrize("quotes", ["'{0}'", "'{1}{0}{1}'", "'{1}{0}{1}", "'{0}{1}", "'{0}'{1}"])
@pytest.mark.parametrize("name", NAMES)
def test_single_quotes_are_no_part_of_a_string(name: str, quotes: str) -> None:
    dialect, text = form(name)
    mark = dialect.delimiter
    for value in json.loads(ARGUMENTS).values():
        text = text.replace(f"{mark}{value}{mark}", quotes.format(value, mark))
    read = outcome(text, name)
    assert read.calls == (("Write", ARGUMENTS),)
    assert read.repairs == ("single_quotes",)


@pytest.mark.parametrize("name", [name for name in NAMES if form(name)[0].before])
def test_a_call_without_its_opening_token_stands_at_the_start_of_a_line(name: str) -> None:
    dialect, text = form(name)
    naked = text.removeprefix(dialect.opening[0])
    for dialects in (name, None):
        assert outcome(naked, dialects).calls == (("Write", ARGUMENTS),)
        assert outcome(f"So:\n{naked}", dialects).repairs == ("lost_opener",)
        assert outcome(f"So {naked}", dialects).calls == ()
        assert outcome(f"```\n{naked}\n```\n", dialects).calls == ()
