"""What a request's tools add to the openers (`reading/opener_tables.py`): their names, and no literal for each form.

Strategy: every dialect is asked for the openers of a few ordinary names, and must write each as it writes `PROBE`; what
a new set of tools costs is counted in Python calls and bytes, since a clock would measure the machine.
"""

import gc
from collections.abc import Callable
from functools import partial
from itertools import count, islice

import pytest

from support.allocations import allocates_at_most
from support.pythoncalls import calls_of
from toolcalls.dialects import all_dialects, chosen
from toolcalls.events import CallEnd
from toolcalls.reading.opener_tables import ORDINARY, PROBE, Literals, Table
from toolcalls.reading.openers import openers_of
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.values.tool_names import ToolNames

NAMES = ("Read", "write_to_file", "mcp__files__list", "a", "python", "all", "web.search", "get-weather", "Z9", "name")
ODD = ('q"t', "_private", "9lives", "files/read", "functions.run", "W\u00f6rld", "two words", "line\nend")


@pytest.mark.parametrize("dialect", sorted(all_dialects()))
def test_a_dialect_writes_every_ordinary_name_as_it_writes_any(dialect: str) -> None:
    openers = all_dialects()[dialect].openers
    forms = openers((PROBE,))
    assert set(openers(NAMES)) == {form.replace(PROBE, name) for form in forms for name in NAMES}
    assert set(openers((*NAMES, *ODD))) == {*openers(NAMES), *openers(ODD)}
    assert not any(opener.count(PROBE) > 1 for opener in forms)


def test_what_some_dialects_write_in_their_own_way_is_no_ordinary_name() -> None:
    assert all(map(ORDINARY.fullmatch, (*NAMES, PROBE)))
    assert not any(map(ORDINARY.fullmatch, ODD))


def names_of(tag: int, size: int) -> tuple[str, ...]:
    return tuple(f"{('read', 'Write', 'list')[each % 3]}_{tag}_{each}" for each in range(size))


def request_of(tag: int, size: int) -> Request:
    return Request(
        tools=tuple(Tool(name, {"properties": {"path": {"type": "string"}}}) for name in names_of(tag, size))
    )


def read(request: Request) -> None:
    """A reply with text, a call in each of two forms, the second of which looks for all names, and text after them."""
    name = request.tools[0].name
    reader = Reader(CallPolicy(Route(), request))
    invoked = f'<invoke name="{name}"><parameter name="path">x</parameter></invoke>'
    naked = f"{name}\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n</tool_call>"
    pieces = ("Hello\n", "there.\n", invoked, "\n", naked, "\n", "a")
    events = [event for piece in pieces for event in reader.feed(piece)]
    assert sum(isinstance(event, CallEnd) for event in events) == 2


def test_a_new_set_of_tools_adds_little_to_a_reply() -> None:
    """Before names were looked up by themselves, each tool took hundreds of calls."""
    read(request_of(0, 5))
    few, many = (calls_of(partial(read, request_of(size, size))) for size in (5, 120))
    assert few < 2000
    assert many - few < 10 * 115


def test_a_set_of_tools_keeps_a_few_kilobytes() -> None:
    read(request_of(0, 60))
    tags = count(1)

    def prepare() -> Callable[[], object]:
        requests = [request_of(tag, 60) for tag in islice(tags, 40)]
        gc.collect()

        def work() -> None:
            for request in requests:
                read(request)
            gc.collect()

        return work

    allocates_at_most(prepare, held=40 * 40_000)


def test_the_same_tools_have_the_same_openers() -> None:
    dialects = chosen(None)
    one, same, other = (openers_of(dialects, names_of(tag, 3), anywhere=False, results=False) for tag in (1, 1, 2))
    assert one is same
    assert one is not other


def test_a_tool_without_a_name_adds_no_opener() -> None:
    dialects = chosen(None)
    openers = openers_of(dialects, ("",), anywhere=False, results=False)
    assert openers.find("a\n(x", 0, line_start=True, message_start=True, ended=True) is None


def test_no_dialect_begins_with_a_name_inside_a_line() -> None:
    class Wrong:
        name, place, stray_words = "wrong", "line", ()

        def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(f"{name}!" for name in names)

    with pytest.raises(ValueError, match="wrong: what begins with a tool's name"):
        openers_of((Wrong(),), ("a",), anywhere=False, results=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [(), ("li",), ("list_it",)])
def test_what_begins_like_an_opener_is_none_by_its_next_characters(names: tuple[str, ...]) -> None:
    literals = ("<list_files>", "<a>", "<tool>")
    table = Table({opener: {} for opener in (*literals, *((f"<{PROBE}>",) if names else ()))})
    openers = (*literals, *(f"<{name}>" for name in names))
    known = Literals(table, ToolNames(names))
    for opener in openers:
        for size in range(1, len(opener)):
            begun = opener[:size]
            assert known.may_begin(begun, 0), begun  # more may come
            assert (
                known.may_begin(f"{begun}++++++++++", 0)
                == (  # no mark that a name may have
                    size >= 6 or begun == "<a>" or any(one[1:3] == begun[1:3] for one in openers[3:] if size >= 3)
                )
            ), begun
        assert known.may_begin(f"a{opener}b", 1)
        assert known.at(f"a{opener}b", 1)
