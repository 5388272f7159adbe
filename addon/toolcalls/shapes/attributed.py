"""Calls as elements that carry the name in an attribute: `<invoke name="N"><parameter name="K">V</parameter></invoke>`.

The form is not XML: values hold anything, unescaped. So a closer counts only where the grammar can go on behind it
(another parameter, the call's end, the end of the reply); a complete call quoted inside a value is counted through
its own closer; CDATA hides what stands in it. What such a value is, once its extent is known, `entities` and
`arguments` say.

Past 300 lines, because a shape reads and writes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from toolcalls.scanner import SPACE, Scanner, Step
from toolcalls.shapes import Call, Calls, Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.entities import Unescaping, escape_attribute, reads_as_escaped, unescape
from toolcalls.shapes.raw import line_end, up_to_tag
from toolcalls.tools import Toolbox
from toolcalls.values import members, quote, to_json, to_text

_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_MAX_TAG = 1024  # characters of one tag with its attributes: it is looked at whole before anything of it is consumed
_ATTRIBUTE = re.compile(r"""\s+([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>/]+)""")
_TAG_END = re.compile(r"\s*(?P<empty>/?)>")
# What may stand at the end of a tag that is still arriving, behind its whole attributes.
_TAG_PART = re.compile(r"""/?|\s+(?:/|[\w:.-]+\s*(?:=\s*(?:"[^"]*"?|'[^']*'?|[^\s"'<>/]*))?)?""")


@dataclass(frozen=True)
class _Tag:
    """An opening tag: what its name attribute says, how long it is, whether it closes itself."""

    name: str
    length: int
    empty: bool


@dataclass(frozen=True)
class Attributed:
    """The form with its names filled in. `prefixes` may stand before any element's name; the first one is written."""

    name: str
    wrapper: str = "function_calls"
    call: str = "invoke"
    parameter: str = "parameter"
    prefixes: tuple[str, ...] = ("",)
    strays: tuple[str, ...] = ()
    anywhere: bool = False

    def _tags(self, start: str, element: str, end: str) -> tuple[str, ...]:
        return tuple(f"{start}{prefix}{element}{end}" for prefix in self.prefixes)

    @cached_property
    def _wrapper_open(self) -> tuple[str, ...]:
        return self._tags("<", self.wrapper, ">")

    @cached_property
    def _wrapper_close(self) -> tuple[str, ...]:
        return self._tags("</", self.wrapper, ">")

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
        """The wrapper's tag and the call's."""
        return (*self._wrapper_open, *(tag + behind for tag in self._call_open for behind in " \t\r\n>/"))

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form."""
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

    def _opening(self, scan: Scanner, ahead: int = 0) -> Step[_Tag | None]:
        """A call's opening tag `ahead` characters from here, None where no call follows from it.

        It does where the tag closes itself, or where a parameter or at once the call's closer comes next.
        """
        tag = yield from self._tag(scan, self._call_open, ahead)
        if tag is None or tag.empty:
            return tag
        space = yield from scan.space(ahead + tag.length)
        if (yield from scan.among(self._call_close, space)) is not None:
            return tag
        return tag if (yield from self._tag(scan, self._parameter_open, space)) is not None else None

    def _body(self, scan: Scanner, calls: Calls, tools: Toolbox, name: str, tag: _Tag) -> Step[bool]:
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
            parameter = yield from self._tag(scan, self._parameter_open)
            if parameter is None:  # `_goes_on` let it come here: the call's own closer is what is missing
                calls.repair("missing_closer")
                if scan.ended:
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(parameter.length)
            value = Unescaping(arguments.value(tools.key(name, parameter.name)))
            if parameter.empty:
                value.end()
            elif not (yield from self._value(scan, value)):
                return False

    def _value(self, scan: Scanner, value: Unescaping) -> Step[bool]:
        """One value with its closer. Returns False when the reply ends before a closer that counts."""
        space = yield from scan.space()
        if (yield from scan.starts(_CDATA, space)):
            scan.take(space)
            yield from self._sections(scan, value)
            literal = True
        else:
            scan.take((yield from line_end(scan)))
            literal = False
        depth = 0
        while (kept := (yield from up_to_tag(scan, value))) is not None:
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

    def _sections(self, scan: Scanner, value: Unescaping) -> Step[None]:
        """CDATA sections one after the other, with nothing but white space between them."""
        while True:
            scan.take(len(_CDATA))
            while True:
                text, pos = scan.text, scan.pos
                found = text.find(_CDATA_END, pos)
                if found >= 0:
                    value.literal(scan.take(found - pos))
                    scan.take(len(_CDATA_END))
                    break
                kept = 0 if scan.ended else 2 if text.endswith("]]") else 1 if text.endswith("]") else 0
                kept = min(kept, len(text) - pos)
                if len(text) - kept > pos:
                    value.literal(scan.take(len(text) - kept - pos))
                if scan.ended:
                    return
                yield
            space = yield from scan.space()
            again = yield from scan.starts(_CDATA, space)
            closed = again or (yield from scan.among(self._parameter_close, space)) is not None
            if closed:
                scan.take(space)
            if not again:
                return

    def _goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on behind a parameter's closer: only there it is one."""
        space = yield from scan.space(ahead)
        if (yield from scan.among(self._closers, space)) is not None:
            return True
        if (yield from self._tag(scan, self._parameter_open, space)) is not None:
            return True
        if (yield from self._opening(scan, space)) is not None:
            return True
        return not scan.cut and scan.stops_short(self._closers, ahead)

    def _tag(self, scan: Scanner, literals: tuple[str, ...], ahead: int = 0) -> Step[_Tag | None]:
        """The opening tag `ahead` characters from here, None where none stands or can come of what stands there."""
        literal = yield from scan.among(literals, ahead)
        if literal is None:
            return None
        attributes: dict[str, str] = {}
        offset = ahead + len(literal)
        while True:
            text, at, limit = scan.text, scan.pos + offset, scan.pos + ahead + _MAX_TAG
            attribute = _ATTRIBUTE.match(text, at, limit)
            if attribute is not None and attribute.end() < min(len(text), limit):
                attributes[attribute[1]] = _unquoted(attribute[2])
                offset = attribute.end() - scan.pos
                continue
            end = _TAG_END.match(text, at, limit)
            if end is not None:
                name = unescape(attributes.get("name", "")).strip()
                return _Tag(name, end.end() - scan.pos - ahead, bool(end["empty"])) if name else None
            if scan.ended or len(text) >= limit or _TAG_PART.fullmatch(text, at) is None:
                return None
            yield

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The wrapper with one element a call, one line a tag; "" for no calls."""
        if not calls:
            return ""
        prefix = self.prefixes[0]
        blocks = "\n".join(self._write_call(call, tools) for call in calls)
        return f"<{prefix}{self.wrapper}>\n{blocks}\n</{prefix}{self.wrapper}>"

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        if not call.name or call.name != call.name.strip() or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} would be read as {tools.resolve(call.name)!r}")
        prefix = self.prefixes[0]
        lines = []
        for key, raw in members(call.arguments):
            if not key or key != key.strip() or tools.key(call.name, key) != key:
                raise Unwritable(f"{call.name}: the key {key!r} does not survive in an attribute")
            value = self._write_value(call.name, key, raw, tools)
            lines.append(
                f'\n<{prefix}{self.parameter} name="{escape_attribute(key)}">{value}</{prefix}{self.parameter}>'
            )
        body = "".join(lines) + ("\n" if lines else "")
        return f'<{prefix}{self.call} name="{escape_attribute(call.name)}">{body}</{prefix}{self.call}>'

    def _write_value(self, name: str, key: str, raw: str, tools: Toolbox) -> str:
        types = tools.types(name, key)
        text, is_string = to_text(raw)
        value = quote(text) if is_string else raw
        cdata = self._needs_cdata(text)
        if not cdata and to_json(text, types, infer=tools.infer) == value:
            return _delimited(text)
        if to_json(text, types, infer=False) == value:
            return _cdata(text)
        raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")

    def _needs_cdata(self, text: str) -> bool:
        return (
            reads_as_escaped(text)
            or text.lstrip(SPACE).startswith(_CDATA)
            or any(literal in text for literal in self._in_value)
        )


def _unquoted(written: str) -> str:
    return written[1:-1] if written[:1] in "\"'" else written


def _cdata(text: str) -> str:
    return _CDATA + text.replace(_CDATA_END, "]]]]><![CDATA[>") + _CDATA_END


def _delimited(text: str) -> str:
    """One line end on either side is not the value's own when it is read, so a value that has one gets another."""
    head = "\n" if text[:1] in ("\n", "\r") else ""
    tail = "\n" if text[-1:] in ("\n", "\r") else ""
    return f"{head}{text}{tail}" if text else text
