"""What comes after a call's opening tag, in every form of tags.

`CallBody.read` is the one loop: layout, then what ends the call or begins a parameter, then the parameter's value. A
form says what its tags are; where a value ends is decided in `value_end`, what else may end a call in `call_end`.
`NamedBody` is the body of a form whose parameters have names in their tags.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, override

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.json.json_arguments import OBJECT_STARTS
from toolcalls.shapes.tags.call_end import Form, Parameters, damaged_end, leaked_word
from toolcalls.shapes.tags.content import Content, Opened
from toolcalls.shapes.tags.entities import escaped_value
from toolcalls.shapes.tags.jsonbody import json_body, skip
from toolcalls.shapes.tags.opening_tag import Tag, declared_attributes, encoded_arguments, other_attributes
from toolcalls.shapes.tags.rest_of_call import RestOfCall
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import CALL_END, DUPLICATE_CLOSER, Surroundings, read_value, take_doubled
from toolcalls.shapes.tags.wrapped import Collected, inner_object
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


class CallBody(ABC):
    """The arguments of a call that has begun.

    ends   what ends it; its own closer is of the kind `CALL_END`
    rest   what is ahead in it
    """

    ends: Tags
    rest: RestOfCall

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        self.scan = scan
        self.sink = sink
        self.tools = tools
        self.name = name
        self.arguments = Arguments(sink, tools, name)

    def read(self) -> Step[bool]:
        """All parameters from here on and the call's closer. Returns whether the call is complete."""
        scan, begun = self.scan, False
        while True:
            yield from self.take_layout()
            kind, length = yield from self.ends.at(scan)
            if kind == CALL_END and not begun and (yield from self.comes_late(length)):
                scan.take(length)
                begun = True
                continue
            begun = True
            if kind == CALL_END:
                scan.take(length)
                self.end()
                return True
            tag = yield from self.parameter()
            complete = yield from (self.end_early() if tag is None else self.take_parameter(tag))
            if complete is not None:
                return complete

    @abstractmethod
    def take_layout(self) -> Step[None]:
        """Take what means nothing between two tags."""

    @abstractmethod
    def parameter(self) -> Step[Tag | None]:
        """The opening tag that is here, with the parameter's key as its name."""

    @abstractmethod
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        """Take a parameter. Returns whether the call is complete; None where it goes on."""

    def end_early(self) -> Step[bool]:
        """Neither a parameter nor the call's own closer is here: that closer is missing, since a value ended here.

        Returns whether the call is complete.
        """
        yield from ()
        self.sink.note_repair("missing_closer")
        if self.ends.stops_short(self.scan):
            self.scan.take(self.scan.rest())
        self.end()
        return True

    def comes_late(self, ahead: int) -> Step[bool]:
        """Whether the parameters come behind a closer that was too early, which is noted; one of them is declared."""
        keys = self.tools.keys(self.name)
        if not keys:
            return False
        found = yield from self.rest.goes_on_from(self.scan, ahead)
        late = found is not None and not found.isdisjoint(keys)
        if late:
            self.sink.note_repair(DUPLICATE_CLOSER)
        return late

    def end(self) -> None:
        self.arguments.end()

    def take_tag(self, tag: Tag) -> str:
        """Take an opening tag, and note its repairs."""
        for repair in tag.repairs:
            self.sink.note_repair(repair)
        return self.scan.take(tag.length)

    def take_value(
        self, value: Value, place: Surroundings, opener: str, start: "Start", key: str = ""
    ) -> Step[bool | None]:
        """Take a value behind `opener`, which may be there twice, and its closer.

        Returns whether its text is marked as such; None when the reply ends before its closer.
        """
        yield from take_doubled(self.scan, self.sink, place, opener)
        value, literal, own_lines, entities = yield from start(self.scan, value, place.closer)
        if entities:
            value = escaped_value(value, key, self.tools, partial(self.sink.note_repair, "entities"))
        repair = yield from read_value(self.scan, value, place, own_lines=own_lines)
        if repair is None:
            return None
        value.end(literal=literal)
        if repair:
            self.sink.note_repair(repair)
        return literal


type Start = Callable[[Scanner, Value, Tags], Step[Opened]]


class BodyForm(Form, Protocol):
    """A form, as far as the body of its calls is concerned. `TagForm` documents the fields."""

    @property
    def json(self) -> bool:
        """Whether an object may be in the place of the parameters."""

    @property
    def closed(self) -> bool:
        """Whether a call has a closer of its own."""

    @property
    def content(self) -> Content:
        """How a value is between its tags."""

    def keyed(self, tag: Tag, values: Parameters) -> Tag | None:
        """A parameter's tag with the key that it means, None where it may be any."""

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:
        """Whether all arguments of a call with these parameters may be in one called `key`, as an object."""


