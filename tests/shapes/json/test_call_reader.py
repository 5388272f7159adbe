"""One reader decides for all forms what an object with a call's keys is, whenever the form says that it is one.

Strategy: each key for the name and each for the arguments, in a dialect of each kind: one in which a call is one with
its name (`hermes`), with its object (`marker`) and with its message (`bare_json`). It must be the same call, whole and
character by character.
"""

import pytest

from support.damaged import outcome, tool
from toolcalls.shapes.json.call_keys import ARGUMENTS, NAMES

TOOLS = (tool("Bash", command="string"),)
CALLS = (("Bash", '{"command": "ls"}'),)
FORMS = {
    "hermes": "<tool_call>{object}</tool_call>",
    "marker": "TOOL_CALL {object}",
    "bare_json": "{object}",
}


@pytest.mark.parametrize("dialect", FORMS)
def test_each_key_for_the_name_and_for_the_arguments(dialect: str) -> None:
    pairs = [*((name, "arguments") for name in NAMES), *(("name", given) for given in ARGUMENTS)]
    for name, given in pairs:
        text = FORMS[dialect].replace("object", f'"{name}": "Bash", "{given}": {CALLS[0][1]}')
        read = outcome(text, dialect, tools=TOOLS)
        assert (read.calls, read.text) == (CALLS, ""), text


@pytest.mark.parametrize("dialect", FORMS)
def test_arguments_may_come_before_the_name(dialect: str) -> None:
    text = FORMS[dialect].replace("object", f'"args": {CALLS[0][1]}, "tool": "Bash"')
    read = outcome(text, dialect, tools=TOOLS)
    assert (read.calls, read.text) == (CALLS, "")


@pytest.mark.parametrize("dialect", FORMS)
def test_a_key_that_no_call_has_is_an_argument_only_where_it_is_declared(dialect: str) -> None:
    text = FORMS[dialect].replace("object", '"name": "Bash", "cmd": "ls"')
    assert outcome(text, dialect, tools=TOOLS).calls == ()


@pytest.mark.parametrize("dialect", ["hermes", "marker"])
def test_a_declared_name_counts_before_one_that_is_not(dialect: str) -> None:
    text = FORMS[dialect].replace("object", '"name": "Bash", "tool": "shell", "arguments": {"command": "ls"}')
    read = outcome(text, dialect, tools=TOOLS)
    assert (read.calls, read.repairs) == (CALLS, ("left_out",))
