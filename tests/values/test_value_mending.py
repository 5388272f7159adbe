"""One call's arguments, piece by piece: what leaves at once, what waits for what follows, and what is mended of it."""

import json
from functools import partial
from typing import Any

import pytest

from support.growth import grows_with_its_input
from toolcalls.request import Tool
from toolcalls.values.json_schema import SchemaCheck
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.type_mending import ToolSchema
from toolcalls.values.value_mending import Held, ValueMending

WANTED = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
TOOLS = Toolbox([Tool("t", WANTED)])
VALIDATOR = TOOLS.validator("t")
assert VALIDATOR is not None
SCHEMA = ToolSchema(VALIDATOR, SchemaCheck(WANTED), lambda path: TOOLS.types("t", *path))
JSON: dict[str, Any] = {"schema": None, "json": True}
TYPES: dict[str, Any] = {"schema": SCHEMA, "json": False}
BOTH: dict[str, Any] = {"schema": SCHEMA, "json": True}
INSTEAD: dict[str, Any] = {"schema": None, "json": False, "instead": '{"n": 1}'}

type Steps = list[tuple[str, str, int]]  # what comes, what leaves, how many calls hold something then


@pytest.mark.parametrize(
    ("asked", "steps", "end", "repairs", "unreadable", "mismatches"),
    [
        pytest.param(BOTH, [('{"n": 1', '{"n": 1', 0), ("}", "}", 0)], "", [], False, 0, id="sound"),
        pytest.param(
            BOTH, [('{"n": 1, ', '{"n": 1', 1), (" ", "", 1), ('"s": "x"}', ',  "s": "x"}', 0)], "", [], False, 0,
            id="a comma that ends a piece",
        ),
        pytest.param(
            JSON, [('{"n": 1,', '{"n": 1', 1), ("}", "}", 0)], "", ["trailing_comma"], True, 0,
            id="a comma that is one too many",
        ),
        pytest.param(
            TYPES, [('{"s": "x", "n": "5', '{"s": "x", "n": ', 1), ('"', "", 1), ("}", "5}", 0)],
            "", ["wrong_type"], False, 1, id="a string for a number",
        ),
        pytest.param(
            TYPES, [('{"s": "x", "n": "5', '{"s": "x", "n": ', 1), ('"', "", 1)], '"5"', [], False, 0,
            id="the arguments never end",
        ),
        pytest.param(
            TYPES, [('{"s": "x", "n": "5x"', '{"s": "x", "n": ', 1), ("}", '"5x"}', 0)], "", [], False, 0,
            id="a string that means no number",
        ),
        pytest.param(TYPES, [('{"n": "5"}', '{"n": 5}', 0), ("}", "}", 0)], "", ["wrong_type"], False, 1, id="behind"),
        pytest.param(
            BOTH, [('{"n": "5"}', '{"n": 5}', 0), ("}", "", 1)], "", ["wrong_type", "surplus_bracket"], True, 1,
            id="a type and a bracket",
        ),
        pytest.param(
            JSON, [('{"n": 5}', '{"n": 5}', 0), ("}", "", 1), (" ]", "", 1)], "", ["surplus_bracket"], True, 0,
            id="brackets that are too many",
        ),
        pytest.param(
            JSON, [('{"n": 5}', '{"n": 5}', 0), ("}", "", 1), ("x", "}x", 0), ("y", "y", 0)], "", [], False, 0,
            id="words behind a bracket",
        ),
        pytest.param(JSON, [('{"n": 5}', '{"n": 5}', 0), (" ", " ", 0)], "", [], False, 0, id="white space behind"),
        pytest.param(JSON, [("{'n': 5", "", 1), ("}", '{"n": 5}', 0)], "", ["single_quotes"], True, 0, id="quotes"),
        pytest.param(
            BOTH, [("{'n': '5'", "", 1), ("}x", "{'n': '5'}x", 0)], "", [], False, 0, id="words behind what is no JSON"
        ),
        pytest.param(
            BOTH, [(" {'n': '5'", "", 1), ("}", ' {"n": 5}', 0)], "", ["single_quotes", "wrong_type"], True, 1,
            id="no JSON, and another type",
        ),
        pytest.param(
            JSON, [('{"s": "it\\', '{"s": "it\\', 0), ("'s\"}", 'u0027s"}', 0)], "", ["invalid_escape"], True, 0,
            id="an escape that JSON has not, of which half has left",
        ),
        pytest.param(JSON, [('{"s": x y', '{"s": x y', 0), ("}", "}", 0)], "", [], False, 0, id="nothing is meant"),
        pytest.param(INSTEAD, [], '{"n": 1}', ["markup_in_name"], False, 0, id="nothing comes"),
        pytest.param(
            INSTEAD, [("{", "", 1), (" }", "", 1)], '{"n": 1}', ["markup_in_name"], False, 0, id="an empty object comes"
        ),
        pytest.param(INSTEAD, [("{", "", 1), ('"n": 2}', '{"n": 2}', 0)], "", [], False, 0, id="arguments come"),
        pytest.param(
            JSON, [('{"s": "', '{"s": "', 0), ("x" * 1_000_000, "x" * 1_000_000, 0), ('",}', '",}', 0)], "", [], False,
            0, id="more than is kept",
        ),
    ],
)  # fmt: skip
def test_what_leaves(
    asked: dict[str, Any], steps: Steps, end: str, repairs: list[str], unreadable: bool, mismatches: int
) -> None:
    held = Held()
    one = ValueMending(held, **asked)
    for piece, leaves, waiting in steps:
        assert (one.feed(piece), held.open) == (leaves, waiting), piece
    assert one.end(cut=False) == end
    assert (one.repairs, one.unreadable, len(one.mismatches)) == (repairs, unreadable, mismatches)
    assert held.open == 0
    assert bool(held.mended) == bool(repairs)
    assert one.feed("behind it all") == "behind it all"
    assert one.end(cut=False) == ""


