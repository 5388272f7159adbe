"""Calls as elements that are named after the tool: `<N><K>V</K></N>`.

Names come from closed lists: the tools that are declared and their parameters, or the lists that a dialect ships.
Values are raw and nothing is decoded, because the clients of these dialects decode nothing. A parameter's closer
counts where the tool's closer follows, a declared parameter that was not given yet, or an array again; so a
value may hold its own closer almost anywhere. Where the first parameter follows the tool's tag at once, the call is
compact, and every line end in it is a value's.

`value_end` decides that, and what becomes of a value whose closer is missing. Closing tags are read with blanks in
them. An element that the tool does not declare is left out, with the repair `unknown_argument`; models write those of
other agents' tools. A parameter that closes itself is empty.

Where the schema says object or array, a value is JSON or elements (`element_values`), in which nothing is decoded
either. A parameter that is an array may stand several times, once an item.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import override

from toolcalls.events import Repair
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
from toolcalls.shapes.tags.jsonbody import skip
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.raw import on_own_lines
from toolcalls.shapes.tags.rest_of_call import CLOSES, EMPTY, OPENS, RestOfCall, Seen
from toolcalls.shapes.tags.tag_patterns import Parts, PatternPart, Tags, unbracketed
from toolcalls.shapes.tags.value_end import CALL, CALL_END, CLOSER, NEXT, OTHER, REOPENED, UNBRACKETED, GoesOn
from toolcalls.shapes.tags.wrapped import Collected, LeftOut
from toolcalls.shapes.tags.xml_trees import MAX_DEPTH
from toolcalls.shapes.words import skip_past
from toolcalls.shapes.writable import plain_text
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import is_json, members, to_json
from toolcalls.values.toolbox import Toolbox

_NAME = r"[\w.-]{1,64}"
_REST = r"(?:[ \t\r\n/][^<>]{0,300})?"  # of an opening tag behind its name
_BLANKS = rf"[{SPACE}]{{0,8}}"
_ANY = re.compile(rf"<(?:{_BLANKS}/{_BLANKS}(?P<closer>{_NAME}){_BLANKS}|(?P<opener>{_NAME})(?P<rest>{_REST}))>")
_ANY_PART = re.compile(rf"<(?:{_BLANKS}(?:/{_BLANKS}(?:{_NAME}{_BLANKS})?)?|{_NAME}{_REST})")
_MAX_TAG = 400  # characters
_BLANKS_AND_BRACKET = PatternPart(rf"{_BLANKS}<", _BLANKS, "<")


@lru_cache(maxsize=256)
def _closing(name: str) -> Tags:
    return Tags(call_end=[("<", "/", name, ">")])


@lru_cache(maxsize=256)
def _ends(tool: str, inner: str, wrapper: str) -> tuple[Tags, Tags]:
    """The closing tags that end a call, and those that may come after its last parameter."""
    kinds: dict[str, list[Parts]] = {CALL_END: [("<", "/", tool, ">")]}
    kinds |= {"wrapper_end": [("<", "/", wrapper, ">")]} if wrapper else {}
    return Tags(**kinds), Tags(**kinds, **({"inner": [("<", "/", inner, ">")]} if inner else {}))


@lru_cache(maxsize=256)
def _closers(parameter: str, tool: str, inner: str) -> Tags:
    """The closing tags that mean something in a value of this parameter."""
    closer, call_end = ("<", "/", parameter, ">"), ("<", "/", tool, ">")
    both: tuple[Parts, ...] = (("<", "/", inner, ">", _BLANKS_AND_BRACKET, *call_end[1:]),) if inner else ()
    kinds: dict[str, tuple[Parts, ...]] = {CLOSER: (closer,), CALL_END: (call_end, *both)}
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
    inner       an element around a call's parameters, whose closer means nothing; "" for none
    wrapper     an element around calls, whose closer ends one without its own; "" for none
    any_key     of a tool that declares no parameters, any element is one
    """

    name: str
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    any_items: bool = True
    json: bool = True
    older: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    inner: str = ""
    wrapper: str = ""
    any_key: bool = False
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
        if not (yield from self.begins(scan, sink, space, name, tools)):
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

    def begins(self, scan: Scanner, sink: CallSink, ahead: int, name: str, tools: Toolbox) -> Step[bool]:
        """Whether a tool's parameters are here, one of them declared, or at once its closer."""
        if (yield from self._body_at(scan, ahead, name, tools)):
            return True
        if not (yield from _element_at(scan, ahead)):
            return False
        return (yield from self.leads_on(scan, sink, ahead, name, tools, f"</{name}>"))

    def leads_on(self, scan: Scanner, sink: CallSink, ahead: int, name: str, tools: Toolbox, closer: str) -> Step[bool]:
        """Whether elements are here that lead to the call's closer, a parameter of the tool among them."""
        body = _Elements(self, scan, sink, tools, name, closer=closer, compact=False)
        return bool((yield from body.rest.goes_on_from(scan, ahead)))

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

    def quoted(self, scan: Scanner, ahead: int, tool: str, tools: Toolbox) -> Step[int]:
        """The length of a call's opening tag that is here in a value, of a call that ends as one of `tool` does.

        0 for none.
        """
        found = yield from _element_at(scan, ahead)
        if found is None or found["opener"] != tool:
            return 0
        size = len(found[0])
        return size if (yield from self.call_at(scan, ahead, tools)) else 0

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

    marks = "<"

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
        self.ends, self.behind = _ends(self.tool, form.inner, form.wrapper)
        self._any_key = form.any_key and not self.tags
        self._closed = False  # the closer of `inner` was there
        self.given: set[str] = set()
        self.rest = RestOfCall(self)
        self._start = opened_verbatim if compact else opened_on_lines
        self._several = Members(self.arguments, self.schema)

    def schema(self, key: str) -> SchemaPlace:
        """What the schema says about a parameter."""
        return SchemaPlace(self.tools, self.name, (key,))

    @override
    def take_layout(self) -> Step[None]:
        layout = self.scan.take((yield from self.layout(self.scan, 0)))
        self._closed = self._closed or "<" in layout

    @override
    def parameter(self) -> Step[Tag | None]:
        tag = yield from self.scan.among(self.tags)
        if tag is not None:
            key = self.opening[tag]
            return Tag(key, len(tag), repairs=() if tag == f"<{key}>" else ("alias",))
        found = yield from _element_at(self.scan, 0)
        if found is None:
            return None
        if self._any_key:
            return Tag(found["opener"], len(found[0]), found["rest"].endswith("/"))
        if self.form.inner and not self.given and not (yield from self.rest.goes_on_from(self.scan, 0)):
            return None
        key = self.opening.get(f"<{found['opener']}>", "")
        rest = found["rest"].rstrip("/")
        repairs: tuple[Repair, ...] = () if not key else ("left_out",) if rest.strip() else ()
        return Tag(
            key or found["opener"],
            len(found[0]),
            found["rest"].endswith("/"),
            repairs=repairs if key else ("unknown_argument",),
        )

    @override
    def take_parameter(self, tag: Tag) -> Step[bool | None]:
        key, schema = tag.name, self.schema(tag.name)
        opener = self.take_tag(tag)
        if "unknown_argument" in tag.repairs:
            place = _Element(self, key, structured=False)
            literal = tag.empty or (yield from self.take_value(LeftOut(), place, opener, opened_verbatim))
            return False if literal is None else None
        structured = schema.types is not None and not schema.is_text
        self.given.add(key)
        if not (structured and schema.is_array):
            self._several.write()
        value = Collected() if structured else self.arguments.value(key)
        if tag.empty:
            literal = False
            value.end()
        else:
            place = _Element(self, _element(opener), structured=structured)
            literal = yield from self.take_value(value, place, opener, self._start, key)
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
    def end_early(self) -> Step[bool]:
        scan = self.scan
        wrapper_end, _ = yield from self.ends.at(scan)
        closed = (self.given or self._closed) and not scan.cut and self.behind.stops_short(scan)
        if not self.form.inner or wrapper_end or closed:
            self.sink.note_repair("missing_closer")
            if self.behind.stops_short(scan):
                scan.take(scan.rest())
            self.end()
            return True
        if scan.ended and ">" not in scan.text[scan.pos :]:  # inside a tag, or before one
            scan.take(scan.rest())
            return False
        self.sink.fail()
        yield from skip(scan, self.ends)
        return False

    @override
    def end(self) -> None:
        self._several.end()
        self.arguments.end()

    # `rest_of_call.Grammar`

    def seen(self, scan: Scanner, ahead: int) -> Step[Seen | None]:
        tag = yield from scan.among(self.tags, ahead)
        if tag is not None:
            return Seen(OPENS, len(tag), _element(tag), self.opening[tag])
        found = yield from scan.match(_ANY, _ANY_PART, ahead, _MAX_TAG)
        if found is None:
            return None
        size = len(found[0])
        if found["closer"] is not None and found["closer"] == self.form.inner:
            return None  # layout
        if found["closer"] is not None:
            return Seen(CALL_END, size) if found["closer"] == self.tool else Seen(CLOSES, size, found["closer"])
        name = found["opener"]
        if name == self.tool and (yield from self.quotes(scan, ahead)):
            return Seen(CALL, size)
        key = name if self._any_key else self.opening.get(f"<{name}>", "")
        return Seen(EMPTY if found["rest"].endswith("/") else OPENS, size, name, key)

    def layout(self, scan: Scanner, ahead: int) -> Step[int]:
        """White space, and the closers of the element around the parameters."""
        while True:
            ahead = yield from scan.space(ahead)
            kind, length = yield from self.behind.at(scan, ahead)
            if kind != "inner":
                return ahead
            ahead += length

    def call_over(self, scan: Scanner, ahead: int) -> Step[bool]:
        """The wrapper or the reply ends."""
        kind, _ = yield from self.ends.at(scan, (yield from self.layout(scan, ahead)))
        return kind == "wrapper_end" or (not scan.cut and self.behind.stops_short(scan, ahead))

    def lacks(self, key: str) -> bool:
        return bool(key) and key not in self.given

    def goes_on_with(self, element: str) -> GoesOn:
        """Whether the call goes on with an element that is no declared parameter which it lacks."""
        return GoesOn.YES if self._any_key and element not in self.given else GoesOn.ASK

    def block_ends(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Another call or the end of the reply."""
        next_call = lambda scan, at: self.form.call_at(scan, at, self.tools)  # noqa: E731
        return (yield from calls_follow(scan, ahead, self.ends, next_call))

    def quotes(self, scan: Scanner, ahead: int) -> Step[int]:
        return self.form.quoted(scan, ahead, self.tool, self.tools)


def _element_at(scan: Scanner, ahead: int) -> Step[re.Match[str] | None]:
    """The opening tag of any element that is here."""
    found = yield from scan.match(_ANY, _ANY_PART, ahead, _MAX_TAG)
    return None if found is None or found["opener"] is None else found


class _Inside:
    """The tags that mean something inside an element: closing ones with blanks in them, and opening ones as they are.

    own   the kind of the element's own opening tag
    """

    marks = "<"

    def __init__(self, element: str, tool: str, inner: str, opening: Iterable[str], own: str) -> None:
        self._closers = _closers(element, tool, inner)
        self._opening = (f"<{tool}>", f"<{tool} ", f"<{element}>", *opening)
        self._kinds = {f"<{tool}>": CALL, f"<{tool} ": CALL, f"<{element}>": own}
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
    """What the value of one element is in (`value_end.Surroundings`)."""

    key = ""

    def __init__(self, body: _Elements, element: str, *, structured: bool) -> None:
        self._body = body
        again = {of for of in body.given if body.schema(of).is_array}
        following = tuple(tag for tag, of in body.opening.items() if of in again or of not in body.given)
        # In nested elements, the own tag is no damaged closer.
        self.inside = _inside(element, body.tool, body.form.inner, body.tags, NEXT if structured else REOPENED)
        self.closer = _closing(element)
        self.behind = _Behind(following, body.behind)
        self.element = element
        self.rest = body.rest
        self.block_ends = body.block_ends
        self.quotes = body.quotes

    def goes_on(self, scan: Scanner, ahead: int) -> Step[GoesOn]:
        """A parameter that may follow, the call's closer, or the end of the reply."""
        space = yield from scan.space(ahead)
        if (yield from self.behind.at(scan, space)) or (yield from self._body.call_over(scan, ahead)):
            return GoesOn.YES
        found = yield from _element_at(scan, space)
        return GoesOn.NO if found is None else self._body.goes_on_with(found["opener"])

    def begins_next(self, scan: Scanner, ahead: int, *, first: bool) -> Step[bool]:
        """Another parameter that the call lacks. After a tag in the value, only the start of a line counts."""
        tag = yield from scan.among(self._body.tags, ahead)
        return tag is not None and self._body.lacks(self._body.opening[tag]) and (first or ahead > 0)

    def repeats(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - `goes_on` knows
        yield from ()
        return True


def _on_lines(text: str) -> str:
    return on_own_lines(text) if "\n" in text or "\r" in text else text
