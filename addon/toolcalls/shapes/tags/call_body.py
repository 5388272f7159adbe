"""What comes after a call's opening tag, for every form whose parameters have names in their tags.

One loop: layout, then a closer that ends the call or a parameter's opening tag, and the parameter's value. The form
says what its tags are, `value_end` where the value ends, `call_end` what else may end the call.
"""

from collections.abc import Mapping
from typing import Protocol

from toolcalls.shapes import CallSink
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.json.jsonvalue import OBJECT_STARTS
from toolcalls.shapes.tags.call_end import Form, Parameters, damaged_end, leaked_word
from toolcalls.shapes.tags.content import Content
from toolcalls.shapes.tags.jsonbody import json_body, skip
from toolcalls.shapes.tags.opening_tag import Tag, declared_attributes, encoded_arguments, other_attributes
from toolcalls.shapes.tags.value_end import CALL_END, read_value, take_doubled
from toolcalls.shapes.tags.wrapped import Collected, inner_object
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox


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

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """The parameter's tag that is here."""

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
    body = CallBody(form, scan, sink, tools, name)
    if not tag.empty:
        scan.take((yield from scan.space()))
        if form.json and (yield from scan.among(OBJECT_STARTS)):
            return (yield from json_body(scan, sink, form.ends, form.call_at))
    body.take_attributes(given)
    if tag.empty:
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


class CallBody:
    """The parameters of a call that has begun."""

    def __init__(self, form: BodyForm, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        self._form = form
        self._scan = scan
        self._sink = sink
        self._declared = tools.keys(name)
        self.arguments = Arguments(sink, tools, name)
        self.values = Parameters(form, tools, name)

    def take_attributes(self, given: Mapping[str, str]) -> None:
        """Arguments that were in the call's tag."""
        for key, written in given.items():
            self._sink.note_repair("flat_arguments")
            member = self.arguments.value(self.values.given(key))
            member.add(written)
            member.end()

    def read(self) -> Step[bool]:
        """All parameters from here on and the call's closer. Returns whether the call is complete."""
        form, scan = self._form, self._scan
        first = True
        while True:
            scan.take((yield from scan.space()))
            scan.take((yield from leaked_word(scan, form)))
            kind, length = yield from form.ends.at(scan)
            if kind == CALL_END:
                scan.take(length)
                self.arguments.end()
                return True
            tag = yield from form.parameter_here(scan)
            if tag is None:
                return (yield from self._end_without_closer())
            if first and not tag.empty and form.wraps(tag.name, self._declared):
                complete = yield from self._wrapped(tag)
                if complete is not None:
                    return complete
            elif not (yield from self._parameter(tag)):
                return False
            first = False

    def _end_without_closer(self) -> Step[bool]:
        """Neither a parameter nor the call's own closer is here. Returns whether the call is complete."""
        form, scan, sink = self._form, self._scan, self._sink
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
        self.arguments.end()
        return True

    def _parameter(self, tag: Tag) -> Step[bool]:
        """One parameter, whose opening tag is here. Returns False when the reply ends before its closer."""
        form = self._form
        keyed = form.keyed(tag, self.values)
        if keyed is None:
            self._sink.fail()
            yield from skip(self._scan, form.ends)
            return False
        written = self._take(keyed)
        value = form.content.member(self.arguments, self.values.given(keyed.name), tag.attributes)
        if tag.empty:
            value.end()
            return True
        return (yield from self._value(value, written)) is not None

    def _wrapped(self, tag: Tag) -> Step[bool | None]:
        """A parameter that may hold all arguments. Returns whether the call is complete; None where it goes on."""
        form, scan, sink = self._form, self._scan, self._sink
        collected = Collected()
        literal = yield from self._value(collected, self._take(tag))
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

    def _take(self, tag: Tag) -> str:
        for repair in tag.repairs:
            self._sink.note_repair(repair)
        return self._scan.take(tag.length)

    def _value(self, value: Value, opener: str) -> Step[bool | None]:
        """A value behind `opener`, and its closer.

        Returns whether its text is marked as such; None when the reply ends before its closer.
        """
        form, scan = self._form, self._scan
        yield from take_doubled(scan, self._sink, self.values, opener)
        value, literal, own_lines = yield from form.content.start(scan, value, form.closer)
        repair = yield from read_value(scan, value, self.values, own_lines=own_lines)
        if repair is None:
            return None
        value.end(literal=literal)
        if repair:
            self._sink.note_repair(repair)
        return literal
