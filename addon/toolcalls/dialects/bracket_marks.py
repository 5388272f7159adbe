"""`bracket_marks`: a word for calls in brackets, and after it a call's JSON, or a tool's name and its JSON.

`[tool_call]{…}[/tool_call]`, `[Tool Call] N {…}`, `[tool_call] name=N args={…}`, `[tool_call name="N"]{…}`, and
`<<<TOOL_CALL>>>{…}<<<END_TOOL_CALL>>>`: what models make of the marks that prompts teach, and that are around past
calls. The marks in capitals that hold JSON alone are `lm_studio`'s, a name
inside the brackets after a colon is `bracket_tool_call`'s. It could be prose, so it counts at the start of a line
only, and a name that is there must be a declared one.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import own_arguments
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.spaced_closers import accept
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    written_by="models that have seen past calls between such marks",
    source="no model's template; lmstudio-bug-tracker #1177, FLUJO #296, GLM-Free-API #44 and other public reports",
    example="""\
[tool_call]
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
[/tool_call]""",
)

_WORDS = (
    *("tool_call", "tool_calls", "tool_use", "tool_request", "function_call", "function_calls"),
    *("Tool Call", "Tool call", "tool call", "Tool Use", "Function Call", "TOOL CALL"),
    *("TOOL_USE", "FUNCTION_CALL", "ToolCall"),
)
_NAMED = ("TOOL_CALL", "TOOL_REQUEST")  # `lm_studio` reads these where JSON follows
_ANGLED = ("TOOL_CALL", "TOOL_CALL_BLOCK")  # `<<<TOOL_CALL>>>`, also where the first brackets are lost
_MARKS = (
    *(f"[{word}]" for word in (*_WORDS, *_NAMED)),
    *(f"{opening}{word}>>>" for word in _ANGLED for opening in ("<<<", "")),
)
_ATTRIBUTED = tuple(f"[{word} name=" for word in (*_WORDS, *_NAMED))
_CLOSERS = (
    *(f"[{slash}{word}]" for word in (*_WORDS, *_NAMED) for slash in ("/", "END_", "end_", "End ")),
    *(f"<<<{slash}{word}>>>" for word in _ANGLED for slash in ("END_", "/")),
)
_NAME = r"""["'`]?(?P<name>[\w.:/-]{1,200}?)["'`]?"""
_GIVEN = r"(?:with\s+)?(?:arguments|args|parameters|params|input)"
# From the mark's closing bracket, or from the attribute's equals sign, to the object.
_HEAD = re.compile(
    rf"(?:name\s*[=:]\s*)?{_NAME}\s*[,:]?\s*(?:\[ARGS\]|(?P<open>\()|{_GIVEN}\s*[=:]?|=>)?\s*", re.IGNORECASE
)
_BEGUN = re.compile(r"""(?:name\s*(?:[=:]\s*|\Z))?["'`]?(?P<name>[\w.:/-]*)""", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"{_NAME}\s*\]\s*")
_MOST = 320  # characters of it
_LINE_ENDS = 4


class _Marks(Grammar):
    name = "bracket_marks"
    place: OpenerPlace = "start"
    opening = (*_MARKS, *_ATTRIBUTED)
    _json = MarkedJson("bracket_marks", opening=_MARKS, closing=_CLOSERS, line="\n")

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One mark with its calls."""
        mark = yield from scan.among((*_ATTRIBUTED, *_MARKS))
        if mark is None:
            return False
        space = yield from scan.space(len(mark))
        if mark in _MARKS and (yield from scan.among(("{", "[", "```", *_MARKS), space)):
            return (yield from self._json.read(scan, sink, tools))
        head = yield from _head(scan, _HEAD if mark in _MARKS else _ATTRIBUTE, space, tools)
        if head is None or tools.resolve(head["name"]) not in tools:
            return False
        scan.take(space + len(head.group()))
        sink.begin(head["name"])
        if not (yield from own_arguments(scan, sink)):
            return False
        yield from take_surplus(scan, sink, _CLOSERS)
        if "open" in head.groupdict() and head["open"] and not (yield from accept(scan, ")")):
            sink.note_repair("missing_closer")
        closed = False
        for closer in _CLOSERS:
            closed = closed or (yield from accept(scan, closer))
        if not closed and scan.cut and scan.stops_short(_CLOSERS):
            scan.take(scan.rest())
            return False
        sink.end()
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return self._json.write([call], tools)


def _head(scan: Scanner, pattern: re.Pattern[str], ahead: int, tools: Toolbox) -> Step[re.Match[str] | None]:
    """What `pattern` makes of all that is between here and the first brace; None where it is something else."""
    while True:
        at = scan.pos + ahead
        text, brace, _ = scan.text[at : at + _MOST].partition("{")
        if brace or scan.ended or len(text) == _MOST or text.count("\n") > _LINE_ENDS:
            break
        begun = _BEGUN.match(text)
        if begun is None or (begun.end() < len(text) and tools.resolve(begun["name"]) not in tools):
            return None  # the first word is no tool: prose
        yield
    return pattern.fullmatch(text) if brace and text.count("\n") <= _LINE_ENDS else None


DIALECT = _Marks()
