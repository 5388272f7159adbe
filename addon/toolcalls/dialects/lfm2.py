"""`lfm2`: Liquid's list of Python calls between markers; a JSON array or object may be there instead.

LFM2 often repeats its calls as text after the closing marker. A list of exactly the same calls there is removed with
them; any other text stays.
"""

from toolcalls.events import Reason, Repair
from toolcalls.shapes import About, CallSink, Listener
from toolcalls.shapes.code.pythonic import Block, Pythonic
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.words import character
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="Python",
    written_by="Liquid's LFM2",
    source="https://docs.liquid.ai/lfm/key-concepts/tool-use",
    example="""\
<|tool_call_start|>[read_file(path="src/a.ts")]<|tool_call_end|>""",
)

_START, _END = "<|tool_call_start|>", "<|tool_call_end|>"
_JSON = MarkedJson("lfm2", opening=(_START,), closing=(_END,), brackets=("[", "{"), place="anywhere")
_ALONE = Pythonic("lfm2", opening=("[",))
_MAX_ECHO = 4096  # characters of a repeated list; it is looked at whole before anything of it is consumed


class _Collected(Listener):
    """Calls that are only collected, to compare them. Past _MAX_ECHO characters no comparison is made."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.arguments: list[str] = []
        self.broke = False

    def begin(self, name: str, refused: Reason | None = None) -> str:  # noqa: ARG002 - neither form refuses any
        self.names.append(name)
        self.arguments.append("")
        return name

    def piece(self, json: str) -> None:
        if len(self.arguments[-1]) <= _MAX_ECHO:
            self.arguments[-1] += json

    def collect(self, size: int) -> bool:  # noqa: ARG002 - an echo is short, or none
        return len(self.arguments[-1]) <= _MAX_ECHO

    def fail(self) -> None:
        self.broke = True


class _Both(_Collected):
    """Calls that are listened to and passed on."""

    def __init__(self, sink: CallSink) -> None:
        super().__init__()
        self._sink = sink

    def expect(self, name: str) -> None:
        self._sink.expect(name)

    def begin(self, name: str, refused: Reason | None = None) -> str:
        super().begin(name, refused)
        return self._sink.begin(name, refused)

    def piece(self, json: str) -> None:
        super().piece(json)
        self._sink.piece(json)

    def collect(self, size: int) -> bool:
        return self._sink.collect(size)

    def end(self) -> None:
        self._sink.end()

    def fail(self) -> None:
        super().fail()
        self._sink.fail()

    def note_repair(self, name: Repair) -> None:
        self._sink.note_repair(name)


class _Lfm2(Pythonic):
    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read the block, and the same calls once more where they follow it."""
        bracket = yield from scan.space(len(_START))
        first = yield from scan.space(bracket + 1)
        if (yield from character(scan, bracket)) in {"[", "{"} and (yield from character(scan, first)) in {"{", '"'}:
            return (yield from _JSON.read(scan, sink, tools))
        made = _Both(sink)
        step = super().read(scan, made, tools)
        while (own := _advance(step)) is None:
            scan.wake_on = None  # every piece is to be heard
            yield
        if own and not made.broke:
            echo = yield from _echo(scan, tools, made)
            if echo:
                sink.note_repair("echoed")
                scan.take(echo)
        return own


def _advance(step: Step[bool]) -> bool | None:
    """One step on: its result when it is done, None while it waits for text."""
    try:
        next(step)
    except StopIteration as done:
        return bool(done.value)
    return None


def _echo(scan: Scanner, tools: Toolbox, made: _Collected) -> Step[int]:
    """How many characters from here are the same calls once more; 0 for none."""
    begin = given = yield from scan.space()
    if not (yield from scan.starts("[", begin)):
        return 0
    heard, probe = _Collected(), Scanner()
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


DIALECT = _Lfm2("lfm2", opening=(_START,), closing=(_END,))
