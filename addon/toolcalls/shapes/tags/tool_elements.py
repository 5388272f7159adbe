"""Calls as elements that are named after the tool: `<N><K>V</K></N>`.

Names come from closed lists: the tools that are declared and their parameters, or the lists that a dialect ships.
Values are raw and nothing is decoded, because the clients of these dialects decode nothing. A parameter's closer
counts only where the tool's closer follows, a declared parameter that was not given yet, or the same one again; so a
value may hold its own closer almost anywhere. A whole call of the same tool that is quoted in a value is counted
through its own closer. Where the first parameter follows the tool's tag at once, the call is compact, and every line
end in it is a value's.

`value_end` decides that, and what becomes of a value whose closer is missing. Closing tags are read with blanks in
them.

Where the schema says object or array, a value is JSON or elements (`element_values`), in which nothing is decoded
either. A parameter that is an array may stand several times, once an item.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import override

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.containers import container
from toolcalls.shapes.tags.call_body import CallBody
from toolcalls.shapes.tags.call_end import calls_follow
from toolcalls.shapes.tags.content import opened_on_lines, opened_verbatim
from toolcalls.shapes.tags.element_values import (
    NAME,
    Members,
    Rules,
    SchemaPlace,
    Spelling,
    WrongStructure,
    opening_tags,
    raw_argument,
)
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.raw import on_own_lines
from toolcalls.shapes.tags.tag_patterns import Parts, Tags, unbracketed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, NEXT, OTHER, REOPENED, UNBRACKETED
from toolcalls.shapes.tags.wrapped import Collected
from toolcalls.shapes.tags.xml_trees import MAX_DEPTH
from toolcalls.shapes.words import skip_past
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import is_json, members, to_json
from toolcalls.values.toolbox import Toolbox

_MAX_QUOTED = 256  # characters of a quoted parameter that are looked at to tell it from the next one


@lru_cache(maxsize=256)
def _closing(name: str) -> Tags:
    return Tags(call_end=[("<", "/", name, ">")])


@lru_cache(maxsize=256)
def _closers(parameter: str, tool: str) -> Tags:
    """The closing tags that mean something in a value of this parameter."""
    closer: Parts = ("<", "/", parameter, ">")
    kinds: dict[str, tuple[Parts, ...]] = {CLOSER: (closer,), CALL_END: (("<", "/", tool, ">"),)}
    return Tags(**kinds, **{UNBRACKETED: unbracketed(closer)})


def _element(tag: str) -> str:
    """The name of the element that an opening tag begins: `parameter` for `<parameter name="path">`."""
    return re.split(r"[\s=>]", tag[1:], maxsplit=1)[0]


@dataclass(frozen=True)
class ToolElements:
    """The form with the tools that a dialect knows though nobody declares them: name to parameters.

    any_items   the items of an array may be called otherwise than `item`
    json        objects and arrays are written as JSON; else as elements
    older       by tool: what its parameters were called, and are called now; models go on writing the old names
    """

    name: str
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    any_items: bool = True
    json: bool = True
    older: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    stray_words: tuple[str, ...] = ()
    place: OpenerPlace = "line"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """One tag for each declared tool, and for each that the dialect knows."""
        return opening_tags((*names, *self.known))

    def parameters(self, name: str, tools: Toolbox) -> tuple[str, ...]:
        """The parameters that may be in a tool: the declared ones, else those that the dialect knows."""
        return tools.keys(name) or self.known.get(name, ())

    def opening(self, name: str, tools: Toolbox) -> dict[str, str]:
        """The opening tags of a tool's parameters, and what each parameter is called today."""
        keys = self.parameters(name, tools)
        older = {old: now for old, now in self.older.get(name, {}).items() if now in keys and old not in keys}
        return {f"<{tag}>": key for tag, key in (*zip(keys, keys, strict=True), *older.items())}

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        opener = yield from scan.among(self.openers(tools.names))
        if opener is None:
            return False
        name = opener[1:-1]
        space = yield from scan.space(len(opener))
        if not (yield from self._body_at(scan, space, name, tools)):
            return False
        scan.take(len(opener))
        sink.begin(name)
        return (yield from self.body(scan, sink, tools, name, f"</{name}>", compact=space == len(opener)))

    def body(
        self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str, closer: str, *, compact: bool = False
    ) -> Step[bool]:
        """The elements of a call that has begun, and its closer. Returns whether the call is complete.

        compact   no white space comes after the call's tag, so line ends belong to values
        """
        return _Elements(self, scan, sink, tools, name, closer=closer, compact=compact).read()

    def _body_at(self, scan: Scanner, ahead: int, name: str, tools: Toolbox) -> Step[bool]:
        """Whether a parameter of a tool is here, or the tool's closer."""
        if (yield from scan.among(tuple(self.opening(name, tools)), ahead)) is not None:
            return True
        return (yield from _closing(name).at(scan, ahead))[1] > 0

    def call_at(self, scan: Scanner, ahead: int, tools: Toolbox) -> Step[bool]:
        """Whether a call of any tool begins here."""
        opener = yield from scan.among(self.openers(tools.names), ahead)
        if opener is None:
            return False
        space = yield from scan.space(ahead + len(opener))
        return (yield from self._body_at(scan, space, opener[1:-1], tools))

    def structure(self, text: str, place: SchemaPlace, sink: CallSink) -> str:
        """The JSON of an object or an array: JSON already, or nearly, or nested elements. Raises WrongStructure."""
        trimmed = text.strip(SPACE)
        if trimmed[:1] in ("{", "[", "(") and not is_json(trimmed):
            found = container(trimmed, place.types)
            for repair in found.repairs if found is not None else ():
                sink.note_repair(repair)
            text = text if found is None else found.json
        infer = place.tools.infer
        rules = Rules(
            untyped=lambda leaf, _: to_json(leaf, None, infer=infer),
            other_items=self.any_items,
            own_items=2 if self.any_items else MAX_DEPTH + 2,
            line_ends=True,
        )
        return raw_argument(text, place, rules)

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One element a call, one line a tag, one empty line between calls; "" for no calls."""
        return "\n\n".join(self.write_call(call, tools) for call in calls)

    def write_call(self, call: Call, tools: Toolbox) -> str:
        if not NAME.fullmatch(call.name):
            raise Unwritable(f"{call.name!r} is not a name that a tag can have")
        known = self.parameters(call.name, tools)
        lines = []
        for key, raw in members(call.arguments):
            if key not in known:
                missing = "" if call.name in tools.names else ": no tool of this name is declared"
                raise Unwritable(f"{call.name}: {key!r} is not one of its parameters{missing}")
            place = SchemaPlace(tools, call.name, (key,))
            if not self.json and raw[:1] in ("{", "["):
                lines.append(Spelling(lambda text, *_: _on_lines(text)).member(key, raw, place) + "\n")
                continue
            lines.append(f"<{key}>{_on_lines(plain_text(call.name, key, raw, tools))}</{key}>\n")
        return f"<{call.name}>\n{''.join(lines)}</{call.name}>"


class _Elements(CallBody):
    """The parameters of a call, each an element of its own name."""

    def __init__(
        self,
        form: ToolElements,
        scan: Scanner,
        sink: CallSink,
        tools: Toolbox,
        name: str,
        *,
        closer: str,
        compact: bool,
    ) -> None:
        super().__init__(scan, sink, tools, name)
        self.form = form
        self.opening = form.opening(name, tools)
        self.tags = tuple(self.opening)
        self.tool = closer[2:-1]
        self.ends = _closing(self.tool)
        self.given: set[str] = set()
        self._start = opened_verbatim if compact else opened_on_lines
        self._several = Members(self.arguments, self.schema)

    def schema(self, key: str) -> SchemaPlace:
        """What the schema says about a parameter."""
        return SchemaPlace(self.tools, self.name, (key,))

    @override
    def take_layout(self) -> Step[None]:
        self.scan.take((yield from self.scan.space()))

    @override
    def parameter(self) -> Step[Tag | None]:
        tag = yield from self.scan.among(self.tags)
        if tag is None:
            return None
        key = self.opening[tag]
        return Tag(key, len(tag), repairs=() if tag == f"<{key}>" else ("alias",))

    @override
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        key, schema = tag.name, self.schema(tag.name)
        structured = schema.types is not None and not schema.is_text
        opener = self.take_tag(tag)
        self.given.add(key)
        if not (structured and schema.is_array):
            self._several.write()
        value = Collected() if structured else self.arguments.value(key)
        place = _Element(self, _element(opener), key, structured=structured)
        literal = yield from self.take_value(value, place, opener, self._start)
        if literal is None:
            return False
        if not isinstance(value, Collected):
            return None
        try:
            json = self.form.structure(value.text(), schema, self.sink)
        except WrongStructure:
            self.sink.fail()
            yield from skip_past(self.scan, (f"</{self.tool}>",))
            return False
        if schema.is_array:
            self._several.add(key, json)
        else:
            self.arguments.member(key, json)
        return None

    @override
    def end(self) -> None:
        self._several.end()
        self.arguments.end()


class _Inside:
    """The tags that mean something inside an element: closing ones with blanks in them, and opening ones as they are.

    own   the kind of the element's own opening tag
    """

    marks = "<"

    def __init__(self, element: str, tool: str, opening: Iterable[str], own: str) -> None:
        self._closers = _closers(element, tool)
        self._opening = (f"<{tool}>", f"<{element}>", *opening)
        self._kinds = {f"<{tool}>": CALL, f"<{element}>": own}
        self.second = self._closers.second | {tag[1] for tag in self._opening}

    def at(self, scan: Scanner, ahead: int = 0) -> Step[tuple[str, int]]:
        kind, length = yield from self._closers.at(scan, ahead)
        if kind:
            return kind, length
        tag = yield from scan.among(self._opening, ahead)
        return ("", 0) if tag is None else (self._kinds.get(tag, OTHER), len(tag))


_inside = lru_cache(maxsize=256)(_Inside)


class _Behind:
    """What an element's closer may be followed by."""

    def __init__(self, tags: tuple[str, ...], end: Tags) -> None:
        self._tags = tags
        self._end = end

    def at(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether one of them is here."""
        if (yield from scan.among(self._tags, ahead)) is not None:
            return True
        return (yield from self._end.at(scan, ahead))[1] > 0

    def stops_short(self, scan: Scanner, ahead: int = 0) -> bool:
        return scan.stops_short(self._tags, ahead) or self._end.stops_short(scan, ahead)


class _Element:
    """What the value of one parameter is in (`value_end.Surroundings`)."""

    balances = False  # the clients read to the last closer

    def __init__(self, body: _Elements, element: str, key: str, *, structured: bool) -> None:
        self._body = body
        again = {of for of in body.given if of == key or body.schema(of).is_array}
        following = tuple(tag for tag, of in body.opening.items() if of in again or of not in body.given)
        # In nested elements, the own tag is no damaged closer.
        self.inside = _inside(element, body.tool, body.tags, NEXT if structured else REOPENED)
        self.closer = _closing(element)
        self.behind = _Behind(following, body.ends)

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """A parameter that may follow, the call's closer, or the end of the reply."""
        space = yield from scan.space(ahead)
        if (yield from self.behind.at(scan, space)):
            return True
        return not scan.cut and self._body.ends.stops_short(scan, ahead)

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Another call or the end of the reply."""
        body = self._body
        next_call = lambda scan, at: body.form.call_at(scan, at, body.tools)  # noqa: E731
        return (yield from calls_follow(scan, ahead, body.ends, next_call))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        """A call of this tool, with a parameter."""
        length = len(self._body.tool) + 2
        space = yield from scan.space(ahead + length)
        return length if (yield from scan.among(self._body.tags, space)) is not None else 0

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:
        """Another parameter that the call lacks. After a tag in the value, only the start of a line counts."""
        opening, given = self._body.opening, self._body.given
        tag = yield from scan.among(self._body.tags, ahead)
        if tag is None or opening[tag] in given or not (first or ahead):
            return False
        others = _Behind(tuple(one for one, key in opening.items() if key not in given), self._body.ends)
        closer = _closing(_element(tag))
        start = offset = ahead + len(tag)
        while (offset := (yield from scan.find("</", offset, start + _MAX_QUOTED))) >= 0:
            _, length = yield from closer.at(scan, offset)
            if length:
                space = yield from scan.space(offset + length)
                return (yield from others.at(scan, space)) or scan.rest() == space
            offset += 2
        return True

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - `goes_on` knows
        yield from ()
        return False


def _on_lines(text: str) -> str:
    return on_own_lines(text) if "\n" in text or "\r" in text else text
