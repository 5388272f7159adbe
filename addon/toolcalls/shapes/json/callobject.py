"""A call as one JSON object, whatever its members are called: `{"tool_name": N, "parameters": J}`.

Read member by member, so that nothing is searched and every value ends where its braces say. The name is that of the
first of `_NAMES` that is there and is text; `{"function": {...}}` and the like hold the same members further down. The
arguments are an object, a string that holds one (decoded once), or nothing, which is `{}`. Members beside them are
`callmembers`'.

`name` is in manifests, schemas and records of all kinds. So an object that has no arguments and calls its name
`name` is a call only when it holds nothing else but arguments that the tool declares.

For places where something makes a call likely and nothing makes it sure: a word in front of the object, a fence. So
whoever asks decides after the object what it is (`problem`), and members that no call has count. In a block that holds
nothing but calls `callreader` reads them.
"""

import json

from toolcalls.events import Reason, Repair
from toolcalls.shapes import CallSink
from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.callmembers import OpenArguments, placed
from toolcalls.shapes.json.jsonvalue import ARGUMENTS, argument_object, value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

_NAMES = ("tool_name", "function_name", "tool", "name", "function")  # what can mean nothing else comes first
_SERVER = "server_name"
_NESTED = ("function", "tool", "function_call", "tool_call")
_MAX_NESTED = 2
_COMMENTS = {"//": "\n", "#": "\n", "/*": "*/"}


