"""What a string may hold that a model wrote without escaping it, or that only looks escaped, in every form of JSON.

Strategy: each dialect's own marks stand around the string (`support.jsoncalls`), whole and cut anywhere, each string at
its share of the places.
"""

import json
from functools import cache

import pytest

from support.damaged import outcome
from support.jsoncalls import STRINGS, dialects, holding
from support.taggedcalls import TOOLS


def test_there_are_such_dialects() -> None:
    assert len(dialects()) > 50


@cache
def repairs(name: str) -> tuple[str, ...]:
    """Those of a call of this dialect with a usual string."""
    usual = outcome(holding(name, "x"), name, tools=TOOLS)
    assert usual.calls == (("Write", json.dumps({"path": "a", "content": "x"})),)
    return usual.repairs


@pytest.mark.parametrize("turn", range(len(STRINGS)), ids=list(STRINGS))
@pytest.mark.parametrize("name", dialects())
def test_a_string_is_what_was_written(name: str, turn: int) -> None:
    written, value, repair = [*STRINGS.values()][turn]
    read = outcome(holding(name, written), name, tools=TOOLS, turn=turn, turns=len(STRINGS))
    assert read.calls == (("Write", json.dumps({"path": "a", "content": value})),)
    assert (read.text, sorted(read.repairs)) == ("", sorted((*([repair] if repair else []), *repairs(name))))
