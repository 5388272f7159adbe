"""Calls as a name with pairs of key and value: `OPEN N (<arg_key>K</arg_key><arg_value>V</arg_value>)* CLOSE`.

Nothing is escaped and no line end is layout: a value is what stands between its tags, to the last character. So a
value's closer counts only where a whole key with its value's opener follows, or the call's closer, or the next call;
and a complete call quoted inside a value is counted through its own closer. White space between tags means nothing.

`OPEN` is often shared with other dialects, so a call begins only where the name is followed by a whole key or at once
by the closer. That much is looked at before anything is said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes import Call, Calls, Place, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.raw import up_to_tag
from toolcalls.tools import Toolbox
from toolcalls.values import members, quote, to_json, to_text

_MAX_WORD = 256  # characters of a name or a key: both are looked at whole before anything of them is consumed
_NAME = re.compile(r"[\w.:/@-]*+")
_KEY = re.compile(r"[^<]*+")


@dataclass(frozen=True)
class _Opening:
    """A call's opening tag with its name."""

    name: str
    length: int


@dataclass(frozen=True)
class _Head:
    """What stands before a value: its key, and whether the text itself says that the value is a string."""

    key: str
    length: int
    string: bool


@dataclass(frozen=True)
class KeyValue:
    """The form with its tags filled in; each pair is an opening tag and its closer.

    wrapper     what stands around all calls of a turn, ("", "") for nothing
    separator   what must stand behind the name, "" for nothing
    kind        what may stand between a key and its value and names the value's type, ("", "") for nothing
    line        the line end that is written between tags; any white space is read there
    """

    name: str
    call: tuple[str, str] = ("<tool_call>", "</tool_call>")
    key: tuple[str, str] = ("<arg_key>", "</arg_key>")
    value: tuple[str, str] = ("<arg_value>", "</arg_value>")
    wrapper: tuple[str, str] = ("", "")
    separator: str = ""
    kind: tuple[str, str] = ("", "")
    line: str = ""
    strays: tuple[str, ...] = ()
    place: Place = "line"

    @cached_property
    def _closers(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.call[1], self.wrapper[1])))

    @cached_property
    def _behind_value(self) -> tuple[str, ...]:
        """What a value's closer may be followed by."""
        return (*self._closers, self.key[0], self.call[0])

    @cached_property
    def _in_value(self) -> tuple[str, ...]:
        return (self.value[1], *self.call)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, or the call's where nothing stands around the calls."""
        return (self.wrapper[0] or self.call[0],)

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form with an argument."""
        return all(
            literal in text for literal in (self.wrapper[0], self.call[0], self.separator, *self.key, *self.value)
        )

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call where the form has no wrapper."""
        wrapped = bool(self.wrapper[0])
        if wrapped:
            if not (yield from scan.starts(self.wrapper[0])):
                return False
            scan.take(len(self.wrapper[0]))
            scan.take((yield from scan.space()))
        begun = False
        while (opening := (yield from self._opening(scan))) is not None:
            scan.take(opening.length)
            calls.begin(opening.name)
            begun = True
            if not (yield from self._body(scan, calls, Arguments(calls, tools, opening.name))):
                return False
            if not wrapped:
                return True
            scan.take((yield from scan.space()))
        return begun and (yield from self._block_end(scan, calls))

    def _block_end(self, scan: Scanner, calls: Calls) -> Step[bool]:
        if (yield from scan.starts(self.wrapper[1])):
            scan.take(len(self.wrapper[1]))
            return True
        if scan.ended:
            calls.repair("missing_closer")
            scan.take(scan.rest())
            return True
        return False

    def _opening(self, scan: Scanner, ahead: int = 0) -> Step[_Opening | None]:
        """A call's opening tag and name `ahead` characters from here, None where no call follows from it.

        It does where a whole key, or at once the call's closer, comes next.
        """
        if not (yield from scan.starts(self.call[0], ahead)):
            return None
        start = yield from scan.space(ahead + len(self.call[0]))
        end = start + (yield from _word(scan, _NAME, start))
        name = scan.text[scan.pos + start : scan.pos + end]
        if not name:
            return None
        if self.separator:
            end = yield from scan.space(end)
            if not (yield from scan.starts(self.separator, end)):
                return None
            end += len(self.separator)
        space = yield from scan.space(end)
        if (yield from scan.starts(self.call[1], space)) or (yield from self._head(scan, space)) is not None:
            return _Opening(name, end - ahead)
        return None

    def _head(self, scan: Scanner, ahead: int = 0) -> Step[_Head | None]:
        """A whole key up to its value's first character, None where none stands or can come of what stands here."""
        if not (yield from scan.starts(self.key[0], ahead)):
            return None
        start = ahead + len(self.key[0])
        end = start + (yield from _word(scan, _KEY, start))
        key = scan.text[scan.pos + start : scan.pos + end].strip()
        if not key or not (yield from scan.starts(self.key[1], end)):
            return None
        end = yield from scan.space(end + len(self.key[1]))
        kind = ""
        if self.kind[0] and (yield from scan.starts(self.kind[0], end)):
            start = end + len(self.kind[0])
            end = start + (yield from _word(scan, _KEY, start))
            kind = scan.text[scan.pos + start : scan.pos + end].strip()
            if not (yield from scan.starts(self.kind[1], end)):
                return None
            end = yield from scan.space(end + len(self.kind[1]))
        if not (yield from scan.starts(self.value[0], end)):
            return None
        return _Head(key, end + len(self.value[0]) - ahead, kind == "string")

    def _body(self, scan: Scanner, calls: Calls, arguments: Arguments) -> Step[bool]:
        """The pairs and the call's closer. Returns whether the call is complete."""
        while True:
            scan.take((yield from scan.space()))
            if (yield from scan.starts(self.call[1])):
                scan.take(len(self.call[1]))
                arguments.end()
                return True
            head = yield from self._head(scan)
            if head is None:  # `_goes_on` let it come here: the call's own closer is what is missing
                calls.repair("missing_closer")
                if scan.stops_short(self.call[1:]):
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(head.length)
            if not (yield from self._value(scan, arguments.value(head.key), string=head.string)):
                return False

    def _value(self, scan: Scanner, value: Value, *, string: bool) -> Step[bool]:
        """One value with its closer. Returns False when the reply ends before a closer that counts."""
        closer, depth = self.value[1], 0
        while (line_end := (yield from up_to_tag(scan, value))) is not None:
            if line_end:  # the value's own
                value.add(scan.take(line_end))
            tag = yield from scan.among(self._in_value)
            size = 1
            if tag == closer:
                if depth == 0 and (yield from self._goes_on(scan, len(closer))):
                    scan.take(len(closer))
                    value.end(literal=string)
                    return True
                if scan.stops_short(self._behind_value, len(closer)):
                    scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                    return False
            elif tag == self.call[1]:
                depth = max(0, depth - 1)
            elif tag is not None:
                nested = yield from self._opening(scan)
                if nested is not None:
                    depth += 1
                    size = nested.length
            elif scan.stops_short((closer,)):
                scan.take(scan.rest())
                return False
            value.add(scan.take(size))
        return False

    def _goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on behind a value's closer: only there it is one."""
        space = yield from scan.space(ahead)
        if (yield from scan.among(self._closers, space)) is not None:
            return True
        if (yield from self._head(scan, space)) is not None:
            return True
        if (yield from self._opening(scan, space)) is not None:
            return True
        return not scan.cut and scan.stops_short(self._closers, ahead)

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one after the other, in their wrapper where the form has one; "" for no calls."""
        if not calls:
            return ""
        written = self.line.join(self._write_call(call, tools) for call in calls)
        opener, closer = self.wrapper
        return f"{opener}{self.line}{written}{self.line}{closer}" if opener else written

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        name = call.name
        if not name or len(name) >= _MAX_WORD or not _NAME.fullmatch(name):
            raise Unwritable(f"{name!r} is not a name that stands before a tag")
        parts = [f"{self.call[0]}{name}{self.separator}"]
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or len(key) >= _MAX_WORD or "<" in key:
                raise Unwritable(f"{name}: the key {key!r} does not survive between tags")
            text, is_string = to_text(raw)
            if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
                raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
            parts.append(f"{self.key[0]}{key}{self.key[1]}")
            parts.append(f"{self.value[0]}{text}{self.value[1]}")
        return self.line.join([*parts, self.call[1]])


def _word(scan: Scanner, pattern: re.Pattern[str], ahead: int) -> Step[int]:
    """The length of what `pattern` matches `ahead` characters from here, _MAX_WORD at most."""
    while True:
        at = scan.pos + ahead
        found = pattern.match(scan.text, at, at + _MAX_WORD)
        end = at if found is None else found.end()
        if end < len(scan.text) or scan.ended or end - at >= _MAX_WORD:
            return end - at
        yield
