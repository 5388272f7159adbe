"""Every number of the configuration, at its bounds and one beyond them.

The table is held to the fields of `route.py` that are numbers: a new one needs its row.
"""

from dataclasses import fields
from typing import Any

import pytest

from support.repository import REPO
from toolcalls.config import ConfigError, parse
from toolcalls.route import AccessRule, Config, Filter, Loops, Price, Reactor, Route

REACTOR = f"{{file: {REPO / 'config' / 'examples' / 'reactors.py'}, function: relative_paths, time_limit: %s}}"
MILLION = 1_000_000
# By the class and field that it sets: where it stands, the least, the most (None: any), and what is just too little.
BOUNDS: dict[tuple[type, str], tuple[str, float, float | None, float]] = {
    (Route, "max_buffer_bytes"): ("defaults: {max_buffer_bytes: %s}", 64, None, 63),
    (Route, "max_held_call_bytes"): ("defaults: {max_held_call_bytes: %s}", 64, None, 63),
    (Route, "max_call_chars"): ("defaults: {max_call_chars: %s}", 64, None, 63),
    (Route, "max_depth"): ("defaults: {max_depth: %s}", 1, 512, 0),
    (Route, "max_calls"): ("defaults: {max_calls: %s}", 1, None, 0),
    (Route, "max_candidates"): ("defaults: {max_candidates: %s}", 1, None, 0),
    (Route, "max_frame_bytes"): ("defaults: {max_frame_bytes: %s}", 1024, None, 1023),
    (Route, "max_decoded_bytes"): ("defaults: {max_decoded_bytes: %s}", 1 << 20, None, (1 << 20) - 1),
    (Route, "max_payload_chars"): ("defaults: {max_payload_chars: %s}", 0, None, -1),
    (Route, "newline_count"): ("defaults: {newline_count: %s}", 0, 10, -1),
    (AccessRule, "priority"): (
        "defaults: {access: {rules: [{name: a, action: block, priority: %s}]}}", -1000, 1000, -1001
    ),
    (Loops, "same_call"): ("defaults: {loops: {same_call: %s}}", 2, 60, 1),
    (Loops, "same_result"): ("defaults: {loops: {same_result: %s}}", 2, 60, 1),
    (Loops, "cycle"): ("defaults: {loops: {cycle: %s}}", 2, 60, 1),
    (Loops, "message"): ("defaults: {loops: {message: %s}}", 2, 60, 1),
    (Reactor, "time_limit"): (f"defaults: {{reactors: [{REACTOR}]}}", 0.001, 60, 0),
    (Filter, "max_length"): ("defaults: {filters: [{name: a, pattern: x, max_length: %s}]}", 1, 10_000, 0),
    (Price, "input"): ("prices: [{model: a, input: %s, output: 2}]", 0, MILLION, -0.001),
    (Price, "output"): ("prices: [{model: a, input: 2, output: %s}]", 0, MILLION, -0.001),
    (Price, "cached"): ("prices: [{model: a, input: 2, output: 2, cached: %s}]", 0, MILLION, -0.001),
}  # fmt: skip
ROWS = [pytest.param(owner, name, *row, id=f"{owner.__name__}.{name}") for (owner, name), row in BOUNDS.items()]


def read(text: str) -> Config:
    return parse(text, "c.yaml", ("invoke",), ("openai_chat",))


def owner_of(config: Config, owner: type) -> Any:
    """The one object of a class that the configuration sets."""
    route = config.default
    access = route.access.rules if route.access else ()
    return next(one for one in (*access, *route.filters, *route.reactors, *config.prices, route.loops, route)
                if isinstance(one, owner))  # fmt: skip


def test_every_number_has_its_row() -> None:
    numbers = {"int", "float", "float | None", "int | None"}
    owners = (Route, AccessRule, Loops, Reactor, Filter, Price)
    named = {field.type: getattr(field.type, "__name__", str(field.type)) for one in owners for field in fields(one)}
    assert {(one, field.name) for one in owners for field in fields(one) if named[field.type] in numbers} == set(BOUNDS)


@pytest.mark.parametrize(("owner", "name", "text", "least", "most", "below"), ROWS)
def test_a_number_is_taken_between_its_bounds_alone(
    owner: type, name: str, text: str, least: float, most: float | None, below: float
) -> None:
    for value in (least, least + 1, 10_000_000_000 if most is None else most):
        found = getattr(owner_of(read(text % value), owner), name)
        assert (found, type(found)) == (value, float if owner in (Reactor, Price) else int)
    beyond = [] if most is None else [most + 1]
    for wrong in (below, *beyond, "true", "x", "null", "[]"):
        with pytest.raises(ConfigError) as caught:
            read(text % wrong)
        (line,) = caught.value.errors
        assert line.startswith("c.yaml:1: ")
        assert f"{name}: " in line


@pytest.mark.parametrize("name", ["same_call", "same_result", "cycle", "message"])
def test_never_is_zero(name: str) -> None:
    loops = read(f"defaults: {{loops: {{{name}: 0}}}}").default.loops
    assert loops == Loops(**{name: 0})
    with pytest.raises(ConfigError):
        read(f"defaults: {{loops: {{{name}: -1}}}}")
