"""`cursor_composer`: DeepSeek's tokens around a name on a line, and each argument as a key with its value below it.

A value runs to the next argument or to the call's end; the line end before that is layout. Several calls may be
between the outer tokens, which may be missing. A name on the token's own line, or JSON after it, is `deepseek_v3`'s or
`deepseek_v31`'s.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.raw import on_own_lines, up_to_tag
from toolcalls.shapes.words import KEY, MAX_WORD, NAME, barred, check_name, word
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="keys and values",
    written_by="Cursor's Composer, through gateways that pass its text on",
    source="decolua/9router PR#1335",
    example="""\
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>
read_file
<｜tool▁sep｜>path
src/a.ts
<｜tool▁call▁end｜><｜tool▁calls▁end｜>""",
)


_SECTION, _SECTION_END = barred("tool▁calls▁begin"), barred("tool▁calls▁end")
_CALL, _CALL_END = barred("tool▁call▁begin"), barred("tool▁call▁end")
_ARGUMENT = barred("tool▁sep")
_LINE_ENDS = ("\n", "\r\n")


class _Composer(Grammar):
    name = "cursor_composer"
    place = "anywhere"
    opening = (*_SECTION, *_CALL)
    before, after, between = _SECTION[0], _SECTION_END[0], ""

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """Read a section and its calls, or calls in a row without a section."""
        section = yield from scan.among(_SECTION)
        ahead = len(section) if section is not None else 0
        begun = False
        while (head := (yield from self._head(scan, (yield from scan.space(ahead))))) is not None:
            name, length = head
            scan.take(length)
            arguments = Arguments(sink, tools, sink.begin(name))
            while not (yield from accept(scan, *_CALL_END)):
                if not (yield from self._argument(scan, arguments)):
                    return False
            arguments.end()
            begun, ahead = True, 0
        return begun and (section is None or (yield from self._closed(scan, sink)))

    def _head(self, scan: Scanner, ahead: int) -> Step[tuple[str, int] | None]:
        """A call's name, and how far it is to its first argument or its end; None where none of these follows."""
        opener = yield from scan.among(_CALL, ahead)
        if opener is None:
            return None
        behind = ahead + len(opener)
        if (yield from scan.among(_LINE_ENDS, behind)) is None:
            return None
        start = yield from scan.space(behind)
        name = yield from word(scan, NAME, start)
        end = yield from scan.space(start + len(name))
        whole = (yield from scan.among(_CALL_END, end)) is not None or (yield from self._key(scan, end)) is not None
        return (name, end) if name and whole else None

    def _key(self, scan: Scanner, ahead: int) -> Step[tuple[str, int] | None]:
        """An argument's key, and how far it is to its value, which begins on the next line; None where none stands."""
        token = yield from scan.among(_ARGUMENT, ahead)
        if token is None:
            return None
        start = ahead + len(token)
        key = yield from word(scan, KEY, start)
        end = yield from scan.among(_LINE_ENDS, start + len(key))
        return (key, start + len(key) + len(end)) if key and end is not None else None

    def _argument(self, scan: Scanner, arguments: Arguments) -> Step[bool]:
        """One argument, up to the token after its value. Returns whether one is here and is complete."""
        found = yield from self._key(scan, 0)
        if found is None:
            return False
        key, length = found
        scan.take(length)
        value = arguments.value(key)
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            ended = (yield from scan.among(_CALL_END, kept)) is not None
            if ended or (yield from self._key(scan, kept)) is not None:
                scan.take(kept)
                value.end()
                return True
            value.add(scan.take(kept + 1))
        return False

    def _closed(self, scan: Scanner, sink: CallSink) -> Step[bool]:
        """The section's end. Returns whether what was taken is the block's."""
        if (yield from accept(scan, *_SECTION_END)):
            return True
        sink.note_repair("missing_closer")
        if not scan.stops_short(_SECTION_END):
            return False
        scan.take(scan.rest())
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_name(call.name, "on a line of its own")
        parts = [f"{_CALL[0]}\n{call.name}\n"]
        for key, raw in members(call.arguments):
            if len(key) > MAX_WORD or not KEY.fullmatch(key):
                raise Unwritable(f"{call.name}: the key {key!r} cannot be written on a line of its own")
            parts.append(f"{_ARGUMENT[0]}{key}{on_own_lines(plain_text(call.name, key, raw, tools))}")
        return f"{''.join(parts)}{_CALL_END[0]}"


DIALECT = _Composer()
