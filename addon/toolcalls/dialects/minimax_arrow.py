"""`minimax_arrow`: what MiniMax M2 writes where nobody gave it its template.

A value is a string in double quotes, with the escapes of JSON, or the rest of its line, which may be empty; an object
or an array is JSON. A bare value also ends at a comma that another of the tool's parameters comes after.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.json.json_values import string, value
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.words import KEY, MAX_WORD, skip_past, word
from toolcalls.shapes.writable import other_value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote, to_json
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="notations",
    written_by="MiniMax M2 without its template",
    source="RooCodeInc/Roo-Code #11187",
    example="""\
[TOOL_CALL]
{tool => "read_file", args => {
  --path "src/a.ts"
}}
[/TOOL_CALL]""",
)

_OPENER, _CLOSER = "[TOOL_CALL]", "[/TOOL_CALL]"
_SINGLE = re.compile(r"'[^']*'")
_ENDS_BARE = re.compile(r"[\n},]").search


class _Arrow(Grammar):
    name = "minimax_arrow"
    opening = (_OPENER,)

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call between its marks."""
        if not (yield from scan.starts(_OPENER)):
            return False
        scan.take(len(_OPENER))
        for literal in ("{", "tool", "=>"):
            if not (yield from accept(scan, literal)):
                return False
        scan.take((yield from scan.space()))
        single = yield from accept(scan, "'")
        written = (yield from string(scan, sink)) if (yield from scan.starts('"')) else (yield from _plain(scan))
        if single and not (yield from accept(scan, "'")):
            return False
        if not written or len(written) > MAX_WORD:
            return False
        yield from accept(scan, ",")
        for literal in ("args", "=>", "{"):
            if not (yield from accept(scan, literal)):
                return False
        name = sink.begin(written)
        if not (yield from _arguments(scan, sink, tools, name)):
            if scan.rest():
                sink.fail()
                yield from skip_past(scan, (_CLOSER,))
            return False
        brace = yield from accept(scan, "}")
        closed = yield from accept(scan, _CLOSER)
        if not closed and scan.stops_short((_CLOSER,)):
            scan.take(scan.rest())
            if scan.cut:
                return False
        sink.end()
        if not (brace and closed):
            sink.note_repair("missing_closer")
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:
        if not call.name or len(call.name) > MAX_WORD:
            raise Unwritable(f"{call.name!r} is not a name")
        lines = []
        for key, raw in members(call.arguments):
            if not key or len(key) > MAX_WORD or not KEY.fullmatch(key):
                raise Unwritable(f"{call.name}: the key {key!r} is not a word")
            if raw[0] not in '"{[' and to_json(raw, tools.types(call.name, key), infer=tools.types_by_form) != raw:
                raise other_value(call.name, key, raw)
            lines.append(f"  --{key} {raw}\n")
        body = "\n" + "".join(lines) if lines else ""
        return f"{_OPENER}\n{{tool => {quote(call.name)}, args => {{{body}}}}}\n{_CLOSER}"


def _plain(scan: Scanner) -> Step[str]:
    """Take a word without quotes."""
    found = yield from word(scan, KEY)
    scan.take(len(found))
    return found


def _arguments(scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
    """The members with the brace after them. Returns whether all of it is complete."""
    seen: set[str] = set()
    sink.piece("{")
    while True:
        yield from accept(scan, ",")
        if (yield from accept(scan, "}")):
            sink.piece("}")
            return True
        if not (yield from accept(scan, "--")):
            return False
        key = yield from _plain(scan)
        space = yield from scan.space()
        if not key or not space:
            return False
        line_ends = "\n" in scan.take(space)
        if key in seen:
            sink.note_repair("duplicate_argument")
        sink.piece(f"{',' if seen else ''}{quote(key)}:")
        seen.add(key)
        if line_ends and (yield from scan.among(("--", "}"))) is not None:  # the rest of its line is empty
            sink.piece(to_json("", tools.types(name, key), infer=tools.types_by_form))
        elif (yield from scan.among(('"', "{", "["))) is not None:
            if not (yield from value(scan, sink, sink.piece, direct=True)):
                return False
        else:
            text = yield from _bare(scan, tools.keys(name))
            if text is None:
                return False
            if _SINGLE.fullmatch(text):
                sink.note_repair("single_quotes")
                text = text[1:-1]
            sink.piece(to_json(text, tools.types(name, key), infer=tools.types_by_form))


def _bare(scan: Scanner, keys: tuple[str, ...]) -> Step[str | None]:
    """The rest of a line, or what comes before the braces that close the call, or before a comma with one of `keys`.

    None when the text ends in it.
    """
    parts: list[str] = []
    while True:
        found = _ENDS_BARE(scan.text, scan.pos)
        parts.append(scan.take((len(scan.text) if found is None else found.start()) - scan.pos))
        if found is None:
            if scan.ended:
                return None
            yield
        elif found.group() == "\n" or (yield from _ends(scan, found.group(), keys)):
            return "".join(parts).strip().removesuffix(",")
        else:
            parts.append(scan.take(1))


def _ends(scan: Scanner, char: str, keys: tuple[str, ...]) -> Step[bool]:
    """Whether a bare value ends at `char`, a brace or a comma, which is here."""
    space = yield from scan.space(1)
    if char == "}":
        return (yield from scan.starts("}", space))
    if not (yield from scan.starts("--", space)):
        return False
    key = yield from word(scan, KEY, space + 2)
    return key in keys and (yield from scan.space(space + 2 + len(key))) > space + 2 + len(key)


DIALECT = _Arrow()
