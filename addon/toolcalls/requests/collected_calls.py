"""The calls that a grammar reads in a prompt or an earlier reply, with their repairs (`shapes.CallSink`)."""

import re

from toolcalls.events import Reason, Repair
from toolcalls.shapes import Call, Listener
from toolcalls.text.scanner import Scanner
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

_A_NAME = re.compile(r"[^\s<>]*\w[^\s<>]*")  # `...` and `and ends with` are none


class CollectedCalls(Listener):
    """Collects whole calls, their repairs, and the offset at which the last one ends."""

    def __init__(self, scan: Scanner, tools: Toolbox) -> None:
        self.calls: list[Call] = []
        self.repairs: set[Repair] = set()
        self.end_of_last = 0
        self.failed = False
        self._scan = scan
        self._tools = tools
        self._name: str | None = None
        self._pieces: list[str] = []

    def begin(self, name: str, refused: Reason | None = None) -> str:
        tool = self._tools.resolve(name)
        self._name, self._pieces = tool if refused is None and _A_NAME.fullmatch(tool) else None, []
        return tool

    def piece(self, json: str) -> None:
        self._pieces.append(json)

    def end(self) -> None:
        if self._name and not _is_declaration(arguments := "".join(self._pieces)):
            self.calls.append(Call(self._name, arguments))
            self.end_of_last = self._scan.pos
        self._name = None

    def fail(self) -> None:
        self.failed = True

    def note_repair(self, name: Repair) -> None:
        self.repairs.add(name)


def _is_declaration(arguments: str) -> bool:
    """Whether what reads as a call declares a tool: its arguments are a schema."""
    try:
        return {"type", "properties"} <= {key for key, _ in members(arguments)}
    except ValueError:
        return True
