"""Calls as elements that are named after the tool: `<N><K>V</K></N>`.

Names come from closed lists: the tools that are declared and their parameters, or the lists that a dialect ships.
Values are raw and nothing is decoded, because the clients of these dialects decode nothing. A parameter's closer
counts only where the tool's closer follows, a declared parameter that was not given yet, or the same one again; so a
value may hold its own closer almost anywhere. A whole call of the same tool that is quoted in a value is counted
through its own closer.

Where the schema says object or array, a value is JSON or nested elements (`shapes.nested`), in which nothing is decoded
either. A parameter that is an array may stand several times, once an item.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from toolcalls.shapes import Call, CallSink, OpenerPlace, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.nested import NAME, Members, Rules, SchemaPlace, Spelling, WrongStructure, raw_argument
from toolcalls.shapes.raw import line_end, on_own_lines, up_to_tag
from toolcalls.shapes.trees import MAX_DEPTH
from toolcalls.shapes.words import skip_past
from toolcalls.text.scanner import SPACE, Scanner, Search, Step
from toolcalls.values.conversion import is_json, members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox
from toolcalls.values.transducer import Transducer


@lru_cache(maxsize=64)
def _tags(names: tuple[str, ...]) -> tuple[str, ...]:
    """The opening tags of those names that a tag can have."""
    return tuple(f"<{name}>" for name in dict.fromkeys(names) if NAME.fullmatch(name))


@lru_cache(maxsize=64)
def _shown(names: tuple[str, ...]) -> Callable[[str], Iterator[re.Match[str]]]:
    """Finds the opening tags of those names."""
    return re.compile(f"<({'|'.join(map(re.escape, names))})>").finditer


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
        """The parameters that may stand in a tool: the declared ones, else those that the dialect knows."""
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
        closer = f"</{name}>"
        opening = self._opening(name, tools)
        after = (closer, *opening)
        space = yield from scan.space(len(opener))
        if (yield from scan.among(after, space)) is None:
            return False
        scan.take(len(opener))
        sink.begin(name)
        arguments = Arguments(sink, tools, name)
        given: set[str] = set()
        several = Members(arguments, lambda key: SchemaPlace(tools, name, (key,)))
        while True:
            scan.take((yield from scan.space()))
            tag = yield from scan.among(after)
            if tag is None:  # only where the reply ended behind a parameter
                sink.note_repair("missing_closer")
                scan.take(scan.rest())
            else:
                scan.take(len(tag))
            if tag is None or tag == closer:
                several.end()
                arguments.end()
                return True
            key = opening[tag]
            if tag != f"<{key}>":
                sink.note_repair("alias")
            given.add(key)
            again = {of for of in given if of == key or SchemaPlace(tools, name, (of,)).is_array}
            following = (closer, *(tag for tag, of in opening.items() if of in again or of not in given))
            place = SchemaPlace(tools, name, (key,))
            structured = place.types is not None and not place.is_text
            if not (structured and place.is_array):
                several.write()
            value = _Kept() if structured else arguments.value(key)
            if not (yield from self._value(scan, value, f"</{tag[1:]}", following, tuple(opening))):
                return False
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

    def _structure(self, text: str, place: SchemaPlace, sink: CallSink) -> str:
        """The JSON of an object or an array: JSON already, or nearly, or nested elements. Raises WrongStructure."""
        trimmed = text.strip(SPACE)
        if trimmed[:1] in ("{", "[") and not is_json(trimmed):
            reader = Transducer()
            made, end = reader.feed(trimmed, 0)
            if reader.done and end == len(trimmed):
                for repair in reader.repairs:
                    sink.note_repair(repair)
                text = made
        infer = place.tools.infer
        rules = Rules(
            untyped=lambda leaf, _: to_json(leaf, None, infer=infer),
            other_items=self.any_items,
            own_items=2 if self.any_items else MAX_DEPTH + 2,
            line_ends=True,
        )
        return raw_argument(text, place, rules)

    def _value(
        self, scan: Scanner, value: Value, closer: str, after: tuple[str, ...], opening: tuple[str, ...]
    ) -> Step[bool]:
        """One value with its closer. Returns False when the reply ends before a closer that counts.

        after     what may follow the closer, the tool's own first
        opening   the opening tags of all parameters
        """
        lines = yield from line_end(scan)
        scan.take(lines)
        end, depth = after[0], 0
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            if (yield from self._quotes(scan, kept, f"<{end[2:]}", opening)):
                depth += 1
            elif depth:
                depth -= yield from scan.starts(end, kept)
            closed = not depth and (yield from scan.starts(closer, kept))
            if closed and (yield from self._goes_on(scan, kept + len(closer), after)):
                last = scan.take(kept)
                if not lines:
                    value.add(last)
                scan.take(len(closer))
                value.end()
                return True
            behind = len(closer) if closed else 0
            if scan.stops_short(after if closed else (closer,), kept + behind):
                scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                return False
            value.add(scan.take(kept + 1))
        return False

    def _quotes(self, scan: Scanner, ahead: int, opener: str, opening: tuple[str, ...]) -> Step[bool]:
        """Whether a call of this tool begins here, with a parameter."""
        if not (yield from scan.starts(opener, ahead)):
            return False
        space = yield from scan.space(ahead + len(opener))
        return (yield from scan.among(opening, space)) is not None

    def _goes_on(self, scan: Scanner, ahead: int, after: tuple[str, ...]) -> Step[bool]:
        space = yield from scan.space(ahead)
        if (yield from scan.among(after, space)) is not None:
            return True
        return not scan.cut and scan.stops_short(after[:1], ahead)

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