def read_call(form: BodyForm, scan: Scanner, sink: CallSink, tools: Toolbox, tag: Tag) -> Step[bool]:
    """One call, whose opening tag is here. Returns whether it is complete."""
    scan.take(tag.length)
    given: Mapping[str, str] = {}
    refused = left_out = False
    if len(tag.attributes) > 1:
        hollow = tag.empty or (yield from form.ends.at(scan, (yield from scan.space())))[0] == CALL_END
        encoded = encoded_arguments(tag, tools) if hollow else ""
        if encoded:
            return (yield from _encoded(form, scan, sink, tag, encoded))
        given = declared_attributes(tag, tools)
        left_out = other_attributes(tag, tools)
        refused = hollow and left_out and not given
    name = sink.begin(tag.name, "unknown_arguments" if refused else None)
    if left_out and given:
        sink.note_repair("left_out")
    for repair in tag.repairs:
        sink.note_repair(repair)
    body = NamedBody(form, scan, sink, tools, name)
    if not tag.empty:
        scan.take((yield from scan.space()))
        if form.json and (yield from scan.among(OBJECT_STARTS)):
            return (yield from json_body(scan, sink, form.ends, form.call_at))
    body.take_attributes(given)
    if tag.empty and (given or not (yield from body.comes_late(0))):
        body.arguments.end()
        return True
    return (yield from body.read())


def _encoded(form: BodyForm, scan: Scanner, sink: CallSink, tag: Tag, arguments: str) -> Step[bool]:
    """A call whose arguments are in its tag, which has been taken, and its closer, if it has one."""
    sink.begin(tag.name)
    sink.note_repair("wrapped_arguments")
    sink.piece(arguments)
    if not tag.empty:
        space = yield from scan.space()
        scan.take(space + (yield from form.ends.at(scan, space))[1])
    sink.end()
    return True


class NamedBody(CallBody):
    """The parameters of a call, with names in their tags."""

    def __init__(self, form: BodyForm, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        super().__init__(scan, sink, tools, name)
        self.ends = form.ends
        self.values = Parameters(form, tools, name)
        self.rest = self.values.rest
        self._form = form
        self._first = True

    def take_attributes(self, given: Mapping[str, str]) -> None:
        """Arguments that were in the call's tag."""
        for key, written in given.items():
            self.sink.note_repair("flat_arguments")
            self.arguments.text(self.values.given(key), written)

    @override
    def take_layout(self) -> Step[None]:
        self.scan.take((yield from self.scan.space()))
        self.scan.take((yield from leaked_word(self.scan, self._form)))

    @override
    def parameter(self) -> Step[Tag | None]:
        return self._form.parameter_here(self.scan)

    @override
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        form, first, self._first = self._form, self._first, False
        if first and not tag.empty and form.wraps(tag.name, self.tools.keys(self.name)):
            return (yield from self._wrapped(tag))
        keyed = form.keyed(tag, self.values)
        if keyed is None:
            self.sink.fail()
            yield from skip(self.scan, form.ends)
            return False
        written = self.take_tag(keyed)
        value = form.content.member(self.arguments, self.values.given(keyed.name), tag.attributes)
        if tag.empty:
            value.end()
            return None
        literal = yield from self.take_value(value, self.values, written, form.content.start, keyed.name)
        return False if literal is None else None

    def _wrapped(self, tag: Tag) -> Step[bool | None]:
        """A parameter that may hold all arguments. Returns whether the call is complete; None where it goes on."""
        form, scan, sink = self._form, self.scan, self.sink
        collected = Collected()
        literal = yield from self.take_value(collected, self.values, self.take_tag(tag), form.content.start)
        if literal is None:
            return False
        inner = inner_object(collected.text(), self.values.missing())
        space = yield from scan.space()
        kind, length = yield from form.ends.at(scan, space)
        if inner is not None and kind == CALL_END:
            scan.take(space + length)
            sink.note_repair("wrapped_arguments")
            sink.piece(inner)
            sink.end()
            return True
        member = form.content.member(self.arguments, self.values.given(tag.name), tag.attributes)
        member.add(collected.text())
        member.end(literal=literal)
        return None

    @override
    def end_early(self) -> Step[bool]:
        form, scan, sink = self._form, self.scan, self.sink
        length = yield from damaged_end(scan, form)
        if length:
            sink.note_repair("wrong_closer")
        elif scan.cut and form.closed:  # a parameter's tag may have been arriving
            return False
        elif form.closed:
            sink.note_repair("missing_closer")
        if not length and form.behind.stops_short(scan):
            length = scan.rest()
        scan.take(length)
        self.end()
        return True
