"""`marker`: a JSON object after a word that says that it is a call, as selectools' ToolCallParser reads it.

The word is the route's (`marker`, `max_payload_chars`). After it may stand a colon and a code fence; in a fence or in
brackets there may be several objects. All their spellings are `shapes.json.call_object`'s. The route's limit is one for
a whole call, so a call is held until its JSON has ended; only where there is no limit do arguments stream.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.call_block import CallRules, Commit
from toolcalls.shapes.json.call_object import CallObject
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.spaced_closers import accept
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    written_by="models under prompts that ask for it",
    source="https://github.com/johnnichev/selectools (`ToolCallParser`)",
    example="""\
TOOL_CALL
{"tool_name": "read_file", "parameters": {"path": "src/a.ts"}}""",
)

_FENCES = ("`", "```", "````", "`````", "~~~", "~~~~")
_INFO = re.compile(r"[ \t]*+[\w+.-]*+[ \t]*+")
_MAX_INFO = 64


@dataclass(frozen=True)
class Marker(Grammar):
    """The form with the words that are looked for; the first is written.

    max_payload_chars   how long the JSON of one call may be, 0 for any length
    """

    name: str = "marker"
    markers: tuple[str, ...] = ("TOOL_CALL",)
    max_payload_chars: int = 8000
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        return self.markers

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One word with the object after it, or the objects."""
        marker = yield from scan.among(self.markers)
        if marker is None:
            return False
        scan.take(len(marker))
        yield from accept(scan, ":")
        scan.take((yield from scan.space()))
        fence = yield from scan.among(_FENCES)
        if fence is not None:
            scan.take(len(fence))
            yield from _info(scan)
        listed = yield from accept(scan, "[")
        ends = self.markers if listed or fence is not None else ("\r", "\n")
        commit: Commit = "object" if self.max_payload_chars else "name"
        reader = CallReader(scan, sink, tools, CallRules(commit, sure=False, arguments="", ends=ends))
        while (yield from scan.starts("{", (yield from scan.space()))):
            scan.take((yield from scan.space()))
            call, size = yield from _measured(scan, reader.object())
            if not call.whole and not (yield from reader.skip_broken(call)):
                if reader.open:
                    yield from _rest_of_line(scan)
                return False
            reason = call.problem or ("max_payload_chars" if 0 < self.max_payload_chars < size else None)
            if reason is not None and not reader.open:
                reader.begin(call.written, refused=reason)
            if call.whole and not listed:
                yield from take_surplus(scan, call, (fence,) if fence else ())
            another, missing = yield from _behind(scan, fence, listed=listed)
            if missing and scan.ended and scan.cut:
                return False
            if reason is None and call.whole:
                reader.report(call)
            if missing:
                sink.note_repair("missing_closer")
            reader.end()
            if not another:
                return True
        return False

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        arguments = checked(call._replace(name=call.name.strip())).arguments
        return f'{self.markers[0]}\n{{"tool_name": {quote(call.name)}, "parameters": {arguments}}}'


def _measured(scan: Scanner, reading: Step[CallObject]) -> Step[tuple[CallObject, int]]:
    """What `reading` returns, and how many characters it took, whatever was drained of them in between."""
    size, before = 0, scan.taken_size
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return stop.value, size + scan.taken_size - before
        size += scan.taken_size - before
        yield
        before = scan.taken_size


def _info(scan: Scanner) -> Step[None]:
    """Take a fence's info word, if there is one."""
    while True:
        found = _INFO.match(scan.text, scan.pos, scan.pos + _MAX_INFO)
        size = found.end() - scan.pos if found else 0
        if scan.ended or size < scan.rest() or size >= _MAX_INFO:
            scan.take(size)
            return
        yield


def _behind(scan: Scanner, fence: str | None, *, listed: bool) -> Step[tuple[bool, bool]]:
    """Take what comes after an object. Returns whether another one follows, and whether a closer is missing."""
    if listed:
        if (yield from accept(scan, ",")):
            return True, False
        if not (yield from accept(scan, "]")):
            return False, True
    elif fence is not None and (yield from scan.starts("{", (yield from scan.space()))):
        return True, False
    return False, fence is not None and not (yield from accept(scan, fence))


def _rest_of_line(scan: Scanner) -> Step[None]:
    """Take what is left of the line on which the JSON of a call broke."""
    while True:
        ends = [at for at in (scan.text.find(end, scan.pos) for end in "\r\n") if at >= 0]
        scan.take((min(ends) if ends else len(scan.text)) - scan.pos)
        if ends or scan.ended:
            return
        yield


DIALECT = Marker()
