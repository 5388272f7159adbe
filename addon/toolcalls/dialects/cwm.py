"""`cwm`: CWM's form, a tag with a label around the tool's name and JSON, or around the text that a tool runs.

`<tool: function>` holds the name and the arguments; where the label is a declared tool itself, the body is the tool's
one value, or an object. Text is a value only where one parameter can take it. A closer counts at the start of a line or
at the end of one.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, OpenerPlace, Sign
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.json.closing import take_closer, take_surplus
from toolcalls.shapes.json.json_arguments import object_of, own_arguments, written_arguments
from toolcalls.shapes.tags.raw import up_to_tag
from toolcalls.shapes.words import NAME, character, check_name, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    sign=Sign(strength="form"),
    written_by="Meta's CWM",
    source="vLLM's `cwm` parser",
    example="""\
<tool: function>
read_file {"path": "src/a.ts"}
</tool>""",
)

_OPENERS = ("<tool: ", "<tool:")
_CLOSER = "</tool>"
_PROGRAMS = ("command", "cmd", "code", "script")


class _Cwm(Grammar):
    name = "cwm"
    place: OpenerPlace = "line"
    opening = _OPENERS

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One element with its call."""
        opener = yield from scan.among(_OPENERS)
        start = yield from scan.space(len(opener or ""))
        label = yield from word(scan, NAME, start)
        end = yield from scan.space(start + len(label))
        if not label or not (yield from scan.starts(">", end)):
            return False
        name = tools.resolve(label)
        body = yield from scan.space(end + 1)
        named = name not in tools
        if named:
            label = yield from word(scan, NAME, body)
            name = tools.resolve(label)
            body = yield from scan.space(body + len(label))
            if name not in tools:
                return False
        if (yield from object_of(scan, tools.keys(name), body)) or (named and (yield from scan.starts("{", body))):
            scan.take(body)
            sink.begin(label)
            if not (yield from own_arguments(scan, sink, (_CLOSER,))):
                return False
            yield from take_surplus(scan, sink, (_CLOSER,))
            return (yield from take_closer(scan, sink, (_CLOSER,), sink.end))
        if (yield from scan.starts(_CLOSER, body)):
            scan.take(body + len(_CLOSER))
            sink.begin(label)
            sink.piece("{}")
            sink.end()
            return True
        key = _takes_text(tools, name)
        if not key or (named and (yield from scan.among(("[", '"'), body)) is not None):
            return False
        scan.take(body)
        sink.begin(label)
        return (yield from _text(scan, Arguments(sink, tools, name), key))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "in front of an object")
        label = "function" if "function" not in tools else "call"
        return f"<tool: {label}>\n{call.name} {written_arguments(call)}\n{_CLOSER}"


def _takes_text(tools: Toolbox, name: str) -> str:
    """The parameter that text is the value of: the one that is required, or the only one; "" for none."""
    keys, required = tools.keys(name), tools.required(name)
    if len(required) == 1:
        return required[0]
    found = keys if len(keys) == 1 else [key for key in keys if key in _PROGRAMS]
    return found[0] if len(found) == 1 and not required else ""


def _text(scan: Scanner, arguments: Arguments, key: str) -> Step[bool]:
    """A value up to the closer. Returns whether it was there."""
    value = arguments.value(key)
    while (line_end := (yield from up_to_tag(scan, value))) is not None:
        if (yield from scan.starts(_CLOSER, line_end)):
            behind = yield from character(scan, line_end + len(_CLOSER))
            if line_end or not behind or behind in "\r\n":
                scan.take(line_end + len(_CLOSER))
                value.end()
                arguments.end()
                return True
        value.add(scan.take(line_end + 1))
    return False


DIALECT = _Cwm()
