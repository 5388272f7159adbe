"""Calls as elements that are named after the tool: `<N><K>V</K></N>`.

Names come from closed lists: the tools that are declared and their parameters, or the lists that a dialect ships.
Values are raw and nothing is decoded, because the clients of these dialects decode nothing. A parameter's closer
counts only where the tool's closer follows, a declared parameter that was not given yet, or the same one again; so a
value may hold its own closer almost anywhere. A whole call of the same tool that is quoted in a value is counted
through its own closer. Where the first parameter follows the tool's tag at once, the call is compact, and every line
end in it is a value's.

A parameter without a closer ends where a parameter begins that the call lacks, unless that one is quoted: then it has a
closer after which the call cannot go on. It also ends at the tool's closer, where another call or the reply's end
follows that. Closing tags are read with blanks in them.

Where the schema says object or array, a value is JSON or nested elements (`shapes.nested`), in which nothing is decoded
either. A parameter that is an array may stand several times, once an item.

A little over 300 lines: reading and writing of one form stay together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from toolcalls.events import Repair
from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.containers import container
from toolcalls.shapes.tags.call_end import calls_follow
from toolcalls.shapes.tags.nested import NAME, Members, Rules, SchemaPlace, Spelling, WrongStructure, raw_argument
from toolcalls.shapes.tags.raw import line_end, on_own_lines, up_to_tag
from toolcalls.shapes.tags.tag_patterns import Parts, Tags, unbracketed, unslashed
from toolcalls.shapes.tags.trees import MAX_DEPTH
from toolcalls.shapes.tags.value_end import CLOSER, DUPLICATE_CLOSER, UNBRACKETED, UNCLOSED_VALUE, UNSLASHED
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import SPACE, Scanner, Search, Step
from toolcalls.values.conversion import is_json, members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

_MAX_QUOTED = 256  # characters of a quoted parameter that are looked at to tell it from the next one


@lru_cache(maxsize=64)
def _tags(names: tuple[str, ...]) -> tuple[str, ...]:
    """The opening tags of those names that a tag can have."""
    return tuple(f"<{name}>" for name in dict.fromkeys(names) if NAME.fullmatch(name))


@lru_cache(maxsize=256)
def _closing(name: str) -> Tags:
    """An element's closing tag."""
    return Tags(closer=[("<", "/", name, ">")])


@lru_cache(maxsize=256)
def _value_ends(name: str) -> Tags:
    """A value's closing tag, whole, without its bracket or without its slash."""
    closer: Parts = ("<", "/", name, ">")
    return Tags(**{CLOSER: [closer], UNBRACKETED: unbracketed(closer), UNSLASHED: unslashed(closer)})


def _element(tag: str) -> str:
    """The name of the element that an opening tag begins: `parameter` for `<parameter name="path">`."""
    return re.split(r"[\s=>]", tag[1:], maxsplit=1)[0]


