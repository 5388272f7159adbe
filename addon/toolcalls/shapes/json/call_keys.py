"""The keys of a call's JSON object, and what its other members mean. A key that all forms shall know is added here.

Models write arguments beside the name instead of into an object of their own: `{"name": "Bash", "command": "ls"}`. Such
a member is an argument where the tool declares it. Ids and types are marks of the call. Any other member belongs
nowhere: an object without arguments is no call then, and in one with arguments the repair `left_out` says that it went.
One that also says what came of a call is the record of one that was made.
"""

from collections.abc import Sequence
from typing import NamedTuple

from toolcalls.values.toolbox import Toolbox

# The tool's name. Where an object has several, the one that comes first here counts.
NAMES = ("tool_name", "toolName", "function_name", "tool", "name", "function")
ARGUMENTS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "tool_input",
    "tool_parameters",
    "tool_arguments",
    "tool_args",
    "function_arguments",
    "function_args",
    "kwargs",
)
# The server that has the tool.
SERVER = "server_name"
# An object in which the call's own members are, and arrays of calls.
WRAPPERS = ("function", "tool_call", "function_call")
LISTS = ("tool_calls", "toolCalls")
# Members that a call may have as well.
MARKS = frozenset({"id", "call_id", "tool_call_id", "toolCallId", "index", "type"})
CALL_TYPES = frozenset({'"function"', '"tool_use"', '"tool_call"', '"tool-call"', '"function_call"'})
# What models say beside a call, also in front of its name, where nothing else tells that the object is one.
REMARKS = frozenset(
    [
        "reason",
        "reasoning",
        "rationale",
        "thought",
        "thoughts",
        "thinking",
        "explanation",
        "justification",
        "comment",
        "note",
        "intent",
        "purpose",
        "goal",
        "plan",
        "step",
        "title",
        "summary",
        "description",
        "strict",
        "timeout",
        "priority",
        "status",
        "confidence",
        "version",
        "requires_approval",
    ]
)
# What a record of a call has: its result.
RESULTS = frozenset(
    [
        "result",
        "results",
        "output",
        "outputs",
        "response",
        "responses",
        "observation",
        "stdout",
        "stderr",
        "exit_code",
        "exitCode",
        "error",
        "is_error",
        "isError",
        "tool_result",
        "toolResult",
        "return_value",
        "returned",
        "success",
    ]
)


class Beside(NamedTuple):
    """What the members beside a call's name and its arguments are.

    arguments   those that the tool declares, each with its raw JSON
    left        there are others that are no marks either
    """

    arguments: list[tuple[str, str]]
    left: bool


def placed(members: Sequence[tuple[str, str]], name: str, tools: Toolbox, *, given: bool) -> Beside:
    """Sort the members beside a call's name. `given`: the call has arguments of its own, so marks are marks."""
    declared = frozenset(tools.keys(name))
    arguments, left = [], False
    for written, raw in members:
        key = tools.key(name, written)
        mark = key in MARKS and (given or raw in CALL_TYPES)
        if key in declared and not mark:
            arguments.append((key, raw))
        else:
            left = left or written not in MARKS
    return Beside(arguments, left)
