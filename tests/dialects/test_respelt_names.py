"""A declared name in other letters or after a prefix: the call has its arguments, or it is none.

Strategy: calls as each dialect writes them, with the name respelt wherever it stands. A dialect whose opener is the
name itself need not find it, but a call that is made of it is the same call, however the text is cut.
"""

import json

import pytest

from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

TOOLS = (tool("Bash", command="string"), tool("Read", path="string", line="integer"))
CALLS = (Call("Bash", '{"command": "pwd"}'), Call("Read", '{"path": "a.ts", "line": 7}'))
RESPELT = ("bash", "BASH", "functions.Bash", "default_api.Bash", "mcp__host__Bash")
MEANT = [(call.name, json.loads(call.arguments)) for call in CALLS]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dialect", all_dialects())
def test_a_respelt_name_costs_no_argument(dialect: str) -> None:
    try:
        written = write(dialect, CALLS, Toolbox(TOOLS))
    except Unwritable:
        pytest.skip("it holds one call")
    for name in RESPELT:
        text = written.replace("Bash", name)
        for dialects in ((dialect,), None):
            found = []
            for size in (len(text), 1, 7):
                reader = Reader(CallPolicy(Route(dialects=dialects), Request(tools=TOOLS)))
                pieces = [text[at : at + size] for at in range(0, len(text), size)]
                events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
                found.append([(call.name, json.loads(call.arguments)) for call in calls_in(events)])
            assert found[0] == found[1] == found[2], text
            assert all(call in MEANT for call in found[0]), text
