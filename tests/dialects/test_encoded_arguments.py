"""Arguments that a model encoded as a JSON string, once or twice: in every dialect whose arguments are JSON."""

import json

import pytest

from support.strategies import DIALECTS, tool
from toolcalls.events import Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

TOOLS = (tool("bash", command="string", timeout="integer"), tool("now"))
ARGUMENTS = '{"command": "say \\"hi\\"\\n", "timeout": 3}'


def _written(dialect: str) -> str:
    try:
        return write(dialect, [Call("bash", ARGUMENTS)], Toolbox(TOOLS))
    except Unwritable:
        return ""


JSON = tuple(dialect for dialect in DIALECTS if ARGUMENTS in _written(dialect))


def _read(text: str, dialect: str | None, size: int) -> tuple[list[tuple[str, object]], list[Verdict]]:
    dialects = None if dialect is None else (dialect,)
    reader = Reader(CallPolicy(Route(client="native", upstream="text", dialects=dialects), Request(tools=TOOLS)))
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    events += reader.finish(cut=False)
    calls = [(call.name, json.loads(call.arguments)) for call in calls_in(events)]
    return calls, [event for event in events if isinstance(event, Verdict)]


def test_there_are_many_of_them() -> None:
    assert len(JSON) > 50


@pytest.mark.parametrize("dialect", JSON)
@pytest.mark.parametrize("times", [1, 2])
def test_arguments_in_a_string_are_the_object_that_it_holds(dialect: str, times: int) -> None:
    encoded = ARGUMENTS
    for _ in range(times):
        encoded = json.dumps(encoded)
    text = _written(dialect).replace(ARGUMENTS, encoded)
    for named in (None, dialect):
        outcomes = [_read(text, named, size) for size in (len(text), 1, 3)]
        assert outcomes[0][0] == [("bash", json.loads(ARGUMENTS))], f"{named}: {outcomes[0][1]}"
        assert outcomes[1:] == [outcomes[0]] * 2


@pytest.mark.parametrize("dialect", JSON)
@pytest.mark.parametrize("value", ['"ls"', '"[1]"', '"{"', '"{\\"command\\""'])
def test_a_string_that_holds_no_object_is_no_arguments(dialect: str, value: str) -> None:
    text = _written(dialect).replace(ARGUMENTS, value)
    outcomes = [_read(text, None, size) for size in (len(text), 1)]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == []
