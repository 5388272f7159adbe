"""`zeroclaw`: short forms for tools with one parameter, which hold a bare value.

There are three: `shell>ls`, `shell/command>ls` and `<shell>ls</shell>`. They look like prose and like HTML, so each
counts only for a declared tool with exactly one parameter; in the first two the value is the rest of the line, in the
last it is short. The last also counts for a tool that runs something and requires nothing but what it runs, as
`<execute_bash>` of OpenHands' older prompt. Agents read a call in a fence with the info word `tool_call` as well, in
one of these forms or as a JSON object, and that is what is written.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.closing import take_surplus
from toolcalls.shapes.json.json_arguments import checked
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.raw import undelimited
from toolcalls.shapes.words import NAME, character, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="rest", marks=("```tool_call",), models=("glm",)),
    written_by="GLM in agents of other makers",
    source="zeroclaw's tests, claude-code-router PR#1340",
    example="""\
shell>ls -la""",
    call=Call("shell", '{"command": "ls -la"}'),
)

_FENCE, _FENCE_END = "```tool_call", "```"
_RULES = CallRules(sure=False, arguments="", follow=(_FENCE_END,), ends=(_FENCE_END,))
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_LINE_END = re.compile(r"[\r\n]")
_PROGRAMS = ("command", "cmd", "code", "script")  # what tools that run something require, whatever else they take
_MAX_VALUE = 4096  # characters of a value between tags, which is looked at whole


class _Zeroclaw(Grammar):
    name = "zeroclaw"
    place = "start"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The fence, and each declared name with what may follow it."""
        short = [name for name in names if _NAME.fullmatch(name)]
        return (_FENCE, *(form for name in short for form in (f"{name}>", f"{name}/", f"<{name}>")))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        if not (yield from scan.starts(_FENCE)):
            return (yield from _short(scan, sink, tools))
        scan.take(len(_FENCE))
        scan.take((yield from scan.space()))
        if not (yield from scan.starts("{")):
            if not (yield from _short(scan, sink, tools)):
                return False
            return (yield from accept(scan, _FENCE_END))
        return (yield from _in_fence(scan, sink, tools))

    def write_call(self, call: Call, tools: Toolbox) -> str:  # noqa: ARG002 - JSON says its own types
        arguments = checked(call._replace(name=call.name.strip())).arguments
        return f'{_FENCE}\n{{"name": {quote(call.name)}, "arguments": {arguments}}}\n{_FENCE_END}'


def _in_fence(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """A JSON object and the fence's end."""
    reader = CallReader(scan, sink, tools, _RULES)
    call = yield from reader.object()
    if not call.whole:
        broken = yield from reader.skip_broken(call)
        if reader.open and (broken or not scan.ended) and (yield from accept(scan, _FENCE_END)):
            reader.end()
            return True
        return False
    if call.problem is not None:
        return False
    yield from take_surplus(scan, call, (_FENCE_END,))
    closed = yield from accept(scan, _FENCE_END)
    if not closed and scan.ended and scan.cut:
        return False
    reader.report(call)
    if not closed:
        sink.note_repair("missing_closer")
    reader.end()
    return True


def _short(scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
    """One of the short forms."""
    tagged = yield from scan.starts("<")
    name = yield from word(scan, NAME, int(tagged))
    # `NAME` also matches a slash, and the parameter after it.
    name, slash, parameter = name.partition("/")
    keys = tools.keys(name)
    if tagged and len(keys) != 1 and len(required := tools.required(name)) == 1 and required[0] in _PROGRAMS:
        keys = required
    if len(keys) != 1 or (slash and parameter != keys[0]):
        return False
    size = int(tagged) + len(name) + len(slash + parameter)
    if not (yield from scan.starts(">", size)):
        return False
    if tagged:  # no parameter is in it, so any element of HTML would be one whose name is spelt otherwise
        return not slash and tools.declares(name) and (yield from _between_tags(scan, sink, tools, name, keys[0]))
    first = yield from character(scan, size + 1)
    if not first or first in " \t\r\n>=":
        return False
    scan.take(size + 1)
    sink.begin(name)
    arguments = Arguments(sink, tools, name)
    value = arguments.value(keys[0])
    while True:
        found = _LINE_END.search(scan.text, scan.pos)
        stop = found.start() if found is not None else len(scan.text)
        if stop > scan.pos:
            value.add(scan.take(stop - scan.pos))
        if found is not None or scan.ended:
            break
        scan.wake_on = _LINE_END.search if value.wake_on is not None else None
        yield
        scan.wake_on = None
    if found is None and scan.cut:
        return False
    value.end()
    arguments.end()
    return True


def _between_tags(scan: Scanner, sink: CallSink, tools: Toolbox, name: str, key: str) -> Step[bool]:
    """A bare value in the tool's tags: on one line with them, or on lines of its own."""
    closer = f"</{name}>"
    start = len(name) + 2
    if (yield from scan.starts("<", (yield from scan.space(start)))):  # the parameter's own tag, or HTML
        return False
    at = start
    single = (yield from scan.among(("\n", "\r\n"), start)) is None
    while True:
        limit = scan.pos + start + _MAX_VALUE
        if single:
            line = _LINE_END.search(scan.text, scan.pos + at, limit)
            limit = line.start() if line is not None else limit
        found = scan.text.find(closer, scan.pos + at, limit)
        if found >= 0:
            at = found - scan.pos
            behind = yield from character(scan, at + len(closer))
            if behind in ("\r", "\n") or (not behind and not scan.cut):
                break
            at += len(closer)
            continue
        if scan.ended or len(scan.text) > limit:
            return False
        at = max(at, scan.rest() - len(closer))
        yield
    text = scan.text[scan.pos + start : scan.pos + at]
    scan.take(at + len(closer))
    sink.begin(name)
    arguments = Arguments(sink, tools, name)
    arguments.text(key, undelimited(text))
    arguments.end()
    return True


DIALECT = _Zeroclaw()