@dataclass(frozen=True)
class TagNamed:
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
        return _tags((*names, *self.known))

    def parameters(self, name: str, tools: Toolbox) -> tuple[str, ...]:
        """The parameters that may be in a tool: the declared ones, else those that the dialect knows."""
        return tools.keys(name) or self.known.get(name, ())

    def _opening(self, name: str, tools: Toolbox) -> dict[str, str]:
        """The opening tags of a tool's parameters, and what each parameter is called today."""
        keys = self.parameters(name, tools)
        older = {old: now for old, now in self.older.get(name, {}).items() if now in keys and old not in keys}
        return {f"<{tag}>": key for tag, key in (*zip(keys, keys, strict=True), *older.items())}

    # Reading

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One call."""
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
        element = closer[2:-1]
        opening = self._opening(name, tools)
        arguments = Arguments(sink, tools, name)
        given: set[str] = set()
        several = Members(arguments, lambda key: SchemaPlace(tools, name, (key,)))
        while True:
            scan.take((yield from scan.space()))
            tag = yield from scan.among(tuple(opening))
            if tag is None:
                _, length = yield from _closing(element).at(scan)
                if not length:  # only where the reply ended after a parameter
                    sink.note_repair("missing_closer")
                scan.take(length or scan.rest())
                several.end()
                arguments.end()
                return True
            scan.take(len(tag))
            key = opening[tag]
            if tag != f"<{key}>":
                sink.note_repair("alias")
            given.add(key)
            again = {of for of in given if of == key or SchemaPlace(tools, name, (of,)).is_array}
            following = tuple(tag for tag, of in opening.items() if of in again or of not in given)
            place = SchemaPlace(tools, name, (key,))
            structured = place.types is not None and not place.is_text
            if not (structured and place.is_array):
                several.write()
            value = _Kept() if structured else arguments.value(key)
            around = _Around(_element(tag), element, following, opening, frozenset(given), compact)
            ended = yield from self._value(scan, value, around, tools)
            if ended is None:
                return False
            if ended:
                sink.note_repair(ended)
            if not isinstance(value, _Kept):
                continue
            try:
                json = self._structure("".join(value.pieces), place, sink)
            except WrongStructure:
                sink.fail()
                yield from skip_past(scan, (closer,))
                return False
            if place.is_array:
                several.add(key, json)
            else:
                arguments.member(key, json)

    def _body_at(self, scan: Scanner, ahead: int, name: str, tools: Toolbox) -> Step[bool]:
        """Whether a parameter of a tool is here, or the tool's closer."""
        if (yield from scan.among(tuple(self._opening(name, tools)), ahead)) is not None:
            return True
        return (yield from _closing(name).at(scan, ahead))[1] > 0

    def _structure(self, text: str, place: SchemaPlace, sink: CallSink) -> str:
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

    def _value(
        self, scan: Scanner, value: Value, around: "_Around", tools: Toolbox
    ) -> Step[Repair | Literal[""] | None]:
        """One value with its closer. Returns its repair, "" for none; None when the reply ends inside it."""
        if (yield from around.opens_twice(scan)):
            scan.take(len(around.parameter) + 2)
            repaired: Repair | Literal[""] = "stray_tag"
        else:
            repaired = ""
        lines = 0 if around.compact else (yield from line_end(scan))
        scan.take(lines)
        closer, end = _closing(around.parameter), _closing(around.tool)
        value_ends = _value_ends(around.parameter)
        depth = tags = 0
        quoted = False  # a tag of this parameter is in its value: then every closer may be that one's
        openers = own_closers = 0  # of this parameter in its value; closers that none of them accounts for
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            ends = 0
            if (yield from self._quotes(scan, kept, f"<{around.tool}>", tuple(around.opening))):
                depth += 1
            else:
                _, ends = yield from end.at(scan, kept)
            kind, closed = (yield from value_ends.at(scan, kept)) if not depth else ("", 0)
            slip, closed = (0, closed) if kind == CLOSER else (closed, 0)
            if slip and not openers and not isinstance(value, _Kept) and (yield from around.goes_on(scan, kept + slip)):
                self._end_value(scan, value, kept, slip, own_line=lines > 0)
                return "wrong_closer" if kind == UNSLASHED else "unclosed_tag"
            opened = not depth and not closed and (yield from scan.starts(f"<{around.parameter}>", kept))
            openers, quoted = openers + opened, quoted or opened
            if ends and depth:
                depth -= 1
            elif closed and (yield from around.goes_on(scan, kept + closed)):
                self._end_value(scan, value, kept, closed, own_line=lines > 0)
                return repaired
            elif closed and not quoted and (twice := (yield from around.closes_twice(scan, kept + closed))):
                self._end_value(scan, value, kept, closed + twice, own_line=lines > 0)
                return DUPLICATE_CLOSER
            elif (
                not depth
                and not (ends and own_closers)  # what comes after such a closer is no part of the value
                and (yield from self._lacks_closer(scan, kept, around, tools, ends=ends > 0, tags=tags))
            ):
                scan.take(kept)  # it was after the closer that is missing
                value.end()
                return UNCLOSED_VALUE
            elif closed:
                own_closers += not openers
                openers = max(0, openers - 1)
            if around.stops_short(scan, kept + closed) if closed else closer.stops_short(scan, kept):
                scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                return None
            value.add(scan.take(kept + 1))
            tags += 1
        return None

    @staticmethod
    def _end_value(scan: Scanner, value: Value, line_end: int, closer: int, *, own_line: bool) -> None:
        """Take a value's closer, and the line end before it. `own_line`: that one is layout, else the value's."""
        last = scan.take(line_end)
        if not own_line:
            value.add(last)
        scan.take(closer)
        value.end()

    def _lacks_closer(
        self, scan: Scanner, ahead: int, around: "_Around", tools: Toolbox, *, ends: bool, tags: int
    ) -> Step[bool]:
        """Whether a value ends here without its closer. `ends`: the call's closer is here, else any other tag."""
        if not ends:
            return (yield from around.begins_next(scan, ahead, tags=tags))
        closer = _closing(around.tool)
        return (yield from calls_follow(scan, ahead, closer, lambda scan, at: self._call_at(scan, at, tools)))

    def _quotes(self, scan: Scanner, ahead: int, opener: str, opening: tuple[str, ...]) -> Step[bool]:
        """Whether a call of this tool begins here, with a parameter."""
        if not (yield from scan.starts(opener, ahead)):
            return False
        space = yield from scan.space(ahead + len(opener))
        return (yield from scan.among(opening, space)) is not None

    def _call_at(self, scan: Scanner, ahead: int, tools: Toolbox) -> Step[bool]:
        """Whether a call of any tool begins here."""
        opener = yield from scan.among(self.openers(tools.names), ahead)
        if opener is None:
            return False
        space = yield from scan.space(ahead + len(opener))
        return (yield from self._body_at(scan, space, opener[1:-1], tools))

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """One element a call, one line a tag, one empty line between calls; "" for no calls."""
        return "\n\n".join(self._write_call(call, tools) for call in calls)

    def _write_call(self, call: Call, tools: Toolbox) -> str:
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
                lines.append(Spelling(_spelt).member(key, raw, place) + "\n")
                continue
            text, is_string = to_text(raw)
            if to_json(text, place.types, infer=tools.infer) != (quote(text) if is_string else raw):
                raise Unwritable(f"{call.name}.{key}: {raw[:80]} would be read back as another value")
            lines.append(f"<{key}>{_spelt(text, is_string, place)}</{key}>\n")
        return f"<{call.name}>\n{''.join(lines)}</{call.name}>"


