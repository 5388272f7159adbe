"""`narrated_calls`: a sentence that says that a tool was called, with its arguments, as the end of a message.

Gateways to agents that take one message at a time write past calls down as such sentences, and models go on in the same
words. A sentence about a call is prose, so it counts at the start of a line only, for a declared tool, and with nothing
after it but further such sentences and the tokens with which the model closes a call of its own form.
"""

import re
from dataclasses import dataclass

from toolcalls.events import Repair
from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace, Sign
from toolcalls.shapes.json.brokenjson import skip_json
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import argument_object, is_double_encoded, written_arguments
from toolcalls.shapes.json.json_values import whole_value
from toolcalls.shapes.words import check_name
from toolcalls.text.scanner import Scanner, Step
from toolcalls.text.turn_ends import TURN_ENDS
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="rest", alone=True, empty=True),
    written_by="Kimi K3 behind gateways that write past calls down as sentences",
    source="OmniRoute PR#12721",
    example="""\
Assistant called tool read_file (call_1) with arguments: {"path": "src/a.ts"}""",
)

_OPENERS = ("Assistant called tool ", "Assistant called the tool ", "Assistant called function ")
_HEAD = re.compile(
    r"Assistant called (?:the )?(?:tool|function) (?P<name>[\w.:/-]{1,200})(?: \([\w.:-]{1,128}\))?"
    r" with (?:the )?(?:arguments|input):?\s{0,4}(?=\{|\"(?:\\\")?\{)"
)
_MOST = 400
_NO_HEAD = re.compile(r"\{|\n\s*(?:[^\s\"\\{]|\"[^\"\\{])")  # its object, or a line that cannot begin with it
_SO_FAR = re.compile(r"Assistant called (?:the )?(?:tool|function) [\w.:/-]*(?: (?:[(w].*)?)?\Z", re.DOTALL)
_CLOSED = ("argument", "call", "tools", "message", "response")
_TOKENS = (*(f"<|close|>{name}<|sep|>" for name in _CLOSED), *TURN_ENDS)


@dataclass
class _Told:
    """One call that a sentence describes, and what was repaired in it. `size`: characters, up to the next sentence."""

    name: str
    arguments: str
    repairs: list[Repair]
    size: int = 0

    def note_repair(self, name: Repair) -> None:
        self.repairs.append(name)


class _Narrated(Grammar):
    name = "narrated_calls"
    place: OpenerPlace = "start"
    opening = _OPENERS

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """All such sentences that are here, when nothing follows them."""
        told: list[_Told] = []
        start = scan.taken_size
        while (head := (yield from self._head(scan))) is not None:
            if tools.resolve(head["name"]) not in tools:
                return False
            scan.take(len(head.group()))
            sink.expect(head["name"])
            unclosed = list[str]()
            found = yield from whole_value(scan, None, unclosed)
            arguments = None if found is None else argument_object(found.json)
            if found is None or arguments is None:
                if told or not (scan.rest() or not scan.ended):
                    return False
                sink.begin(head["name"], "bad_arguments")
                return bool(unclosed) and (yield from skip_json(scan, unclosed))
            told.append(_Told(head["name"], arguments, found.repairs))
            if is_double_encoded(found.json):
                told[-1].note_repair("double_encoded")
            yield from take_surplus(scan, told[-1], _TOKENS)
            while (token := (yield from scan.among(_TOKENS, (yield from scan.space())))) is not None:
                scan.take((yield from scan.space()) + len(token))
            space = yield from scan.space()
            goes_on = scan.rest() > space
            scan.take(space if goes_on else 0)
            told[-1].size = scan.taken_size - start - sum(call.size for call in told)
            if goes_on:
                continue
            if scan.cut:
                return False
            scan.rewind(start)  # each call is begun where its sentence ends, so that a rule can take out that one alone
            for call in told:
                scan.take(call.size)
                sink.begin(call.name)
                sink.piece(call.arguments)
                for repair in call.repairs:
                    sink.note_repair(repair)
                sink.end()
            return True
        return False

    def _head(self, scan: Scanner) -> Step[re.Match[str] | None]:
        """The sentence up to its object, None where another is here."""
        while True:
            text = scan.text[scan.pos : scan.pos + _MOST]
            if scan.ended or len(text) == _MOST or _NO_HEAD.search(text):
                return _HEAD.match(text)
            if not any(opener.startswith(text) for opener in _OPENERS) and _SO_FAR.match(text) is None:
                return None
            yield

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        check_name(call.name, "in a sentence")
        arguments = written_arguments(call)
        return f"{_OPENERS[0]}{call.name} (call_1) with arguments: {arguments}"


DIALECT = _Narrated()
