"""The members of a call's JSON object, of which its name and its arguments are two: what the others mean.

Models write arguments beside the name instead of into an object of their own: `{"name": "Bash", "command": "ls"}`. Such
a member is an argument where the tool declares it. Ids and types are marks of the call. Any other member belongs
nowhere: an object without arguments is no call then, and in one with arguments the repair `left_out` says that it went.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolcalls.shapes.json.jsonvalue import MARKS
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_CALL_TYPES = frozenset({'"function"', '"tool_use"', '"tool_call"', '"tool-call"', '"function_call"'})


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
        mark = key in MARKS and (given or raw in _CALL_TYPES)
        if key in declared and not mark:
            arguments.append((key, raw))
        else:
            left = left or written not in MARKS
    return Beside(arguments, left)


class OpenArguments:
    """An argument object that arrives, whose closing brace is kept until it is known that no member follows."""

    def __init__(self, piece: Callable[[str], None]) -> None:
        self._piece = piece
        self._brace = ""
        self._empty = True

    def add(self, json: str) -> None:
        """The next piece of the object."""
        json = self._brace + json
        self._brace = "}" if json.endswith("}") else ""
        if self._brace:
            json = json[:-1]
        if self._empty:
            self._empty = not json.strip("{ \t\r\n")
        if json:
            self._piece(json)

    def close(self, more: Sequence[tuple[str, str]]) -> None:
        """The object is whole. `more` members follow its own."""
        written = ",".join(f"{quote(key)}:{raw}" for key, raw in more)
        comma = "," if written and not self._empty else ""
        self._piece(f"{comma}{written}}}")
