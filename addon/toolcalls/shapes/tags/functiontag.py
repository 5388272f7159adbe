"""Calls as function tags: `OPEN <function=N> <parameter=K>V</parameter> … </function> CLOSE`.

Names are in the tags, values are raw and nothing escapes them; `closing_tags` says which of the tags in one ends it.
Tags are read with blanks where the engines tolerate them (`< / parameter >`) and with quotes around names; what is
damaged in a tag itself (`<function=f</function>`, `<parameter=k=v</parameter>`) is read where only one reading is left,
and noted.

The wrapper's opener may be missing (`naked`), and its closer goes with a call that comes before it in any case.

A little over 300 lines: reading and writing of one form stay together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.tags.closing_tags import (
    CALL,
    CALL_END,
    CLOSER,
    DUPLICATE_CLOSER,
    NEXT,
    UNBRACKETED,
    UNSLASHED,
    Parameters,
    damaged_end,
    leaked_word,
    tag_value,
    take_doubled,
    unbracketed,
    unslashed,
)
from toolcalls.shapes.tags.opening_tags import (
    FUNCTION,
    FUNCTION_END,
    PARAMETER,
    PARAMETER_END,
    Tag,
    function_tag,
    parameter_tag,
    writable,
)
from toolcalls.shapes.tags.raw import line_end, on_own_lines
from toolcalls.shapes.tags.tags import Parts, Tags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

# How a value is between its tags: on lines of its own, right there, on lines of its own when it has several, or
# right there with every line end its own.
type Layout = Literal["lines", "inline", "block", "verbatim"]

_INSIDE: dict[str, tuple[Parts, ...]] = {
    CLOSER: (PARAMETER_END,),
    NEXT: (PARAMETER, ("<", "parameter", "name")),  # the second is another form's, and has the same closer
    CALL: (FUNCTION,),
    CALL_END: (FUNCTION_END,),
    UNSLASHED: unslashed(PARAMETER_END),
    UNBRACKETED: unbracketed(PARAMETER_END),
}
_FUNCTION_END = Tags(call_end=[FUNCTION_END])
_ENDS = re.compile(r"<[ \t]{0,8}/[ \t]{0,8}parameter|(?P<call>[●⏺][ \t]{0,8}<[ \t]{0,8}function)")
_LONGEST_END = 32  # characters that it finds at most
_MOST_TEXT = 16384
_LINE_ENDS = ("\n", "\r")


@dataclass(frozen=True)
class FunctionTag:
    """The form with its strings filled in.

    wrapper      the name of the element around calls, "" for none
    orphans      names of other wrappers whose closer goes with a naked call
    naked        whether a function's tag alone is an opener
    compact      a block is this dialect's only when nothing is between its first tags
    closed       False: the dialect's replies end after the last parameter, and that closes the call
    stray_words  bullets, one of which must come before a naked call on its line
    between      what is written between tags
    written      how a value is written; in all but "verbatim" the line ends around a value on its own lines are layout
    """

    name: str
    wrapper: str = ""
    orphans: tuple[str, ...] = ()
    naked: bool = False
    compact: bool = False
    closed: bool = True
    stray_words: tuple[str, ...] = ()
    between: str = "\n"
    written: Layout = "lines"
    place: OpenerPlace = "line"

    inside = Tags(**_INSIDE)
    closer = Tags(closer=[PARAMETER_END])
    special = False

    @cached_property
    def wrapper_ends(self) -> tuple[Parts, ...]:
        names = tuple(filter(None, (self.wrapper, *self.orphans)))
        return (("<", "/", names, ">"),) if names else ()

    @cached_property
    def opener(self) -> Tags:
        """The wrapper's tag."""
        return Tags(wrapper=[("<", self.wrapper, ">")] if self.wrapper else ())

    @cached_property
    def _wrapper_end(self) -> Tags:
        return Tags(wrapper_end=self.wrapper_ends)

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return Tags(call_end=[FUNCTION_END], wrapper_end=self.wrapper_ends)

    @cached_property
    def damaged_ends(self) -> Tags:
        """What `ends` becomes where the slash is lost, or the bracket."""
        wrapper_end = unslashed(*self.wrapper_ends) + unbracketed(*self.wrapper_ends)
        return Tags(call_end=unslashed(FUNCTION_END) + unbracketed(FUNCTION_END), wrapper_end=wrapper_end)

    @cached_property
    def behind(self) -> Tags:
        """What a parameter's closer may be followed by."""
        wrapper: tuple[Parts, ...] = (("<", self.wrapper, ">"),) if self.wrapper else ()
        return Tags(any=[FUNCTION_END, PARAMETER, PARAMETER_END, FUNCTION, *self.wrapper_ends, *wrapper])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and a function's where it may be alone."""
        naked = ("<function=", "<function =", "< function=", "< function =") if self.naked else ()
        return (f"<{self.wrapper}>", *naked) if self.wrapper else naked

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one naked call with a wrapper closer that lost its opener."""
        # The reader has just consumed the stray word before the opener, "" for none.
        if self.stray_words and not scan.taken[-1].startswith(self.stray_words):
            return False
        wrappers = 0
        while wrappers < 2:  # a model may begin twice
            _, length = yield from self.opener.at(scan)
            if not length:
                break
            wrappers += 1
            scan.take(length)
            if not self.compact:
                scan.take((yield from scan.space()))
        begun = False
        while (tag := (yield from self._first(scan, begun=begun))) is not None:
            begun = True
            if not (yield from self._one(scan, sink, tools, tag)):
                return False
            if not wrappers:
                break
            scan.take((yield from scan.space()))
        return begun and (yield from self.block_end(scan, sink, wrappers))

    def _first(self, scan: Scanner, *, begun: bool) -> Step[Tag | None]:
        """The opening tag of the block's next call."""
        tag = yield from self.opening(scan, 0, compact=self.compact and not begun)
        return None if tag is not None and not tag.closed and self.compact and not begun else tag

    def _one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        scan.take(tag.length)
        name = sink.begin(tag.name)
        if not tag.closed:
            sink.note_repair("unclosed_tag")
        if tag.doubled:
            sink.note_repair("stray_tag")
        if tag.empty:
            Arguments(sink, tools, name).end()
            return True
        return (yield from self._body(scan, sink, tools, name))

    def block_end(self, scan: Scanner, sink: CallSink, wrappers: int) -> Step[bool]:
        """What comes after the last call of a block. Returns whether that is the block's own."""
        own, left = False, max(1, wrappers)
        while True:
            space = yield from scan.space()
            kind, length = yield from self.ends.at(scan, space)
            if not length and (length := (yield from damaged_end(scan, self, space))):
                kind = "wrapper_end"
                sink.note_repair("wrong_closer")
            if not length:
                break
            scan.take(space + length)
            left -= kind != CALL_END
            if kind != CALL_END:
                sink.leave_open(())
            if kind == CALL_END or left < 0:
                sink.note_repair(DUPLICATE_CLOSER)
            own = True
        if wrappers and left >= wrappers and not scan.ended:
            sink.leave_open((f"</{self.wrapper}>",))
        if wrappers and left >= wrappers and self._wrapper_end.stops_short(scan):
            sink.note_repair("missing_closer")
            scan.take(scan.rest())
            return True
        return own

    def opening(self, scan: Scanner, ahead: int, *, compact: bool = False) -> Step[Tag | None]:
        """A function's tag `ahead` characters from here, None where no call follows from it.

        It does where a parameter or at once a closer of the call comes next, or without closers the next call's bullet.
        """
        tag = yield from function_tag(scan, ahead)
        if tag is None or (yield from self._body_follows(scan, ahead + tag.length, compact=compact)):
            return tag
        written = scan.text[scan.pos + ahead : scan.pos + ahead + tag.length]
        if not (yield from scan.starts(written, ahead + tag.length)):
            return None
        tag = replace(tag, length=2 * tag.length, doubled=True)
        return tag if (yield from self._body_follows(scan, ahead + tag.length, compact=compact)) else None

    def _body_follows(self, scan: Scanner, behind: int, *, compact: bool) -> Step[bool]:
        """Whether what can only be a call's body is here, after its tag."""
        space = behind if compact else (yield from scan.space(behind))
        if (yield from self.ends.at(scan, space))[1] or (yield from parameter_tag(scan, space)) is not None:
            return True
        if self.closed:
            word = 0 if compact else (yield from leaked_word(scan, self, space))
            return word > 0 and (yield from parameter_tag(scan, space + word)) is not None
        bullet = yield from scan.among(self.stray_words, space)
        if bullet and (yield from function_tag(scan, (yield from scan.space(space + len(bullet))))) is not None:
            return True
        return not scan.cut and self.ends.stops_short(scan, behind)

    def _body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        return (yield from self.rest(scan, sink, Arguments(sink, tools, name), Parameters(self, tools, name)))

    def rest(self, scan: Scanner, sink: CallSink, arguments: Arguments, values: Parameters) -> Step[bool]:
        """All parameters from here on and the call's closer. Returns whether the call is complete."""
        while True:
            scan.take((yield from scan.space()))
            scan.take((yield from leaked_word(scan, self)))
            _, length = yield from _FUNCTION_END.at(scan)
            if length:
                scan.take(length)
                arguments.end()
                return True
            parameter = yield from parameter_tag(scan)
            if parameter is None and (length := (yield from damaged_end(scan, self))):
                scan.take(length)
                sink.note_repair("wrong_closer")
                arguments.end()
                return True
            if parameter is None:  # `goes_on` let it come here: the call's own closer is what is missing
                if self.closed:
                    sink.note_repair("missing_closer")
                if self.ends.stops_short(scan):
                    scan.take(scan.rest())
                arguments.end()
                return True
            written = scan.take(parameter.length)
            if not parameter.closed:
                sink.note_repair("unclosed_tag")
            if not parameter.opened:
                sink.note_repair("damaged_tag")
            value = arguments.value(values.given(parameter.name))
            yield from take_doubled(scan, sink, values, written)
            lines = 0 if self.written == "verbatim" else (yield from line_end(scan))
            scan.take(lines)
            repair = yield from tag_value(scan, value, values, own_lines=lines > 0)
            if repair is None:
                return False
            value.end()
            if repair:
                sink.note_repair(repair)

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        """The name in the parameter's tag that is here, "" for none."""
        tag = yield from parameter_tag(scan, ahead)
        return tag.name if tag else ""

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a function's tag with a body after it, 0 for none."""
        tag = yield from self.opening(scan, ahead)
        return tag.length if tag else 0

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Without closers it does, if the text up to the next call holds no closer that would be this value's.

        Where `_MOST_TEXT` characters do not tell, the call goes on.
        """
        seen = 0
        while not self.closed:
            start, stop = scan.pos + ahead + seen, scan.pos + ahead + _MOST_TEXT
            found = _ENDS.search(scan.text, start, stop)
            if found is not None or scan.ended:
                return not scan.cut if found is None else found["call"] is not None
            if len(scan.text) >= stop:
                return False
            seen = max(seen, scan.rest() - ahead - _LONGEST_END)
            yield
        return False

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here, after the wrapper's opener or a bullet."""
        bullet = yield from scan.among(self.stray_words, ahead)
        _, wrapper = yield from self.opener.at(scan, ahead)
        lead = len(bullet) if bullet else wrapper
        if lead:
            ahead = yield from scan.space(ahead + lead)
        return (yield from self.opening(scan, ahead)) is not None

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one after the other, each in a wrapper of its own; "" for no calls."""
        return "\n".join(self._write_call(call, tools) for call in calls)

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        if not writable(call.name) or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} does not survive in a tag")
        tags = [f"<function={call.name}>"]
        for key, raw in members(call.arguments):
            if not writable(key) or tools.key(call.name, key) != key:
                raise Unwritable(f"{call.name}: the key {key!r} does not survive in a tag")
            tags.append(f"<parameter={key}>{self._write_value(call.name, key, raw, tools)}</parameter>")
        if self.closed or self.between:
            tags.append("</function>")
        if self.wrapper:
            tags = [f"<{self.wrapper}>", *tags, f"</{self.wrapper}>"]
        bullet = f"{self.stray_words[0]} " if self.stray_words else ""
        return bullet + self.between.join(tags)

    def _write_value(self, name: str, key: str, raw: str, tools: Toolbox) -> str:
        text, is_string = to_text(raw)
        if not is_string:
            text = {"true": "True", "false": "False", "null": "None"}.get(raw, raw)
        if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
            raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
        return on_own_lines(text) if self._needs_lines(text) else text

    def _needs_lines(self, text: str) -> bool:
        """Whether a value is written on lines of its own. Servers drop a line end on each side by itself."""
        match self.written:
            case "lines":
                return True
            case "inline":
                return text.startswith(_LINE_ENDS) or text.endswith(_LINE_ENDS)
            case "block":
                return any(end in text for end in _LINE_ENDS)
            case "verbatim":
                return False
