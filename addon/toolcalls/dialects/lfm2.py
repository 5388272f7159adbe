"""`lfm2`: Liquid's list of Python calls between markers; a JSON array or object may stand there instead.

    <|tool_call_start|>[read_file(path="src/a.ts")]<|tool_call_end|>

LFM2 often says its calls once more as text behind the closing marker. A list of exactly the same calls that stands
there goes with them; any other text stays. Source: https://docs.liquid.ai/lfm/key-concepts/tool-use.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.events import Reason, Repair
from toolcalls.shapes import Call, Calls, Place
from toolcalls.shapes.jsonlist import JsonList
from toolcalls.shapes.pythonic import Block, Pythonic
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_START, _END = "<|tool_call_start|>", "<|tool_call_end|>"
_CODE = Pythonic("lfm2", opening=(_START,), closing=(_END,))
_JSON = JsonList("lfm2", opening=(_START,), closing=(_END,), first=("[", "{"), place="anywhere")
_ALONE = Pythonic("lfm2", opening=("[",))
_MAX_ECHO = 4096  # characters of a repeated list; it is looked at whole before anything of it is consumed


class _Heard:
    """Calls that are only listened to. Past _MAX_ECHO characters nobody asks for them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.arguments: list[str] = []
        self.broke = False

    def begin(self, name: str, refused: Reason | None = None) -> None:  # noqa: ARG002 - no form that is heard refuses any
        self.names.append(name)
        self.arguments.append("")

    def piece(self, json: str) -> None:
        if len(self.arguments[-1]) <= _MAX_ECHO:
            self.arguments[-1] += json

    def collects(self, size: int) -> bool:  # noqa: ARG002 - an echo is short, or none
        return len(self.arguments[-1]) <= _MAX_ECHO

    def end(self) -> None:
        """Nothing to note."""

    def broken(self) -> None:
        self.broke = True

    def repair(self, name: Repair) -> None:
        """An echo may be written otherwise."""

    def framed(self) -> bool:
        return False

    def layout(self) -> None:
        """There is no frame."""

    def says(self) -> None:
        """There is no frame."""

    def thinks(self) -> None:
        """There is no frame."""


class _Both(_Heard):
    """Calls that are listened to and passed on."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def begin(self, name: str, refused: Reason | None = None) -> None:
        super().begin(name, refused)
        self._calls.begin(name, refused)

    def piece(self, json: str) -> None:
        super().piece(json)
        self._calls.piece(json)

    def collects(self, size: int) -> bool:
        return self._calls.collects(size)

    def end(self) -> None:
        self._calls.end()

    def broken(self) -> None:
        super().broken()
        self._calls.broken()

    def repair(self, name: Repair) -> None:
        self._calls.repair(name)


@dataclass(frozen=True)
class _Lfm2:
    name: str = "lfm2"
    strays: tuple[str, ...] = ()
    place: Place = "anywhere"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The marker."""
        return _CODE.openers(names)

    def speaks(self, text: str) -> bool:
        """Whether `text` shows the markers."""
        return _CODE.speaks(text)

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """The block, and its echo."""
        bracket = yield from scan.space(len(_START))
        first = yield from scan.space(bracket + 1)
        if (yield from character(scan, bracket)) in {"[", "{"} and (yield from character(scan, first)) in {"{", '"'}:
            return (yield from _JSON.read(scan, calls, tools))
        made = _Both(calls)
        step = _CODE.read(scan, made, tools)
        while (own := _advance(step)) is None:
            scan.expect = None  # every piece is to be heard
            yield
        if own and not made.broke:
            echo = yield from _echo(scan, tools, made)
            if echo:
                calls.repair("echoed")
                scan.take(echo)
        return own

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One block with all calls."""
        return _CODE.write(calls, tools)


def _advance(step: Step[bool]) -> bool | None:
    """One step on: its result when it is done, None while it waits for text."""
    try:
        next(step)
    except StopIteration as done:
        return bool(done.value)
    return None


def _echo(scan: Scanner, tools: Toolbox, made: _Heard) -> Step[int]:
    """How many characters from here are the same calls once more; 0 for none."""
    begin = given = yield from scan.space()
    if not (yield from scan.starts("[", begin)):
        return 0
    heard, probe = _Heard(), Scanner()
    step = Block(_ALONE, probe, heard, tools).read(bracketed=False)
    while True:
        probe.feed(scan.text[scan.pos + given :])
        given = scan.rest()
        if scan.ended:
            probe.end(cut=scan.cut)
        own = _advance(step)
        if probe.taken_size > _MAX_ECHO or heard.names != made.names[: len(heard.names)]:
            return 0
        if own is not None:
            break
        yield
    if not own or heard.broke or (heard.names, heard.arguments) != (made.names, made.arguments):
        return 0
    return begin + probe.taken_size


DIALECT = _Lfm2()
