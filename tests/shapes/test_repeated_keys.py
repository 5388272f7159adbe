"""A parameter that comes twice in one call, in every dialect.

Strategy: where a call says a parameter twice in sound grammar, both leave in their order, and the last one counts. A
value never gives one that the call has already: each dialect whose values are raw text writes a call, whose last value
gets a damaged closer and the other parameter once more.
"""

import re

import pytest

from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in

TOOLS = (tool("Bash", command="string"), tool("Write", path="string", content="string"))
TWICE = '{"command": "one", "command": "two"}'
WRITE = Call("Write", '{"path": "PATH", "content": "VALUE"}')


def written(call: Call) -> dict[str, str]:
    found = {}
    for name, dialect in all_dialects().items():
        try:
            found[name] = dialect.write([call], Toolbox(TOOLS))
        except Unwritable:
            continue
    return found


def arguments_in(text: str, dialect: str | None) -> list[list[tuple[str, str]]]:
    """The arguments of each call, the same whole and character by character."""
    route = Route(dialects=None if dialect is None else (dialect,))
    whole, live = (
        calls_in([*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)])
        for pieces in ([text], list(text))
        for reader in [Reader(CallPolicy(route, Request(tools=TOOLS)))]
    )
    assert whole == live, text
    return [members(call.arguments) for call in whole]


TEXTS = written(Call("Bash", TWICE))


@pytest.mark.parametrize("name", TEXTS)
def test_one_that_is_said_twice_leaves_twice(name: str) -> None:
    assert arguments_in(TEXTS[name], name) == [[("command", '"one"'), ("command", '"two"')]]


def parts() -> dict[str, tuple[str, str, str]]:
    """A call up to its last value, a value's closing tag, and what comes before the next value."""
    found = {}
    for name, text in written(WRITE).items():
        before, _, rest = text.partition("PATH")
        between, _, behind = rest.partition("VALUE")
        tag = re.match(r"\s*(</[^>]*>)", between)
        if before and tag is not None and behind.lstrip().startswith(tag[1]):
            found[name] = text.partition("VALUE")[0], tag[1], between[tag.end() :]
    return found


PARTS = parts()


def test_there_are_such_dialects() -> None:
    assert {"glm_xml", "invoke", "qwen3_xml", "minimax_m2"} <= PARTS.keys()


@pytest.mark.parametrize("closers", ["{open}", "{cut}", "{twice}{cut}", "{close}{key}{key}", "{key}"])
@pytest.mark.parametrize("name", PARTS)
def test_a_value_does_not_give_one_that_the_call_has(name: str, closers: str) -> None:
    head, closer, between = PARTS[name]
    key = between.strip().partition("<")[2].partition("<")[2].partition(">")[0]  # the tag after a key in its own
    key = f"<{key}>" if key.startswith("/") else "</arg_key>"
    damaged = closers.format(
        key=key, open=closer.replace("/", ""), cut=closer[:-1], close=closer, twice=closer + closer
    )
    again = between.replace("content", "path")
    text = f"{head}x {damaged}{again}b y{all_dialects()[name].write([WRITE], Toolbox(TOOLS)).partition('VALUE')[2]}"
    for dialect in (name, None):
        for arguments in arguments_in(text, dialect):
            assert len(dict(arguments)) == len(arguments), (text, arguments)
