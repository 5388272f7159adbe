"""Calls as a name with pairs of key and value: `OPEN N (<arg_key>K</arg_key><arg_value>V</arg_value>)* CLOSE`.

Nothing is escaped and no line end is layout: a value is what is between its tags, to the last character.
`value_end` says which of the tags in a value ends it: its closer counts where another pair follows, or the call's
closer, or the next call. White space between tags means nothing. `pairs` reads what is in front of a value, also
where half of its tags are missing.

`OPEN` is often shared with other dialects, so a call begins only where the name is followed by a whole key or at once
by the closer. That much is looked at before anything is said. `KeyValueOrJson` also reads one object in the place of
the pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS
from toolcalls.shapes.spaced_closers import accept
from toolcalls.shapes.tags.call_blocks import block_end, calls_of_block
from toolcalls.shapes.tags.jsonbody import json_body
from toolcalls.shapes.tags.pairs import Opening, Pairs, PairTags, gap, glued, take_gap
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import CALL_END, read_value, take_doubled
from toolcalls.shapes.words import MAX_WORD, NAME, word
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox


@dataclass(frozen=True)
class KeyValue:
    """The form with the names of its elements filled in.

    wrapper     what is around all calls of a turn, "" for nothing
    bare        whether a call may stand without its wrapper
    separator   an empty element that comes after the name, "" for none
    kind        what may be between a key and its value and names the value's type, "" for nothing
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

    @cached_property
    def tags(self) -> PairTags:
        """The form's tags."""
        return PairTags(self.call, self.key, self.value, self.wrapper, self.separator, self.kind, self.suffixed)

    @property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return self.tags.ends

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's where it may stand without."""
        elements = filter(None, (self.wrapper, self.call if self.bare or not self.wrapper else ""))
        return tuple(f"<{element}{end}" for element in elements for end in (">:" if self.suffixed else ">"))

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call where none is around it."""
        wrapper = 0
        if self.wrapper:
            _, wrapper = yield from self.tags.opening[self.wrapper].at(scan)
            if not wrapper and not self.bare:
                return False
            scan.take(wrapper)
            scan.take((yield from scan.space()) if wrapper else 0)
            _, again = (yield from self.tags.opening[self.wrapper].at(scan)) if wrapper else ("", 0)
            scan.take(again)
            scan.take((yield from scan.space()) if again else 0)
        wrapped = wrapper > 0
        complete = yield from calls_of_block(scan, lambda: self.one(scan, sink, tools), wrapped=wrapped)
        closers = (f"</{self.wrapper}>",) if wrapped else ()
        return complete and (yield from block_end(scan, sink, self.ends, wrapped=wrapped, closers=closers))

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool | None]:
        """One call, and whether it is complete; None where none is here."""
        opening = yield from self.first(scan, 0, tools)
        if opening is None:
            return None
        scan.take(opening.length)
        name = sink.begin(opening.name)
        return (yield from self.body(scan, sink, tools, name))

    def first(self, scan: Scanner, ahead: int = 0, tools: Toolbox | None = None) -> Step[Opening | None]:
        """A call's opening tag and name `ahead` characters from here, None where no call follows from it.

        tools   a pair of which half is missing counts as well, after the name of one of these; None: it does not
        """
        _, length = yield from self.tags.opening[self.call].at(scan, ahead)
        if not length:
            return None
        start = yield from scan.space(ahead + length)
        if tools is not None:
            _, again = yield from self.tags.opening[self.call].at(scan, start)
            start = (yield from scan.space(start + again)) if again else start
        name = yield from word(scan, NAME, start)
        end = start + len(name)
        if not name:
            return None
        if self.separator:
            space = yield from gap(scan, end)
            _, length = yield from self.tags.opening[self.separator].at(scan, space)
            if not length:
                return None
            end = space + length
        if (yield from self.body_follows(scan, end, self.pairs(tools, name))):
            return Opening(name, end - ahead)
        tool = glued(name, tools) if tools is not None and not self.separator else ""
        pairs = self.pairs(tools, tool)
        at = start + len(tool)
        if not tool or pairs is None or (yield from pairs.head(scan, at, damaged=True)) is None:
            return None
        return Opening(tool, at - ahead)

    def pairs(self, tools: Toolbox | None, name: str) -> Pairs | None:
        """The pairs of a call of this tool, None where it is not declared."""
        tool = tools.resolve(name) if tools is not None else ""
        return Pairs(self.tags, tools, tool, self.first) if tools is not None and tool in tools else None

    def body_follows(self, scan: Scanner, ahead: int, pairs: Pairs | None = None) -> Step[bool]:
        """Whether a whole key, or at once the call's closer, is here."""
        space = yield from gap(scan, ahead)
        kind, _ = yield from self.ends.at(scan, space)
        if kind == CALL_END:
            return True
        if pairs is not None:
            if (yield from pairs.head(scan, space, damaged=True)) is not None:
                return True
            return (yield from pairs.ends_behind_strays(scan, space)) > 0
        return (yield from self.tags.head(scan, space)) is not None

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """The pairs and the call's closer. Returns whether the call is complete."""
        arguments = Arguments(sink, tools, name)
        pairs = Pairs(self.tags, tools, name, self.first)
        while True:
            yield from take_gap(scan, sink)
            stray = yield from pairs.ends_behind_strays(scan, 0)
            if stray:
                sink.note_repair("stray_tag")
                scan.take(stray)
            kind, length = yield from self.ends.at(scan)
            if kind == CALL_END:
                scan.take(length)
                arguments.end()
                return True
            head = yield from pairs.head(scan, damaged=True)
            if head is None:  # `goes_on` let it come here: the call's own closer is what is missing
                sink.note_repair("missing_closer")
                if self.ends.stops_short(scan):
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(head.length)
            for repair in head.repairs:
                sink.note_repair(repair)
            value = arguments.value(pairs.given(head.key))
            yield from take_doubled(scan, sink, pairs, f"<{self.value}>")
            end = yield from read_value(scan, value, pairs)
            if end is None:
                return False
            value.end(literal=head.string)
            if end:
                sink.note_repair(end)

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag and name with a body after it, 0 for none."""
        opening = yield from self.first(scan, ahead)
        return opening.length if opening else 0

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one after the other, in their wrapper where the form has one; "" for no calls."""
        if not calls:
            return ""
        written = self.line.join(self._write_call(call, tools) for call in calls)
        return f"<{self.wrapper}>{self.line}{written}{self.line}</{self.wrapper}>" if self.wrapper else written

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        name = call.name
        if not name or len(name) >= MAX_WORD or not NAME.fullmatch(name):
            raise Unwritable(f"{name!r} cannot be written as a name before a tag")
        parts = [f"<{self.call}>{name}{f'<{self.separator}>' if self.separator else ''}"]
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or len(key) >= MAX_WORD or "<" in key:
                raise Unwritable(f"{name}: the key {key!r} does not survive between tags")
            text, is_string = to_text(raw)
            if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
                raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
            parts.append(f"<{self.key}>{key}</{self.key}>")
            parts.append(f"<{self.value}>{text}</{self.value}>")
        return self.line.join([*parts, f"</{self.call}>"])


class KeyValueOrJson(KeyValue):
    """The form with an object of JSON after the name in the place of the pairs, where one is there."""

    def body_follows(self, scan: Scanner, ahead: int, pairs: Pairs | None = None) -> Step[bool]:
        """Also an object, in parentheses or without them."""
        if (yield from super().body_follows(scan, ahead, pairs)):
            return True
        space = yield from gap(scan, ahead)
        if (yield from scan.starts("(", space)):
            space = yield from gap(scan, space + 1)
        return (yield from scan.among(OBJECT_STARTS, space)) is not None

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
        """Also an object."""
        space = yield from gap(scan)
        if (yield from scan.among((*OBJECT_STARTS, "("), space)) is None:
            return (yield from super().body(scan, sink, tools, name))
        yield from take_gap(scan, sink)
        in_parentheses = yield from accept(scan, "(")
        if in_parentheses:
            yield from take_gap(scan, sink)
            sink.note_repair("other_brackets")
        return (yield from json_body(scan, sink, self.ends, self.quotes, in_parentheses=in_parentheses))
