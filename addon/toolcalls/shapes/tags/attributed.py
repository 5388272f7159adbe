"""Calls as elements that carry the name in an attribute: `<invoke name="N"><parameter name="K">V</parameter></invoke>`.

The form is not XML: values hold anything, unescaped, and `closing_tags` says which of the tags in one ends it. What
is between a value's tags (layout, CDATA, entities, marked types) is its dialect's `Content`. Models also put one
object of JSON in the place of the parameters. Tags are read with blanks in them, misspelt as models are known to, and
with any of the prefixes that the dialect names.

A little over 300 lines: reading and writing of one form stay together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS
from toolcalls.shapes.tags.call_blocks import block_end, calls_of_block
from toolcalls.shapes.tags.closing_tags import (
    CALL,
    CALL_END,
    CLOSER,
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
from toolcalls.shapes.tags.content import Content, Escaped
from toolcalls.shapes.tags.entities import escape_attribute
from toolcalls.shapes.tags.jsonbody import json_body
from toolcalls.shapes.tags.tags import (
    Parts,
    PatternPart,
    Tag,
    Tags,
    declared_attributes,
    encoded_arguments,
    named_tag,
    other_attributes,
)
from toolcalls.shapes.tags.wrapped import Collected, inner_object
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

_NO_BRACKET = PatternPart(r"(?=[^>])", "", "")  # with one at once it is `UNSLASHED`


@dataclass(frozen=True)
class Attributed:
    """The form with its names filled in. Where there are several, all are read and the first one is written.

    wrappers    the element around all calls of a turn, () for none
    misspelt    other names of the call's element
    prefix      what may come before any element's name, part by part
    orphans     elements whose closer goes with a call that comes before it
    content     how a value is between its tags
    bare        whether a call may stand without a wrapper
    line        the line end that is written between tags; any white space is read there
    hollow      what is written between the tags of a call without arguments
    """

    name: str
    wrappers: tuple[str, ...] = ("function_calls",)
    call: str = "invoke"
    parameter: str = "parameter"
    misspelt: tuple[str, ...] = ()
    prefix: tuple[str | tuple[str, ...], ...] = ()
    orphans: tuple[str, ...] = ()
    content: Content = Escaped()  # noqa: RUF009 - it has no state
    bare: bool = True
    line: str = "\n"
    hollow: str = ""
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    @property
    def special(self) -> bool:
        """Whether its tags are special tokens."""
        return self.place == "anywhere"

    def opening(self, *elements: str) -> Parts:
        """An opening tag up to its attributes."""
        return "<", *self.prefix, elements

    def closing(self, *elements: str) -> Parts:
        """A whole closing tag."""
        return "<", "/", *self.prefix, elements, ">"

    @cached_property
    def wrapper_tag(self) -> Tags:
        """The wrapper's opening tag."""
        return Tags(wrapper=[(*self.opening(*self.wrappers), ">")] if self.wrappers else ())

    @cached_property
    def call_tag(self) -> Tags:
        """A call's opening tag."""
        slips = [("< ", *self.prefix, (self.call, *self.misspelt)), *(self.opening(name) for name in self.misspelt)]
        return Tags(misspelt=slips, call=[self.opening(self.call)])

    @cached_property
    def call_end(self) -> Tags:
        """A call's closing tag."""
        return Tags(call_end=[self.closing(self.call, *self.misspelt)])

    @cached_property
    def parameter_tag(self) -> Tags:
        """A parameter's opening tag; the bracket that it begins with may be lost."""
        whole = self.opening(self.parameter)
        return Tags(next=[whole], misspelt=[whole[1:]] if whole[0] == "<" else ())

    @cached_property
    def closer(self) -> Tags:
        """A parameter's closing tag."""
        return Tags(closer=[self.closing(self.parameter)])

    @cached_property
    def ends(self) -> Tags:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        wrapper_end = [self.closing(*self.wrappers, *self.orphans)] if self.wrappers or self.orphans else ()
        return Tags(call_end=[self.closing(self.call, *self.misspelt)], wrapper_end=wrapper_end)

    @cached_property
    def damaged_ends(self) -> Tags:
        """What `ends` becomes where the slash is lost, or the bracket."""
        wrapper, call = self.closing(*self.wrappers), self.closing(self.call, *self.misspelt)
        wrapper_end = unslashed(wrapper) + unbracketed(wrapper) if self.wrappers else ()
        return Tags(call_end=unslashed(call) + unbracketed(call), wrapper_end=wrapper_end)

    @cached_property
    def inside(self) -> Tags:
        """What means something inside a value."""
        kinds = {CLOSER: self.closing(self.parameter), CALL_END: self.closing(self.call, *self.misspelt)}
        kinds[UNSLASHED] = unslashed(self.closing(self.parameter))[0]
        kinds[UNBRACKETED] = unbracketed(self.closing(self.parameter))[0]
        kinds |= {NEXT: (*self.opening(self.parameter), _NO_BRACKET), CALL: self.opening(self.call, *self.misspelt)}
        return Tags(**{kind: [parts] for kind, parts in kinds.items()})

    @cached_property
    def behind(self) -> Tags:
        """What a parameter's closer may be followed by."""
        every = (self.call, *self.misspelt, *self.wrappers, *self.orphans)
        wrapper = [(*self.opening(*self.wrappers), ">")] if self.wrappers else []
        return Tags(end=[self.closing(*every)], tag=[self.opening(self.parameter, self.call, *self.misspelt), *wrapper])

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's where it may be bare."""
        wrappers = spelt("<", *self.prefix, self.wrappers, ">")
        if not self.bare:
            return wrappers
        plain, *others = spelt("<", *self.prefix, (self.call, *self.misspelt))
        slips = spelt("< ", *self.prefix, self.call)
        return (
            *wrappers,
            *(plain + behind for behind in (*" \t\r\n>/", "name=")),
            *(f"{tag} " for tag in (*others, *slips)),
        )

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call with a wrapper closer that lost its opener."""
        _, wrapper = yield from self.wrapper_tag.at(scan)
        doubled = 0
        if wrapper:
            written = scan.take(wrapper)
            scan.take((yield from scan.space()))
            doubled = len(written) if (yield from scan.starts(written)) else 0
            scan.take(doubled)
            scan.take((yield from scan.space()))
            yield from self._stray(scan)

        def one() -> Step[bool | None]:
            tag = yield from self.first(scan)
            return None if tag is None else (yield from self.one(scan, sink, tools, tag))

        complete = yield from calls_of_block(scan, one, wrapped=wrapper > 0)
        if doubled:
            sink.note_repair("stray_tag")
        closers = spelt("</", *self.prefix, self.wrappers, ">") if wrapper else ()
        if not complete:
            return False
        if wrapper and (length := (yield from damaged_end(scan, self, (yield from scan.space())))):
            scan.take((yield from scan.space()) + length)
            sink.note_repair("wrong_closer")
            return True
        return (yield from block_end(scan, sink, self.ends, wrapped=wrapper > 0, closers=closers))

    def _stray(self, scan: Scanner) -> Step[None]:
        """A leaked word between the wrapper's tag and a call's."""
        word = yield from scan.among(self.stray_words)
        if word is not None:
            space = yield from scan.space(len(word))
            if (yield from self.first(scan, space)) is not None:
                scan.take(space)

    def first(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """A call's opening tag `ahead` characters from here, None where no call follows from it.

        It does where the tag closes itself, or where a parameter or at once a closer of the call comes next.
        """
        tag = yield from named_tag(scan, self.call_tag, ahead)
        if tag is None or tag.empty:
            return tag
        behind = ahead + tag.length
        if (yield from self.body_follows(scan, behind)):
            return tag
        written = scan.text[scan.pos + ahead : scan.pos + behind]
        if not (yield from scan.starts(written, behind)):
            return None
        whole = replace(tag, length=2 * tag.length, doubled=True)
        return whole if (yield from self.body_follows(scan, ahead + whole.length)) else None

    def body_follows(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether what can only be a call's body is here."""
        space = yield from scan.space(ahead)
        if (yield from self.ends.at(scan, space))[1] or (yield from scan.among(OBJECT_STARTS, space)):
            return True
        if (yield from self.parameter_at(scan, space)):
            return True
        word = yield from leaked_word(scan, self, space)
        return word > 0 and bool((yield from self.parameter_at(scan, space + word)))

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        """The name in the parameter's tag that is here, "" for none."""
        tag = yield from self.parameter_here(scan, ahead)
        return tag.name if tag else ""

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """The parameter's tag that is here."""
        return (yield from named_tag(scan, self.parameter_tag, ahead))

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        """The length of a call's opening tag with a body after it, 0 for none."""
        tag = yield from self.first(scan, ahead)
        return 0 if tag is None or tag.empty else tag.length

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - for other forms
        """It does not: a closer comes after every call."""
        yield from ()
        return False

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here, or a wrapper with one."""
        _, wrapper = yield from self.wrapper_tag.at(scan, ahead)
        if wrapper:
            ahead = yield from scan.space(ahead + wrapper)
        return (yield from self.first(scan, ahead)) is not None

    def one(self, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
        """One call, whose opening tag is here. Returns whether it is complete."""
        scan.take(tag.length)
        hollow = tag.empty or bool((yield from self.call_end.at(scan, (yield from scan.space())))[1])
        encoded = encoded_arguments(tag, tools) if hollow else ""
        if encoded:
            return (yield from self._encoded(scan, sink, tag, encoded))
        unknown, given = other_attributes(tag, tools), declared_attributes(tag, tools)
        name = sink.begin(tag.name, "unknown_arguments" if hollow and unknown and not given else None)
        if unknown and given:
            sink.note_repair("left_out")
        if tag.misspelt:
            sink.note_repair("misspelt_tag")
        if tag.doubled:
            sink.note_repair("stray_tag")
        return (yield from self.body(scan, sink, tools, name, tag))

    def _encoded(self, scan: Scanner, sink: CallSink, tag: Tag, arguments: str) -> Step[bool]:
        """A call whose arguments are in its tag, which has been taken, and its closer, if it has one."""
        sink.begin(tag.name)
        sink.note_repair("wrapped_arguments")
        sink.piece(arguments)
        if not tag.empty:
            space = yield from scan.space()
            scan.take(space + (yield from self.call_end.at(scan, space))[1])
        sink.end()
        return True

    def body(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str, tag: Tag) -> Step[bool]:
        """What comes after a call's opening tag. Returns whether the call is complete."""
        arguments = Arguments(sink, tools, name)
        if not tag.empty:
            scan.take((yield from scan.space()))
            if (yield from scan.among(OBJECT_STARTS)):
                return (yield from json_body(scan, sink, self.ends, self.call_at))
        values = Parameters(self, tools, name)
        for key, written in declared_attributes(tag, tools).items():
            sink.note_repair("flat_arguments")
            member = arguments.value(values.given(key))
            member.add(written)
            member.end()
        if tag.empty:
            arguments.end()
            return True
        scan.take((yield from leaked_word(scan, self)))
        first = yield from self.parameter_here(scan)
        if first is not None and not first.empty and self.wraps(first.name, tools.keys(name)):
            complete = yield from self._wrapped(scan, sink, arguments, values, first)
            if complete is not None:
                return complete
        return (yield from self.rest(scan, sink, arguments, values))

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:  # noqa: ARG002 - for other forms
        """Whether all arguments of a call with these parameters may be in one called `key`, as an object."""
        return False

    def _wrapped(
        self, scan: Scanner, sink: CallSink, arguments: Arguments, values: Parameters, tag: Tag
    ) -> Step[bool | None]:
        """A parameter that may hold all arguments. Returns whether the call is complete; None where it goes on."""
        scan.take(tag.length)
        if tag.misspelt:
            sink.note_repair("misspelt_tag")
        collected = Collected()
        value, literal, own_lines = yield from self.content.start(scan, collected, self.closer)
        repair = yield from tag_value(scan, value, values, own_lines=own_lines)
        if repair is None:
            return False
        value.end(literal=literal)
        if repair:
            sink.note_repair(repair)
        inner = inner_object(collected.text(), values.missing())
        space = yield from scan.space()
        _, length = yield from self.call_end.at(scan, space)
        if inner is not None and length:
            scan.take(space + length)
            sink.note_repair("wrapped_arguments")
            sink.piece(inner)
            sink.end()
            return True
        member = self.content.member(arguments, values.given(tag.name), tag.attributes)
        member.add(collected.text())
        member.end(literal=literal)
        return None

    def rest(self, scan: Scanner, sink: CallSink, arguments: Arguments, values: Parameters) -> Step[bool]:
        """All parameters from here on and the call's closer."""
        while True:
            scan.take((yield from scan.space()))
            scan.take((yield from leaked_word(scan, self)))
            _, length = yield from self.call_end.at(scan)
            if length:
                scan.take(length)
                arguments.end()
                return True
            parameter = yield from self.parameter_here(scan)
            if parameter is None and (length := (yield from damaged_end(scan, self))):
                scan.take(length)
                sink.note_repair("wrong_closer")
                arguments.end()
                return True
            if parameter is None and scan.cut:  # a parameter's tag may have been arriving
                return False
            if parameter is None:  # `goes_on` let it come here: the call's own closer is what is missing
                sink.note_repair("missing_closer")
                if scan.ended:
                    scan.take(scan.rest())
                arguments.end()
                return True
            if not (yield from self.member(scan, sink, arguments, values, parameter)):
                return False

    def member(self, scan: Scanner, sink: CallSink, arguments: Arguments, values: Parameters, tag: Tag) -> Step[bool]:
        """One parameter, whose opening tag is here. Returns False when the reply ends before its closer."""
        written = scan.take(tag.length)
        if tag.misspelt:
            sink.note_repair("misspelt_tag")
        value = self.content.member(arguments, values.given(tag.name), tag.attributes)
        if tag.empty:
            value.end()
            return True
        yield from take_doubled(scan, sink, values, written)
        value, literal, own_lines = yield from self.content.start(scan, value, self.closer)
        repair = yield from tag_value(scan, value, values, own_lines=own_lines)
        if repair is None:
            return False
        value.end(literal=literal)
        if repair:
            sink.note_repair(repair)
        return True

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The wrapper with one element a call; "" for no calls."""
        if not calls:
            return ""
        blocks = self.line.join(self.write_call(call, tools) for call in calls)
        if not self.wrappers:
            return blocks
        return self.line.join((self._written("<", self.wrappers[0], ">"), blocks, self._end(self.wrappers[0])))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        """One call's element."""
        if not call.name or call.name != call.name.strip() or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} would be read as {tools.resolve(call.name)!r}")
        parts, end = [], self._end(self.parameter)
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or tools.key(call.name, key) != key:
                raise Unwritable(f"{call.name}: the key {key!r} does not survive in an attribute")
            more, text = self.content.write(call.name, key, raw, tools, self.inside)
            parts.append(self._written("<", self.parameter, f' name="{escape_attribute(key)}"{more}>{text}{end}'))
        body = self.line.join(("", *parts, "")) if parts else self.hollow
        return f"{self._written('<', self.call, f' name="{escape_attribute(call.name)}">')}{body}{self._end(self.call)}"

    def _written(self, start: str, element: str, end: str) -> str:
        return spelt(start, *self.prefix, element, end)[0]

    def _end(self, element: str) -> str:
        return self._written("</", element, ">")


def spelt(*parts: str | tuple[str, ...]) -> tuple[str, ...]:
    """Every spelling of a tag without blanks, the first of each part first."""
    choices = [(part,) if isinstance(part, str) else part for part in parts]
    return tuple(map("".join, product(*choices)))