@pytest.mark.parametrize(
    ("asked", "pieces", "left"),
    [
        (INSTEAD, [], ""),
        (INSTEAD, ["{", " }"], "{ }"),
        (TYPES, ['{"n": "5"'], '"5"'),
        (JSON, ['{"n": 5}', "}"], "}"),
        (JSON, ["{'n': 5"], "{'n': 5"),
        (JSON, ['{"n": 5 , '], ", "),
    ],
)
@pytest.mark.parametrize("cut", [False, True], ids=["no more may be held", "cut off"])
def test_what_may_not_wait_leaves_as_it_came(asked: dict[str, Any], pieces: list[str], left: str, cut: bool) -> None:
    held = Held()
    one = ValueMending(held, **asked)
    for piece in pieces:
        one.feed(piece)
    assert (one.end(cut=True) if cut else one.give_up()) == left
    assert (one.repairs, one.unreadable, one.mismatches) == ([], False, ())
    assert (held.open, held.mended) == (0, 0)
    if not cut:
        assert one.feed(",}") == ",}"


@pytest.mark.parametrize(("size", "repairs"), [(1_000_000, ["trailing_comma"]), (1_000_001, [])])
def test_how_much_is_kept(size: int, repairs: list[str]) -> None:
    one = ValueMending(Held(), **JSON)
    came = '{"s": "' + "x" * (size - 10) + '",}'
    assert len(came) == size
    assert one.feed(came) == came.replace(",}", "}" if repairs else ",}")
    assert one.repairs == repairs


@pytest.mark.parametrize(
    "escape",
    ["\\'", "\\\n", "\\ ", "\\x41", "\\q", "\\u12", "\\0", "\\U00000041", "\\u{41}", "\\u0041", "\\\\'", '\\"'],
)
def test_an_escape_means_the_same_wherever_it_is_cut(escape: str) -> None:
    """Or all stays as it came, where what has left cannot be the beginning of what was meant."""
    came = f"{{\"s\": \"a{escape}b\", 't': 'c'}}"
    heard = []
    for cut in range(len(came)):
        mending = ValueMending(Held(), **JSON)
        left = mending.feed(came[:cut]) + mending.feed(came[cut:]) + mending.end(cut=False)
        assert (left == came) == (not mending.repairs), cut
        heard += [] if left == came else [json.loads(left)]
    assert heard
    assert all(one == heard[0] for one in heard)


@pytest.mark.parametrize(
    "came",
    [
        '{"s": "x", n: 1}', "{n: 1}", '{"s": "x", longer_key : 1}', "{'n': 1}", '{"n": None}',
        '{"n": 1, /* c */ "s": "x"}',
        '{"s": "a\nb", "n": 1,}', '{"n": tru, "s": 1}', '{"n": True}', '{"s": "x"; "n": 1}', '{"n": +1}', '{"n": .5}',
    ],
)  # fmt: skip
def test_what_is_no_json_is_held_from_its_first_character_on(came: str) -> None:
    """So the same leaves of it in whatever pieces it comes."""
    heard = set()
    for size in (1, 2, 3, 5, len(came)):
        mending = ValueMending(Held(), **JSON)
        pieces = [came[at : at + size] for at in range(0, len(came), size)]
        heard.add(("".join([*map(mending.feed, pieces), mending.end(cut=False)]), tuple(mending.repairs)))
    assert len(heard) == 1


def test_patterns_of_a_schema_are_not_searched_for() -> None:
    """They may take without end, and a value that breaks one is still of its type."""
    check = SchemaCheck({"type": "string", "pattern": "^(a+)+$", "maxLength": 40})
    assert check.errors("a" * 35 + "!", 40) == set()
    assert check.errors("a" * 41, 50) != set()


@pytest.mark.parametrize(
    ("asked", "begins", "goes_on"),
    [(JSON, "{'a': \"", "abcd"), (BOTH, '{"n": "', "5"), (JSON, '{"n": 1,', "    "), (INSTEAD, "{", "    ")],
)
def test_what_is_held_is_not_read_again(asked: dict[str, Any], begins: str, goes_on: str) -> None:
    def feed_all(pieces: list[str]) -> None:
        mending = ValueMending(Held(), **asked)
        for piece in pieces:
            mending.feed(piece)

    grows_with_its_input(lambda size: partial(feed_all, [begins, *[goes_on] * size]), 4000)
