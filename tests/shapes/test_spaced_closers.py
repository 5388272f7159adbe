"""White space inside a closing tag means nothing, in every dialect that has one.

Strategy: calls as each dialect writes them, with a blank or a line end put into each of their closing tags. They are
read by the dialect's name and among all dialects, whole and cut, and nothing of them is left as text.
"""

import json
import re

import pytest

from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.events import Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

TOOLS = (tool("Bash", command="string"), tool("Read", path="string", line="integer"), tool("Now"))
CALLS = (
    (Call("Bash", '{"command": "ls"}'),),
    (Call("Bash", '{"command": "ls"}'), Call("Read", '{"path": "a.ts", "line": 7}')),
    (Call("Now", "{}"), Call("Bash", '{"command": "ls"}')),
)
SPACED = {"a blank": "</{name} >", "a line end": "</{name}\n>", "a blank in front": "</ {name}>"}
CLOSER = re.compile(r"</([\w:|.=-]+)>")
# XML, which has no blank in front of a name.
STRICT = {("forge", "a blank in front")}


def written(dialect: str) -> list[tuple[tuple[Call, ...], str]]:
    found = []
    for calls in CALLS:
        try:
            found.append((calls, write(dialect, calls, Toolbox(TOOLS))))
        except Unwritable:
            continue
    return [(calls, text) for calls, text in found if CLOSER.search(text)]


PARAMETERS = [(dialect, how) for dialect in all_dialects() if written(dialect) for how in SPACED]


def decoded(calls: list[Call]) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.sampled(40)
@pytest.mark.parametrize(("dialect", "how"), [each for each in PARAMETERS if each not in STRICT])
def test_white_space_in_closing_tags(dialect: str, how: str) -> None:
    for calls, plain in written(dialect):
        text = CLOSER.sub(lambda found: SPACED[how].format(name=found[1]), plain)
        for dialects in ((dialect,), None):
            for size in (len(text), 1, 5):
                reader = Reader(CallPolicy(Route(dialects=dialects), Request(tools=TOOLS)))
                pieces = [text[at : at + size] for at in range(0, len(text), size)]
                events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
                assert decoded(calls_in(events)) == decoded(list(calls)), (text, dialects)
                assert not "".join(event.text for event in events if isinstance(event, Text)).strip(), (text, dialects)


def test_dialects_were_found() -> None:
    assert len(PARAMETERS) >= 120
