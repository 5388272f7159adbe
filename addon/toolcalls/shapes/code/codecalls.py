"""Calls as code in the open: a declared name, with or without its module, and arguments in brackets.

The arguments are Python's (`k="v"`), or one object of JSON, in parentheses or directly after the name. Nothing marks
such code as a call, so a call's parameters must be declared ones, and only the end of the line or another call may
come after it.
"""

from dataclasses import dataclass

from toolcalls.shapes import Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.code.pythonic import Block, Pythonic
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS, object_of, own_arguments, written_arguments
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import KEY, NAME, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.text.turn_ends import TURN_ENDS
from toolcalls.values.toolbox import Toolbox

_MODULES = ("default_api.", "functions.", "tools.")
_PRINT = "print("


@dataclass(frozen=True)
class CodeCalls(Grammar):
    """The form. Its dialects say which openers it has."""

    name: str
    place: OpenerPlace
    stray_words: tuple[str, ...] = ()

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls that are here, one after the other."""
        begun = False
        while True:
            space = yield from scan.space()
            head = yield from self._head(scan, space if begun else 0, tools)
            if head is None:
                return begun
            name, size, bracket, printed = head
            inside = yield from scan.space(size)
            if bracket == "{" or (yield from scan.among(OBJECT_STARTS, inside)) is not None:
                complete = yield from self._object(scan, sink, name, size, in_parentheses=bracket == "(")
            else:
                complete = yield from self._python(scan, sink, tools)
            if not complete:
                return False
            if printed:
                yield from accept(scan, ")")
            begun = True

    def _head(self, scan: Scanner, ahead: int, tools: Toolbox) -> Step[tuple[str, int, str, bool] | None]:
        """A declared name, the place of its arguments, its bracket, and whether it is printed; None for no call."""
        printed = yield from scan.starts(_PRINT, ahead)
        start = ahead + len(_PRINT) if printed else ahead
        written = yield from word(scan, NAME, start)
        name = written
        for module in _MODULES:
            name = name if name in tools else name.removeprefix(module)
        end = start + len(written)
        bracket = yield from scan.among(("(", "{"), end)
        if name not in tools or bracket is None:
            return None
        inside = yield from scan.space(end + 1)
        keys = tools.keys(name)
        is_object = bracket == "{" or (yield from scan.among(OBJECT_STARTS, inside)) is not None
        if is_object and not (yield from object_of(scan, keys, end if bracket == "{" else inside)):
            return None
        if not is_object and not (yield from scan.starts(")", inside)):
            key = yield from word(scan, KEY, inside)
            if key not in keys or not (yield from scan.starts("=", (yield from scan.space(inside + len(key))))):
                return None
        return name, end + (bracket == "("), bracket, printed

    def _object(self, scan: Scanner, sink: CallSink, name: str, size: int, *, in_parentheses: bool) -> Step[bool]:
        """Arguments that are one object of JSON. Returns whether the call is complete."""
        scan.take(size)
        scan.take((yield from scan.space()))
        sink.begin(name)
        if not (yield from own_arguments(scan, sink)):
            return False
        yield from take_surplus(scan, sink, (")",) if in_parentheses else ())
        if in_parentheses and not (yield from accept(scan, ")")):
            if scan.rest() or not scan.ended:
                sink.fail()
            return False
        if not (yield from ends_line(scan, 0)):
            sink.fail()
            return False
        sink.end()
        return True

    def _python(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Arguments as Python writes them, with their parenthesis."""
        return (yield from _Line(_FORM, scan, sink, tools).one())

    def parallel(self, scan: Scanner, sink: CallSink, tools: Toolbox, size: int) -> Step[bool]:
        """Several calls in one object (`recipient_name`, `parameters`), which is in parentheses."""
        scan.take(size)
        scan.take((yield from scan.space()))
        if not (yield from scan.starts("{")):
            return False
        reader = CallReader(scan, sink, tools, CallRules("message"))
        found = yield from reader.object()
        if not found.whole or not all(call.arguments for call in found.calls):
            return False
        if not (yield from accept(scan, ")")) or not (yield from ends_line(scan, 0)):
            return False
        own = reader.report(found)
        reader.end()
        return own

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        check_name(call.name, "before a parenthesis")
        arguments = written_arguments(call)
        return f"{call.name}({arguments})"


class _Line(Block):
    """A call that ends its line."""

    def one(self) -> Step[bool]:
        """The call that begins here. Returns whether it is complete."""
        head = yield from self._head(0)
        if head is None:
            return False
        self.scan.take(head.length)
        self.sink.begin(head.name)
        return (yield from self._call(head))

    def _goes_on(self, ahead: int) -> Step[bool]:
        return (yield from ends_line(self.scan, ahead))


_FORM = Pythonic("module_calls", opening=("",), brackets=("", ""), around=(_PRINT, ")"))


def ends_line(scan: Scanner, ahead: int) -> Step[bool]:
    """Whether nothing but blanks and a semicolon stand up to the line's end, or up to the end of the model's turn."""
    while True:
        text = scan.text[scan.pos + ahead :]
        rest = text.lstrip(" \t;")
        if rest or scan.ended:
            break
        yield
    if rest[:1] in ("", "\n", "\r", ")", "`"):
        return True
    return (yield from scan.among(TURN_ENDS, ahead + len(text) - len(rest))) is not None