class CallObject:
    """One object that begins here.

    stream     its call begins as soon as its name comes before its arguments, which then leave while they arrive
    begun      that has happened
    arguments  of a call that has not begun; None where they are no object
    problem    why a whole object is no call, else None
    unclosed   what closes each bracket that is open, where JSON broke
    """

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, *, stream: bool = False) -> None:
        self._scan = scan
        self._sink = sink
        self._tools = tools
        self._stream = stream
        self._repairs: list[Repair] = []  # of what was read before it began
        self._names: dict[str, str] = {}
        self._server = ""
        self._given = False  # arguments that are an object
        self._unread = ""  # the key of arguments that are none, "" for none
        self._beside: list[tuple[str, str]] = []  # other members
        self._open: OpenArguments | None = None  # arguments that leave while they arrive
        self.arguments: str | None = None
        self.problem: Reason | None = None
        self.begun = False
        self.unclosed = list[str]()

    @property
    def name(self) -> str:
        """The tool that the name so far means, "" for none."""
        return self._tools.resolve(self.written)

    @property
    def written(self) -> str:
        """The name so far as it is there, "" for none."""
        tool = next((self._names[key] for key in _NAMES if key in self._names), "")
        return self._tools.served(self._server, tool) if tool else ""

    def read(self) -> Step[bool]:
        """Read it with its braces. Returns whether it is one whole JSON object; `problem` says whether it is a call."""
        if not (yield from self._members(0)):
            return False
        used = next((key for key in _NAMES if key in self._names), "")
        name = self.name
        others = [(key, quote(text)) for key, text in self._names.items() if key != used and text != self._names[used]]
        other_names = placed(others, name, self._tools, given=self._given)
        beside = placed(self._beside, name, self._tools, given=self._given)
        flat = [*other_names.arguments, *beside.arguments]
        if flat:
            self.note_repair("flat_arguments")
        if other_names.left or beside.left:
            self.note_repair("left_out")
        if self._open is not None:
            self._open.close(flat)
            return True
        if self._unread and self._unread not in dict(flat):
            self.problem = "bad_arguments"
        elif beside.left and not self._given:
            self.problem = "not_a_call" if used == "name" else "unknown_arguments"
        else:
            written: list[str] = []
            whole = OpenArguments(written.append)
            whole.add(self.arguments or "{}")
            whole.close(flat)
            self.arguments = "".join(written)
        if not name:
            self.problem = "not_a_call"
        return True

    def begin(self) -> None:
        """Report the call, with its arguments where they have been read."""
        self.begun = True
        self._sink.begin(self.written)
        for repair in dict.fromkeys(self._repairs):
            self._sink.note_repair(repair)
        if self.arguments is not None:
            self._sink.piece(self.arguments)

    def note_repair(self, name: Repair) -> None:
        """Note a repair on the call, or for it while it has not begun."""
        if self.begun:
            self._sink.note_repair(name)
        else:
            self._repairs.append(name)

    def _members(self, depth: int) -> Step[bool]:
        if not (yield from self._mark("{")):
            return False
        self.unclosed.append("}")
        comma = False
        while not (yield from self._mark("}")):
            key = yield from self._value()
            if key is None or not key.startswith('"') or not (yield from self._mark(":")):
                return False
            yield from self._doubled(":")
            yield from self._gap()
            if not (yield from self._member(str(json.loads(key)), depth)):
                return False
            comma = yield from self._mark(",")
            if comma:
                yield from self._doubled(",")
            if not comma:
                closed = yield from self._mark("}")
                if closed:
                    self.unclosed.pop()
                return closed
        if comma:
            self.note_repair("trailing_comma")
        self.unclosed.pop()
        return True

    def _mark(self, literal: str) -> Step[bool]:
        """Take what is between two tokens, and `literal` where it is next."""
        yield from self._gap()
        found = yield from self._scan.starts(literal)
        self._scan.take(len(literal) if found else 0)
        return found

    def _doubled(self, separator: str) -> Step[None]:
        """Take a separator that comes once more."""
        while (yield from self._mark(separator)):
            self.note_repair("doubled_separator")

    def _gap(self) -> Step[None]:
        """Take white space and comments."""
        scan = self._scan
        while True:
            scan.take((yield from scan.space()))
            comment = yield from scan.among(tuple(_COMMENTS))
            if comment is None:
                return
            self.note_repair("comment")
            scan.take(len(comment))
            end = _COMMENTS[comment]
            while (at := scan.text.find(end, scan.pos)) < 0 and not scan.ended:
                scan.take(max(0, scan.rest() - len(end) + 1))
                yield
            scan.take(at + len(end) - scan.pos if at >= 0 else scan.rest())

    def _member(self, key: str, depth: int) -> Step[bool]:
        scan = self._scan
        is_object = yield from scan.starts("{")
        if is_object and key in _NESTED and depth < _MAX_NESTED:
            return (yield from self._members(depth + 1))
        if is_object and key in ARGUMENTS and self._stream and self.name and not self._given:
            self._given = True
            self.begin()
            self._open = OpenArguments(self._sink.piece)
            return (yield from value(scan, self._sink, self._open.add, self.unclosed, direct=True))
        if key in ARGUMENTS and self.name and not self.begun:
            self._sink.expect(self.written)
        written = yield from self._value()
        if written is not None:
            self._keep(key, written)
        return written is not None

    def _keep(self, key: str, written: str) -> None:
        if key in _NAMES and key not in self._names and written.startswith('"') and not self.begun:
            self._names[key] = str(json.loads(written))
        elif key == _SERVER and written.startswith('"') and not self.begun:
            self._server = str(json.loads(written))
        elif key in ARGUMENTS and not self.begun and (not self._given or self.arguments == "{}"):
            self.arguments = argument_object(written)
            self._given = self.arguments is not None
            if not self._given:
                self._unread = key
                self._beside.append((key, written))
        else:
            self._beside.append((key, written))

    def _value(self) -> Step[str | None]:
        """A JSON value that begins here, whole; None where none does."""
        pieces: list[str] = []
        return "".join(pieces) if (yield from value(self._scan, self, pieces.append, self.unclosed)) else None

    def skip_broken(self, ends: tuple[str, ...] = ()) -> Step[bool]:
        """Report one that broke, and pass over what is left of it. Returns whether its end was found.

        One that names no tool is not reported. `ends` are those of `skip_json`.
        """
        if not self.name or not (self._scan.rest() or not self._scan.ended):
            return False
        if self.begun:
            self._sink.fail()
        else:
            self.begun = True
            self._sink.begin(self.written, "bad_arguments")
        return bool(self.unclosed) and (yield from skip_json(self._scan, self.unclosed, ends))
