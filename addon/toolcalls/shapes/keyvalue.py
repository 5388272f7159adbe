"""Calls as a name with pairs of key and value: `OPEN N (<arg_key>K</arg_key><arg_value>V</arg_value>)* CLOSE`.

Nothing is escaped and no line end is layout: a value is what stands between its tags, to the last character.
`closing_tags` says which of the tags in a value ends it: its closer counts where a whole key with its value's opener
follows, or the call's closer, or the next call. White space between tags means nothing.

`OPEN` is often shared with other dialects, so a call begins only where the name is followed by a whole key or at once
by the closer. That much is looked at before anything is said. `KeyValueOrJson` also reads one object in the place of
the pairs.

A little over 300 lines: reading and writing of one form stay together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.call_blocks import block_end, calls_of_block
from toolcalls.shapes.closing_tags import CALL, CALL_END, CLOSER, NEXT, tag_value
from toolcalls.shapes.jsonbody import json_body
from toolcalls.shapes.tags import Parts, PatternPart, Tags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_MAX_WORD = 256  # characters of a name or a key: both are looked at whole before anything of them is consumed
_NAME = re.compile(r"[\w.:/@-]*+")
_KEY = re.compile(r"[^<]*+")
_SUFFIX = PatternPart(full=r"(?::[\w.-]{1,64})?", partial=r"|:[\w.-]{0,64}", first=":")


class Opening(NamedTuple):
    """A call's opening tag with its name."""

    name: str
    length: int


class Head(NamedTuple):
    """What stands before a value: its key, and whether the text itself says that the value is a string.

    `closed`: the key has its closing tag, which models leave out in front of the value's.
    """

    key: str
    length: int
    string: bool
    closed: bool


