"""Calls as elements that are named after the tool: `<N><K>V</K></N>`.

Names come from closed lists: the tools that are declared and their parameters, or the lists that a dialect ships.
Values are raw and nothing is decoded, because the clients of these dialects decode nothing. A parameter's closer
counts only where the tool's closer follows, a declared parameter that was not given yet, or the same one again; so a
value may hold its own closer almost anywhere.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes import Call, Calls, Place, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.raw import line_end, up_to_tag
from toolcalls.tools import Toolbox
from toolcalls.values import members, quote, to_json, to_text

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@lru_cache(maxsize=64)
def _tags(names: tuple[str, ...]) -> tuple[str, ...]:
    """The opening tags of those names that a tag can have."""
    return tuple(f"<{name}>" for name in dict.fromkeys(names) if _NAME.fullmatch(name))


@lru_cache(maxsize=64)
def _shown(names: tuple[str, ...]) -> Callable[[str], Iterator[re.Match[str]]]:
    """Finds the opening tags of those names."""
    return re.compile(f"<({'|'.join(map(re.escape, names))})>").finditer


@dataclass(frozen=True)
class TagNamed:
    """The form with the tools that a dialect knows without being told: name to parameters."""

    name: str
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    strays: tuple[str, ...] = ()
    place: Place = "line"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """One tag for each declared tool, and for each that the dialect knows."""
        return _tags((*names, *self.known))

    def parameters(self, name: str, tools: Toolbox) -> tuple[str, ...]:
        """The parameters that may stand in a tool: the declared ones, else those that the dialect knows."""
        return tools.keys(name) or self.known.get(name, ())

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of one of the tools that the dialect knows."""
        shown = {opener[1] for opener in _shown(tuple(self.known))(text)}
        return any(f"</{name}>" in text for name in shown)

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One call."""
        opener = yield from scan.among(self.openers(tools.names))
        if opener is None:
            return False
        name = opener[1:-1]
        closer = f"</{name}>"
        opening = {f"<{key}>": key for key in self.parameters(name, tools)}
        after = (closer, *opening)
        space = yield from scan.space(len(opener))
        if (yield from scan.among(after, space)) is None:
            return False
        scan.take(len(opener))
        calls.begin(name)
        arguments = Arguments(calls, tools, name)
        given: set[str] = set()
        while True:
            scan.take((yield from scan.space()))
            tag = yield from scan.among(after)
            if tag is None:  # only where the reply ended behind a parameter
                calls.repair("missing_closer")
                scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(len(tag))
            if tag == closer:
                arguments.end()
                return True
            key = opening[tag]
            given.add(key)
            following = (closer, *(tag for tag, of in opening.items() if of == key or of not in given))
            if not (yield from self._value(scan, arguments.value(key), f"</{key}>", following)):
                return False

    def _value(self, scan: Scanner, value: Value, closer: str, after: tuple[str, ...]) -> Step[bool]:
        """One value with its closer. Returns False when the reply ends before a closer that counts."""
        scan.take((yield from line_end(scan)))
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            closed = yield from scan.starts(closer, kept)
            if closed and (yield from self._goes_on(scan, kept + len(closer), after)):
                scan.take(kept + len(closer))
                value.end()
                return True
            behind = len(closer) if closed else 0
            if scan.stops_short(after if closed else (closer,), kept + behind):
                scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                return False
            value.add(scan.take(kept + 1))
        return False

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
        if not _NAME.fullmatch(call.name):
            raise Unwritable(f"{call.name!r} is not a name that a tag can have")
        known = self.parameters(call.name, tools)
        lines = []
        for key, raw in members(call.arguments):
            if key not in known:
                raise Unwritable(f"{call.name}: {key!r} is not one of its parameters")
            types = tools.types(call.name, key)
            text, is_string = to_text(raw)
            if to_json(text, types, infer=tools.infer) != (quote(text) if is_string else raw):
                raise Unwritable(f"{call.name}.{key}: {raw[:80]} would be read back as another value")
            # A value that begins or ends with a line end would lose it, so multi-line values stand on their own lines.
            inner = f"\n{text}\n" if "\n" in text or "\r" in text else text
            lines.append(f"<{key}>{inner}</{key}>\n")
        return f"<{call.name}>\n{''.join(lines)}</{call.name}>"
