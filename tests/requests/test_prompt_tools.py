"""Tools out of prompts: what agents that write their calls as text say of their tools, read back as schemas."""

import json

import pytest

from toolcalls.request import Request
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.shapes import Call
from toolcalls.writing.writer import as_text, write

OPENHANDS = """You are OpenHands agent.

You have access to the following functions:

---- BEGIN FUNCTION #1: terminal ----
Description: Runs a command.

Parameters:
  (1) the docs say so (string, required): no
Parameters:
  (1) command (string, required): The command.
Of (several) lines.
  (2) is_input (boolean, optional): Whether it goes on.
  (3) timeout (number or null, optional): Seconds.
      Allowed types: number, null
  (4) security_risk (string, required): How bad.
Allowed values: [`LOW`, `HIGH`]
  (5) lines (array[integer], optional): No description provided
      Array items:
        Type: integer
  (6) level (integer, optional): No description provided
Allowed values: [`1`, `2`]
  (7) other (unknown, optional): No description provided
  (8) edits (array[object] or null, optional): Many.
---- END FUNCTION #1 ----

---- BEGIN FUNCTION #2: think ----
Description: Thinks.
No parameters are required for this function.
---- END FUNCTION #2 ----

---- BEGIN FUNCTION #3: bare ----
Parameters:
---- END FUNCTION #3 ----

If you choose to call a function ONLY reply in the following format with NO suffix:

<function=example_function_name>
<parameter=example_parameter_1>value_1</parameter>
</function>

---- BEGIN FUNCTION #4: cut ----
"""


def test_the_functions_of_openhands() -> None:
    terminal, think, bare = tools_in(OPENHANDS)
    assert terminal.description == "Runs a command.\n\nParameters:\n  (1) the docs say so (string, required): no"
    assert terminal.schema == {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command.\nOf (several) lines."},
            "is_input": {"type": "boolean", "description": "Whether it goes on."},
            "timeout": {"type": ["number", "null"], "description": "Seconds.\n      Allowed types: number, null"},
            "security_risk": {"type": "string", "description": "How bad.", "enum": ["LOW", "HIGH"]},
            "lines": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "No description provided\n      Array items:\n        Type: integer",
            },
            "level": {"type": "integer", "enum": [1, 2]},
            "other": {},
            "edits": {"type": ["array", "null"], "items": {}, "description": "Many."},
        },
        "required": ["command", "security_risk"],
    }
    assert (think.name, think.description, think.schema["properties"]) == ("think", "Thinks.", {})
    assert (bare.name, bare.description, bare.schema["properties"]) == ("bare", "", {})


@pytest.mark.parametrize("prompt", ["", "---- BEGIN FUNCTION #1: x ----\n", "---- END FUNCTION #1 ----"])
def test_what_declares_nothing(prompt: str) -> None:
    assert tools_in(prompt) == ()


def test_values_for_a_prompt_that_names_types_stay_what_they_are() -> None:
    """Its client makes numbers and lists of what it reads, and texts of all else."""
    request = Request(system=OPENHANDS)
    decision = decide(Route(upstream="native"), request, {}, VTC_CLIENT_PATTERNS)
    assert (decision.kind, decision.dialect) == ("lower", "openhands_fn")
    _, tools = call_policy_of(Route(upstream="native"), request, decision)
    native = Call(
        "terminal", '{"command":"a && b","is_input":false,"level":2,"lines":[1,2],"timeout":null,"other":{"a":1}}'
    )
    call = as_text(native, tools)
    assert json.loads(call.arguments) == {**json.loads(native.arguments), "other": '{"a":1}'}
    assert write("openhands_fn", [call], tools) == (
        "<function=terminal>\n<parameter=command>a && b</parameter>\n<parameter=is_input>False</parameter>\n"
        "<parameter=level>2</parameter>\n<parameter=lines>[1,2]</parameter>\n<parameter=timeout>None</parameter>\n"
        '<parameter=other>{"a":1}</parameter>\n</function>'
    )
