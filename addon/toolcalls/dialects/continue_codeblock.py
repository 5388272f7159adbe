"""`continue_codeblock`: lines with words in capitals, as Continue teaches models without native calls.

The fence may be missing; one without its info word is a code block like any other. A value is the lines up to one that
holds `END_ARG` alone, typed by its schema.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.raw import line_end
from toolcalls.shapes.words import MAX_WORD, NAME, check_name, word
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="agents and gateways",
    sign=Sign(strength="rest", marks=("```tool",)),
    written_by="models without native calls, under Continue's prompt",
    source=(
        "the system message tools of https://github.com/continuedev/continue (`SystemMessageToolCodeblocksFramework`)"
    ),
    example="""\
```tool
TOOL_NAME: read_file
BEGIN_ARG: path
src/a.ts
END_ARG
```""",
    one_call=True,
)

_FENCE, _FENCE_END = "```tool", "```"
_OPENERS = tuple(f"{_FENCE}{end}" for end in ("\n", "\r", " ", "\t"))  # "```tool_code" is Gemma's
_NAMED = ("TOOL_NAME:", "tool_name:", "Tool_name:")
_BEGIN = ("BEGIN_ARG:", "begin_arg:", "Begin_arg:")
_END = ("END_ARG", "end_arg", "End_arg")
_LINE = re.compile(r"[^\r\n]*+")
_BLANKS = re.compile(r"[ \t]*+")
# A line end that may be the last of a value.
_MAY_END = re.compile(rf"\n(?=[{''.join(end[0] for end in _END)}]|\Z)")


class _ContinueCodeblock(Grammar):
    name = "continue_codeblock"
    place = "start"
    opening = (*_OPENERS, *_NAMED)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call with its fence."""
        fenced = yield from scan.starts(_FENCE)
        if fenced:
            scan.take(len(_FENCE))
            if not (yield from _line_over(scan)):
                return False
            scan.take((yield from scan.space()))
        named = yield from scan.among(_NAMED)
        if named is None:
            return False
        scan.take(len(named))
        scan.take(len((yield from word(scan, _BLANKS))))
        written = yield from word(scan, NAME)
        scan.take(len(written))
        if not written or not (yield from _line_over(scan)):
            return False
        space = yield from scan.space()
        begins = (yield from scan.among(_BEGIN, space)) is not None
        if not begins and not (fenced and (yield from scan.starts(_FENCE_END, space))):
            whole = scan.ended and not scan.cut and scan.rest() == space
            if not whole:
                return False
        name = sink.begin(written)
        arguments = Arguments(sink, tools, name)
        while (begin := (yield from scan.among(_BEGIN, (space := (yield from scan.space()))))) is not None:
            scan.take(space + len(begin))
            if not (yield from self._argument(scan, arguments)):
                return False
        if scan.cut and scan.stops_short((*_BEGIN, _FENCE_END)):
            scan.take(scan.rest())
            return False
        if fenced and (yield from scan.starts(_FENCE_END, space)):
            scan.take(space + len(_FENCE_END))
        elif fenced:
            sink.note_repair("missing_closer")
        arguments.end()
        return True

    def _argument(self, scan: Scanner, arguments: Arguments) -> Step[bool]:
        """A key and its value. Returns False when the reply ends inside."""
        line = yield from word(scan, _LINE)
        key = line.strip()
        scan.take(len(line))
        if not key or not (yield from line_end(scan)):
            return False
        scan.take((yield from line_end(scan)))
        return (yield from _value(scan, arguments.value(key)))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "on a line")
        lines = [_FENCE, f"{_NAMED[0]} {call.name}"]
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or len(key) >= MAX_WORD or not _LINE.fullmatch(key):
                raise Unwritable(f"{call.name}: the key {key!r} does not survive on a line")
            lines += [f"{_BEGIN[0]} {key}", plain_text(call.name, key, raw, tools), _END[0]]
        return "\n".join([*lines, _FENCE_END])


def _line_over(scan: Scanner) -> Step[bool]:
    """Whether only blanks come before the end of the line; they are taken, and so is the line's end."""
    scan.take(len((yield from word(scan, _BLANKS))))
    ends = yield from line_end(scan)
    scan.take(ends)
    return ends > 0 or (scan.ended and not scan.rest())


def _value(scan: Scanner, value: Value) -> Step[bool]:
    """One value up to the line that ends it. Returns False when the reply ends before."""
    ends = 0  # the length of the line end that comes before this place
    while True:
        length = yield from _closer(scan, ends)
        if length:
            scan.take(ends + length)
            value.end()
            return True
        if scan.stops_short(_END[:1], ends) and scan.rest() > ends:
            scan.take(scan.rest())  # cut off where it may be a closer: not shown as part of the value
            return False
        if ends:
            value.add(scan.take(ends))
        while True:
            found = _MAY_END.search(scan.text, scan.pos)
            stop = found.start() if found is not None else len(scan.text)
            if stop > scan.pos and scan.text[stop - 1] == "\r" and not (found is None and scan.ended):
                stop -= 1
            if stop > scan.pos:
                value.add(scan.take(stop - scan.pos))
            if found is not None:
                ends = found.end() - scan.pos
                break
            if scan.ended:
                return False
            scan.wake_on = _may_end if value.wake_on is not None and scan.pos == len(scan.text) else None
            yield
            scan.wake_on = None


def _may_end(piece: str) -> bool:
    """Whether a value may end behind a piece or inside it."""
    return _MAY_END.search(piece) is not None or piece.endswith("\r")


def _closer(scan: Scanner, ahead: int) -> Step[int]:
    """The length of the word that ends a value, `ahead` characters from here and alone on its line; 0 for none."""
    end = yield from scan.among(_END, ahead)
    if end is None:
        return 0
    behind = ahead + len(end)
    behind += len((yield from word(scan, _BLANKS, behind)))
    if (yield from scan.among(("\n", "\r"), behind)) is None and (scan.cut or scan.rest() > behind):
        return 0
    return len(end)


DIALECT = _ContinueCodeblock()