@dataclass(frozen=True)
class _Around:
    """What a value is in.

    parameter, tool  the elements whose closers end it
    following        the opening tags of the parameters that may follow it
    opening          those of all parameters, and what each is called
    given            the parameters that the call has, this one too
    compact          no white space is between the call's tags
    """

    parameter: str
    tool: str
    following: tuple[str, ...]
    opening: Mapping[str, str]
    given: frozenset[str]
    compact: bool

    def goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the call can go on here, after a parameter's closer."""
        space = yield from scan.space(ahead)
        if (yield from scan.among(self.following, space)) is not None:
            return True
        if (yield from _closing(self.tool).at(scan, space))[1]:
            return True
        return not scan.cut and _closing(self.tool).stops_short(scan, ahead)

    def opens_twice(self, scan: Scanner) -> Step[bool]:
        """Whether the parameter's tag comes once more here, and a closer near that only one of the two has."""
        tag, closer = f"<{self.parameter}>", f"</{self.parameter}>"
        if not (yield from scan.starts(tag)):
            return False
        offset, limit = len(tag), len(tag) + _MAX_QUOTED
        while (found := scan.text.find(closer, scan.pos + offset, scan.pos + limit)) < 0:
            if scan.ended or scan.rest() >= limit:
                return False
            offset = max(offset, scan.rest() - len(closer))
            yield
        return (yield from self.goes_on(scan, found - scan.pos + len(closer)))

    def closes_twice(self, scan: Scanner, ahead: int) -> Step[int]:
        """How far away the parameter's closer ends that comes once more here, if the call can go on then; else 0."""
        space = yield from scan.space(ahead)
        _, length = yield from _closing(self.parameter).at(scan, space)
        again = space + length
        return again - ahead if length and (yield from self.goes_on(scan, again)) else 0

    def stops_short(self, scan: Scanner, ahead: int) -> bool:
        """Whether the text has ended where the call could go on, or inside of what could follow."""
        return scan.stops_short(self.following, ahead) or _closing(self.tool).stops_short(scan, ahead)

    def begins_next(self, scan: Scanner, ahead: int, *, tags: int) -> Step[bool]:
        """Whether another parameter that the call lacks begins here, though no closer comes before it.

        tags   how many are in the value: after one, only the start of a line counts
        """
        tag = yield from scan.among(tuple(self.opening), ahead)
        if tag is None or self.opening[tag] in self.given or (tags and not ahead):
            return False
        offset, limit = ahead + len(tag), ahead + _MAX_QUOTED
        while offset < limit:
            found = scan.text.find("</", scan.pos + offset, scan.pos + limit)
            if found < 0:
                if scan.ended or scan.rest() >= limit:
                    return True
                offset = max(offset, scan.rest() - 1)
                yield
                continue
            offset = found - scan.pos
            _, length = yield from _closing(_element(tag)).at(scan, offset)
            if length:
                space = yield from scan.space(offset + length)
                others = tuple(one for one, key in self.opening.items() if key not in self.given)
                if (yield from scan.among(others, space)) is not None:
                    return True
                return (yield from _closing(self.tool).at(scan, space))[1] > 0 or scan.rest() == space
            offset += 2
        return True


class _Kept:
    """A value that is read when it is whole."""

    wake_on: Search | None = None

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def add(self, piece: str) -> None:
        """The next piece of the text."""
        self.pieces.append(piece)

    def end(self, *, literal: bool = False) -> None:
        """Whoever keeps it reads it."""


def _spelt(text: str, is_string: bool, place: SchemaPlace) -> str:  # noqa: ARG001 - nothing is escaped for any type
    return on_own_lines(text) if "\n" in text or "\r" in text else text
