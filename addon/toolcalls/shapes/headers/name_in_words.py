"""Calls as a name in words, with a JSON object after it: `[Tool call: N({json})]`.

What gateways and agents make of past calls when they write a conversation down as prose, and what models then imitate.
The object is read where it stands and ends where its braces say; what comes after it closes the call.
"""

from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, own_arguments, written_arguments
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import NAME, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

# What gateways write in front of a tool's name, in brackets or at the start of a line.
CALL_WORDS = (
    *("Tool call", "Tool Call", "tool call", "tool_call", "Tool Use", "Tool use", "tool use", "tool_use", "Tool"),
    *("Calling tool", "calling tool", "Called tool", "Call tool", "TOOL CALL"),
    *("Used tool", "Using tool", "used tool", "Assistant used tool", "Assistant called tool", "assistant tool call"),
    "tool",
)


@dataclass(frozen=True)
class NameInWords(Grammar):
    """The form with its words filled in. White space may be between any two of them.

    opening   what a call begins with; the first is written
    label     what must come before the name, "" for nothing
    behind    what may be between the name and the object, each with what closes the call then; the first is written
    layout    how a call is written: {opening}, {name} and {json} are filled in
    """

    name: str
    behind: tuple[tuple[str, tuple[str, ...]], ...]
    layout: str
    opening: tuple[str, ...] = ()
    label: str = ""
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:  # noqa: ARG002 - JSON says its types
        opener = yield from scan.among(self.opening)
        if opener is None:
            return False
        scan.take(len(opener))
        if self.label and not (yield from accept(scan, self.label)):
            return False
        scan.take((yield from scan.space()))
        name = yield from word(scan, NAME)
        scan.take(len(name))
        scan.take((yield from self.identifier(scan)))
        closers = None
        for literal, closing in self.behind:
            if closers is None and name and (yield from accept(scan, literal)):
                closers = closing
        if closers is None:
            return False
        space = yield from scan.space()
        empty = bool(closers) and (yield from scan.starts(closers[0], space))
        if not empty and not (yield from scan.among((*OBJECT_STARTS, "null"), space)):
            return False
        scan.take(space)
        sink.begin(name)
        if empty:
            sink.piece("{}")
        elif not (yield from own_arguments(scan, sink)):
            return False
        yield from take_surplus(scan, sink, closers[:1])
        for closer in closers:
            if not (yield from accept(scan, closer)):
                if scan.ended and scan.cut:
                    return False
                sink.note_repair("missing_closer")
                break
        sink.end()
        return True

    def identifier(self, scan: Scanner) -> Step[int]:  # noqa: ARG002 - for other forms
        """The length of a call's id that is here, after its name; 0 for none."""
        yield from ()
        return 0

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        check_name(call.name, "in words")
        arguments = written_arguments(call)
        before, _, after = self.layout.partition("{json}")
        return before.replace("{name}", call.name) + arguments + after
