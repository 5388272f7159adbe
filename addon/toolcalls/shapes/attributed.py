"""Calls as elements that carry the name in an attribute: `<invoke name="N"><parameter name="K">V</parameter></invoke>`.

The form is not XML: values hold anything, unescaped. So a closer counts only where the grammar can go on behind it
(another parameter, the call's end, the end of the reply), and a complete call quoted inside a value is counted through
its own closer. What stands between a value's tags (layout, CDATA, entities, marked types) is its dialect's `Content`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes import Call, Calls, Place, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.content import Content, Escaped
from toolcalls.shapes.entities import escape_attribute
from toolcalls.shapes.raw import up_to_tag
from toolcalls.shapes.tags import Tag, named_tag
from toolcalls.tools import Toolbox
from toolcalls.values import members


@dataclass(frozen=True)
class Attributed:
    """The form with its names filled in. Where there are several, all are read and the first one is written.

    wrappers    the element around all calls of a turn, () for none
    prefixes    what may stand before any element's name
    content     how a value stands between its tags
    bare        whether a call may stand without a wrapper
    line        the line end that is written between tags; any white space is read there
    hollow      what is written between the tags of a call without arguments
    """

    name: str
    wrappers: tuple[str, ...] = ("function_calls",)
    call: str = "invoke"
    parameter: str = "parameter"
    prefixes: tuple[str, ...] = ("",)
    content: Content = Escaped()  # noqa: RUF009 - it has no state
    bare: bool = True
    line: str = "\n"
    hollow: str = ""
    strays: tuple[str, ...] = ()
    place: Place = "line"

    def _tags(self, start: str, element: str, end: str) -> tuple[str, ...]:
        return tuple(f"{start}{prefix}{element}{end}" for prefix in self.prefixes)

    @cached_property
    def _wrapper_open(self) -> tuple[str, ...]:
        return tuple(tag for wrapper in self.wrappers for tag in self._tags("<", wrapper, ">"))

    @cached_property
    def _wrapper_close(self) -> tuple[str, ...]:
        return tuple(tag for wrapper in self.wrappers for tag in self._tags("</", wrapper, ">"))

    @cached_property
    def _call_open(self) -> tuple[str, ...]:
        return self._tags("<", self.call, "")

    @cached_property
    def _call_close(self) -> tuple[str, ...]:
        return self._tags("</", self.call, ">")

    @cached_property
    def _parameter_open(self) -> tuple[str, ...]:
        return self._tags("<", self.parameter, "")

    @cached_property
    def _parameter_close(self) -> tuple[str, ...]:
        return self._tags("</", self.parameter, ">")

    @cached_property
    def _closers(self) -> tuple[str, ...]:
        return (*self._call_close, *self._wrapper_close)

    @cached_property
    def _behind_value(self) -> tuple[str, ...]:
        """What a parameter's closer may be followed by."""
        return (*self._closers, *self._parameter_open, *self._call_open)

    @cached_property
    def _in_value(self) -> tuple[str, ...]:
        return (*self._parameter_close, *self._call_open, *self._call_close)

    @cached_property
    def _possible(self) -> frozenset[str]:
        """The characters that may follow a `<` that matters inside a value."""
        return frozenset(literal[1] for literal in self._in_value)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and the call's where it may stand bare."""
        bare = self._call_open if self.bare else ()
        return (*self._wrapper_open, *(tag + behind for tag in bare for behind in " \t\r\n>/"))

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form."""
        if not self.bare and not any(tag in text for tag in self._wrapper_open):
            return False
        return any(f"{tag} name=" in text for tag in self._call_open) and any(tag in text for tag in self._call_close)

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call with a wrapper closer that lost its opener."""
        wrapper = yield from scan.among(self._wrapper_open)
        if wrapper is not None:
            scan.take(len(wrapper))
            scan.take((yield from scan.space()))
        complete = True
        begun = False
        while complete:
            tag = yield from self._opening(scan)
            if tag is None:
                break
            scan.take(tag.length)
            name = tools.resolve(tag.name)
            calls.begin(name)
            begun = True
            complete = yield from self._body(scan, calls, tools, name, tag)
            if wrapper is None:
                break
            scan.take((yield from scan.space()))
        if not begun:
            return False
        return complete and (yield from self._block_end(scan, calls, wrapped=wrapper is not None))

    def _block_end(self, scan: Scanner, calls: Calls, *, wrapped: bool) -> Step[bool]:
        space = yield from scan.space()
        closer = yield from scan.among(self._wrapper_close, space)
        if closer is not None:
            scan.take(space + len(closer))
            return True
        if wrapped and scan.ended:
            calls.repair("missing_closer")
            scan.take(scan.rest())
            return True
        return False

    def _opening(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        """A call's opening tag `ahead` characters from here, None where no call follows from it.

        It does where the tag closes itself, or where a parameter or at once the call's closer comes next.
        """
        tag = yield from named_tag(scan, self._call_open, ahead)
        if tag is None or tag.empty:
            return tag
        space = yield from scan.space(ahead + tag.length)
        if (yield from scan.among(self._call_close, space)) is not None:
            return tag
        return tag if (yield from named_tag(scan, self._parameter_open, space)) is not None else None

    def _body(self, scan: Scanner, calls: Calls, tools: Toolbox, name: str, tag: Tag) -> Step[bool]:
        """The parameters and the call's closer. Returns whether the call is complete."""
        arguments = Arguments(calls, tools, name)
        if tag.empty:
            arguments.end()
            return True
        while True:
            scan.take((yield from scan.space()))
            closer = yield from scan.among(self._call_close)
            if closer is not None:
                scan.take(len(closer))
                arguments.end()
                return True
            parameter = yield from named_tag(scan, self._parameter_open)
            if parameter is None:  # `_goes_on` let it come here: the call's own closer is what is missing
                calls.repair("missing_closer")
                if scan.ended:
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(parameter.length)
            value = self.content.member(arguments, tools.key(name, parameter.name), parameter.attributes)
            if parameter.empty:
                value.end()
            elif not (yield from self._value(scan, value)):
                return False

    def _value(self, scan: Scanner, value: Value) -> Step[bool]:
        """One value with its closer. Returns False when the reply ends before a closer that counts."""
        value, literal = yield from self.content.start(scan, value, self._parameter_close)
        depth = 0
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            if kept and not self.content.layout:
                value.add(scan.take(kept))
                kept = 0
            following = scan.text[scan.pos + kept + 1 : scan.pos + kept + 2]
            if following and following not in self._possible:
                value.add(scan.take(kept + 1))
                continue
            literal_tag = yield from scan.among(self._in_value, kept)
            size = 1
            if literal_tag in self._parameter_close:
                if depth == 0 and (yield from self._goes_on(scan, kept + len(literal_tag))):
                    scan.take(kept + len(literal_tag))
                    value.end(literal=literal)
                    return True
                if scan.stops_short(self._behind_value, kept + len(literal_tag)):
                    scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                    return False
            elif literal_tag in self._call_close:
                depth = max(0, depth - 1)
            elif literal_tag is not None:
                nested = yield from self._opening(scan, kept)
                if nested is not None and not nested.empty:
                    depth += 1
                    size = nested.length
            elif scan.stops_short(self._parameter_close, kept):
                scan.take(scan.rest())
                return False
            value.add(scan.take(kept + size))
        return False

    def _goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on behind a parameter's closer: only there it is one."""
        space = yield from scan.space(ahead)
        if (yield from scan.among(self._closers, space)) is not None:
            return True
        if (yield from named_tag(scan, self._parameter_open, space)) is not None:
            return True
        if (yield from self._opening(scan, space)) is not None:
            return True
        return not scan.cut and scan.stops_short(self._closers, ahead)

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The wrapper with one element a call; "" for no calls."""
        if not calls:
            return ""
        blocks = self.line.join(self._write_call(call, tools) for call in calls)
        if not self.wrappers:
            return blocks
        return self.line.join((self._wrapper_open[0], blocks, self._wrapper_close[0]))

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        if not call.name or call.name != call.name.strip() or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} would be read as {tools.resolve(call.name)!r}")
        parts = []
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or tools.key(call.name, key) != key:
                raise Unwritable(f"{call.name}: the key {key!r} does not survive in an attribute")
            more, text = self.content.write(call.name, key, raw, tools, self._in_value)
            opener = f'{self._parameter_open[0]} name="{escape_attribute(key)}"{more}>'
            parts.append(f"{opener}{text}{self._parameter_close[0]}")
        body = self.line.join(("", *parts, "")) if parts else self.hollow
        return f'{self._call_open[0]} name="{escape_attribute(call.name)}">{body}{self._call_close[0]}'