@dataclass(frozen=True)
class KeyValue:
    """The form with the names of its elements filled in.

    wrapper     what stands around all calls of a turn, "" for nothing
    bare        whether a call may stand without its wrapper
    separator   an empty element that stands behind the name, "" for none
    kind        what may stand between a key and its value and names the value's type, "" for nothing
    suffixed    each tag may carry a suffix that the model's tokenizer knows (`<tool_call:x1>`)
    line        the line end that is written between tags; any white space is read there
    """

    name: str
    call: str = "tool_call"
    key: str = "arg_key"
    value: str = "arg_value"
    wrapper: str = ""
    bare: bool = False
    separator: str = ""
    kind: str = ""
    suffixed: bool = False
    line: str = ""
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    def _open(self, element: str) -> Parts:
        return ("<", element, _SUFFIX, ">") if self.suffixed else ("<", element, ">")

    def _close(self, element: str) -> Parts:
        return ("<", "/", element, _SUFFIX, ">") if self.suffixed else ("<", "/", element, ">")

    @cached_property
    def _tags(self) -> dict[str, tuple[Tags, Tags]]:
        """Each element's opening tag and its closer."""
        elements = filter(None, (self.wrapper, self.call, self.separator, self.key, self.kind, self.value))
        return {element: (Tags(tag=[self._open(element)]), Tags(tag=[self._close(element)])) for element in elements}

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return Tags(call_end=[self._close(self.call)], wrapper_end=[self._close(self.wrapper)] if self.wrapper else ())

    @cached_property
    def inside(self) -> Tags:
        """What means something inside a value."""
        kinds = {CLOSER: self._close(self.value), NEXT: self._open(self.value)}
        kinds |= {CALL: self._open(self.call), CALL_END: self._close(self.call)}
        return Tags(**{kind: [parts] for kind, parts in kinds.items()})

    @property
    def closer(self) -> Tags:
        """A value's closer."""
        return self._tags[self.value][1]

    @cached_property
    def behind(self) -> Tags:
        """What a value's closer may be followed by."""
        ends = [self._close(element) for element in (self.call, self.wrapper) if element]
        return Tags(any=[*ends, self._open(self.key), self._open(self.call)])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's where it may stand without."""
        elements = filter(None, (self.wrapper, self.call if self.bare or not self.wrapper else ""))
        return tuple(f"<{element}{end}" for element in elements for end in (">:" if self.suffixed else ">"))

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call where none stands around it."""
        wrapper = 0
        if self.wrapper:
            _, wrapper = yield from self._tags[self.wrapper][0].at(scan)
            if not wrapper and not self.bare:
                return False
            scan.take(wrapper)
            scan.take((yield from scan.space()) if wrapper else 0)
        wrapped = wrapper > 0
        complete = yield from calls_of_block(scan, lambda: self.one(scan, sink, tools), wrapped=wrapped)
        return complete and (yield from block_end(scan, sink, self.ends, wrapped=wrapped))

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
        """One call, and whether it is complete; None where none stands here."""
        opening = yield from self.first(scan)
        if opening is None:
            return None
        scan.take(opening.length)
        name = sink.begin(opening.name)
        return (yield from self.body(scan, sink, tools, name))

    def first(self, scan: Scanner, ahead: int = 0) -> Step[Opening | None]:
        """A call's opening tag and name `ahead` characters from here, None where no call follows from it."""
        _, length = yield from self._tags[self.call][0].at(scan, ahead)
        if not length:
            return None
        start = yield from scan.space(ahead + length)
        end = start + (yield from _word(scan, _NAME, start))
        name = scan.text[scan.pos + start : scan.pos + end]
        if not name:
            return None
        if self.separator:
            space = yield from scan.space(end)
            _, length = yield from self._tags[self.separator][0].at(scan, space)
            if not length:
                return None
            end = space + length
        return Opening(name, end - ahead) if (yield from self.body_follows(scan, end)) else None

    def body_follows(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether a whole key, or at once the call's closer, stands here."""
        space = yield from scan.space(ahead)
        kind, _ = yield from self.ends.at(scan, space)
        return kind == CALL_END or (yield from self._head(scan, space)) is not None

    def _head(self, scan: Scanner, ahead: int = 0) -> Step[Head | None]:
        """A whole key up to its value's first character, None where none stands or can come of what stands here."""
        key, end = yield from self._between(scan, self.key, ahead)
        closed = bool(key)
        if not closed:
            key, end = yield from self._unclosed(scan, ahead)
        if not key:
            return None
        kind = ""
        if self.kind and closed:
            space = yield from scan.space(end)
            kind, behind = yield from self._between(scan, self.kind, space)
            end = behind if kind else end
        space = yield from scan.space(end)
        _, length = yield from self._tags[self.value][0].at(scan, space)
        return Head(key, space + length - ahead, kind == "string", closed) if length else None

    def _unclosed(self, scan: Scanner, ahead: int) -> Step[tuple[str, int]]:
        """The key right between its opening tag and the next one, and the place behind it; ("", 0) where none stands.

        With a blank it is prose about these tags.
        """
        _, length = yield from self._tags[self.key][0].at(scan, ahead)
        start = ahead + length
        end = start + ((yield from _word(scan, _KEY, start)) if length else 0)
        key = scan.text[scan.pos + start : scan.pos + end]
        return (key, end) if key and not any(map(str.isspace, key)) else ("", 0)

    def _between(self, scan: Scanner, element: str, ahead: int) -> Step[tuple[str, int]]:
        """The trimmed word between an element's tags, and the place behind them; ("", 0) where none stands."""
        tag, closer = self._tags[element]
        _, length = yield from tag.at(scan, ahead)
        if not length:
            return "", 0
        start = ahead + length
        end = start + (yield from _word(scan, _KEY, start))
        word = scan.text[scan.pos + start : scan.pos + end].strip()
        _, length = yield from closer.at(scan, end)
        return (word, end + length) if length else ("", 0)

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """The pairs and the call's closer. Returns whether the call is complete."""
        arguments = Arguments(sink, tools, name)
        while True:
            scan.take((yield from scan.space()))
            kind, length = yield from self.ends.at(scan)
            if kind == CALL_END:
                scan.take(length)
                arguments.end()
                return True
            head = yield from self._head(scan)
            if head is None:  # `goes_on` let it come here: the call's own closer is what is missing
                sink.note_repair("missing_closer")
                if self.ends.stops_short(scan):
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(head.length)
            if not head.closed:
                sink.note_repair("unclosed_key")
            value = arguments.value(tools.key(name, head.key))
            repair = yield from tag_value(scan, value, self)
            if repair is None:
                return False
            value.end(literal=head.string)
            if repair:
                sink.note_repair(repair)

    # What a value stands in (`closing_tags.Surroundings`)

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """A whole key, a closer, the next call, or the end of the reply."""
        space = yield from scan.space(ahead)
        if (yield from self.ends.at(scan, space))[1] or (yield from self._head(scan, space)) is not None:
            return True
        if (yield from self.first(scan, space)) is not None:
            return True
        return not scan.cut and self.ends.stops_short(scan, ahead)

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - nothing ends a value but its closer
        """Never: a value ends with its own closer."""
        yield from ()
        return False

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag and name with a body behind it, 0 for none."""
        opening = yield from self.first(scan, ahead)
        return opening.length if opening else 0

    def begins_next(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - a key's tag is text in a value
        """Never."""
        yield from ()
        return False

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one after the other, in their wrapper where the form has one; "" for no calls."""
        if not calls:
            return ""
        written = self.line.join(self._write_call(call, tools) for call in calls)
        return f"<{self.wrapper}>{self.line}{written}{self.line}</{self.wrapper}>" if self.wrapper else written

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        name = call.name
        if not name or len(name) >= _MAX_WORD or not _NAME.fullmatch(name):
            raise Unwritable(f"{name!r} is not a name that stands before a tag")
        parts = [f"<{self.call}>{name}{f'<{self.separator}>' if self.separator else ''}"]
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or len(key) >= _MAX_WORD or "<" in key:
                raise Unwritable(f"{name}: the key {key!r} does not survive between tags")
            text, is_string = to_text(raw)
            if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
                raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
            parts.append(f"<{self.key}>{key}</{self.key}>")
            parts.append(f"<{self.value}>{text}</{self.value}>")
        return self.line.join([*parts, f"</{self.call}>"])


class KeyValueOrJson(KeyValue):
    """The form with an object of JSON behind the name in the place of the pairs, where one stands there."""

    def body_follows(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Also an object."""
        if (yield from super().body_follows(scan, ahead)):
            return True
        space = yield from scan.space(ahead)
        return (yield from scan.starts("{", space))

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """Also an object."""
        space = yield from scan.space()
        if not (yield from scan.starts("{", space)):
            return (yield from super().body(scan, sink, tools, name))
        scan.take(space)
        return (yield from json_body(scan, sink, self.ends, self.quotes))


def _word(scan: Scanner, pattern: re.Pattern[str], ahead: int) -> Step[int]:
    """The length of what `pattern` matches `ahead` characters from here, _MAX_WORD at most."""
    while True:
        at = scan.pos + ahead
        found = pattern.match(scan.text, at, at + _MAX_WORD)
        end = at if found is None else found.end()
        if end < len(scan.text) or scan.ended or end - at >= _MAX_WORD:
            return end - at
        yield
