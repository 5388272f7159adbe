"""Calls as function tags: `OPEN <function=N> <parameter=K>V</parameter> … </function> CLOSE`.

Names stand in the tags, values are raw and nothing escapes them. So a closer counts only where the grammar can go on
behind it (another parameter, the call's end, the end of the reply), and a complete call quoted inside a value is
counted through its own closer. Tags are read with blanks where the engines tolerate them (`< / parameter >`) and with
quotes around names; what is damaged in a tag itself (`<function=f</function>`, `<parameter=k=v</parameter>`) is read
where only one reading is left, and noted.

The wrapper's opener may be missing (`naked`), and its closer goes with a call that stands before it in any case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes import Call, Calls, Place, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.loosetags import (
    FUNCTION,
    FUNCTION_END,
    PARAMETER,
    PARAMETER_END,
    Parts,
    Tag,
    among_tags,
    opening_tag,
    writable,
)
from toolcalls.shapes.raw import delimited, line_end, up_to_tag
from toolcalls.tools import Toolbox
from toolcalls.values import members, quote, to_json, to_text

# How a value stands between its tags: on lines of its own, right there, on lines of its own when it has several, or
# right there with every line end its own.
type Layout = Literal["lines", "inline", "block", "verbatim"]

_IN_VALUE = (PARAMETER_END, FUNCTION, FUNCTION_END)
_FIRST_BEHIND = frozenset("/pf \t")  # what may follow the `<` of those


@dataclass(frozen=True)
class FunctionTag:
    """The form with its strings filled in.

    wrapper      the name of the element around calls, "" for none
    orphans      names of other wrappers whose closer goes with a naked call
    naked        whether a function's tag alone is an opener
    compact      a block is this dialect's only when nothing stands between its first tags
    closed       False: the dialect's replies end behind the last parameter, and that closes the call
    strays       bullets, one of which must stand before a naked call on its line
    between      what is written between tags
    layout       how a value is written; all but "verbatim" lose one line end on either side when read
    single       only one call can be written into a reply
    """

    name: str
    wrapper: str = ""
    orphans: tuple[str, ...] = ()
    naked: bool = False
    compact: bool = False
    closed: bool = True
    strays: tuple[str, ...] = ()
    between: str = "\n"
    layout: Layout = "lines"
    single: bool = False
    place: Place = "line"

    @cached_property
    def _wrapper_open(self) -> tuple[Parts, ...]:
        return (("<", self.wrapper, ">"),) if self.wrapper else ()

    @cached_property
    def _wrapper_end(self) -> tuple[Parts, ...]:
        return tuple(("<", "/", name, ">") for name in (self.wrapper, *self.orphans) if name)

    @cached_property
    def _ends(self) -> tuple[Parts, ...]:
        """What ends a call: its own closer, or its wrapper's where that is missing."""
        return (FUNCTION_END, *self._wrapper_end)

    @cached_property
    def _closers(self) -> tuple[str, ...]:
        return tuple(map("".join, self._ends))

    @cached_property
    def _behind_value(self) -> tuple[str, ...]:
        return (*self._closers, *map("".join, (PARAMETER, PARAMETER_END, FUNCTION, *self._wrapper_open)))

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002 - the same for all tools
        """The wrapper's tag, and a function's where it may stand alone."""
        naked = ("<function=", "<function =", "< function=", "< function =") if self.naked else ()
        return (*map("".join, self._wrapper_open), *naked)

    def speaks(self, text: str) -> bool:
        """Whether `text` shows a call of this form."""
        if self.wrapper:
            return f"<{self.wrapper}>{self.between}<function=" in text
        if self.strays:
            return f"{self.strays[0]} <function=" in text
        return "<function=" in text and "</function>" in text and "tool_call>" not in text

    # Reading

    def read(self, scan: Scanner, calls: Calls, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one naked call with a wrapper closer that lost its opener."""
        # The reader has just consumed the stray word before the opener, "" for none.
        if self.strays and not scan.taken[-1].startswith(self.strays):
            return False
        wrappers = 0
        while wrappers < 2:  # a model may begin twice
            _, length = yield from among_tags(scan, self._wrapper_open)
            if not length:
                break
            wrappers += 1
            scan.take(length)
            if not self.compact:
                scan.take((yield from scan.space()))
        begun, complete = False, True
        while complete:
            tag = yield from self._opening(scan, 0, compact=self.compact and not begun)
            if tag is None:
                break
            scan.take(tag.length)
            name = tools.resolve(tag.name)
            calls.begin(name)
            if not tag.whole:
                calls.repair("unclosed_tag")
            begun = True
            complete = yield from self._body(scan, calls, tools, name)
            if not wrappers:
                break
            scan.take((yield from scan.space()))
        if not begun:
            return False
        return complete and (yield from self._block_end(scan, calls, wrappers))

    def _block_end(self, scan: Scanner, calls: Calls, wrappers: int) -> Step[bool]:
        own = False
        for _ in range(max(1, wrappers)):
            space = yield from scan.space()
            _, length = yield from among_tags(scan, self._wrapper_end, space)
            if not length:
                break
            scan.take(space + length)
            own = True
        if wrappers and not own and scan.stops_short(self._closers[1:]):
            calls.repair("missing_closer")
            scan.take(scan.rest())
            return True
        return own

    def _opening(self, scan: Scanner, ahead: int, *, compact: bool = False) -> Step[Tag | None]:
        """A function's tag `ahead` characters from here, None where no call follows from it.

        It does where a parameter or at once the function's closer comes next.
        """
        tag = yield from opening_tag(scan, FUNCTION, ahead)
        if tag is None:
            return None
        behind = ahead + tag.length
        space = behind if compact else (yield from scan.space(behind))
        _, length = yield from among_tags(scan, (FUNCTION_END,), space)
        if length or (yield from opening_tag(scan, PARAMETER, space)) is not None:
            return None if compact and not tag.whole else tag
        return tag if not self.closed and not scan.cut and scan.stops_short(self._closers, behind) else None

    def _body(self, scan: Scanner, calls: Calls, tools: Toolbox, name: str) -> Step[bool]:
        """The parameters and the call's closer. Returns whether the call is complete."""
        arguments = Arguments(calls, tools, name)
        while True:
            scan.take((yield from scan.space()))
            _, length = yield from among_tags(scan, (FUNCTION_END,))
            if length:
                scan.take(length)
                arguments.end()
                return True
            parameter = yield from opening_tag(scan, PARAMETER)
            if parameter is None:  # `_goes_on` let it come here: the call's own closer is what is missing
                if self.closed:
                    calls.repair("missing_closer")
                if scan.stops_short(self._closers):
                    scan.take(scan.rest())
                arguments.end()
                return True
            scan.take(parameter.length)
            if not parameter.whole:
                calls.repair("unclosed_tag")
            repeated = yield from self._value(scan, arguments.value(tools.key(name, parameter.name)))
            if repeated is None:
                return False
            if repeated:
                scan.take(repeated)
                calls.repair("duplicate_closer")

    def _value(self, scan: Scanner, value: Value) -> Step[int | None]:
        """One value with its closer. None when the reply ends before a closer that counts.

        Else the length of the closer that is written once more behind it, 0 for none.
        """
        if self.layout != "verbatim":
            scan.take((yield from line_end(scan)))
        depth = 0
        while (kept := (yield from up_to_tag(scan, value))) is not None:
            following = scan.text[scan.pos + kept + 1 : scan.pos + kept + 2]
            if following and following not in _FIRST_BEHIND:
                value.add(scan.take(kept + 1))
                continue
            parts, length = yield from among_tags(scan, _IN_VALUE, kept)
            size = 1
            if parts is PARAMETER_END:
                repeated = (yield from self._goes_on(scan, kept + length)) if depth == 0 else None
                if repeated is not None:
                    if self.layout == "verbatim":
                        value.add(scan.take(kept))
                        kept = 0
                    scan.take(kept + length)
                    value.end()
                    return repeated
                if scan.stops_short(self._behind_value, kept + length):
                    scan.take(scan.rest())  # cut off where nobody can tell: not shown as if it were the value
                    return None
            elif parts is FUNCTION_END:
                depth = max(0, depth - 1)
            elif parts is FUNCTION:
                nested = yield from self._opening(scan, kept)
                if nested is not None:
                    depth += 1
                    size = nested.length
            elif scan.stops_short(("</parameter>",), kept):
                scan.take(scan.rest())
                return None
            value.add(scan.take(kept + size))
        return None

    def _goes_on(self, scan: Scanner, ahead: int) -> Step[int | None]:
        """Whether the grammar can go on behind a parameter's closer: only there it is one.

        Returns the length of the same closer that stands there once more, 0 for none; None where it cannot go on.
        """
        if (yield from self._follows(scan, ahead)):
            return 0
        space = yield from scan.space(ahead)
        _, length = yield from among_tags(scan, (PARAMETER_END,), space)
        again = space + length
        return again - ahead if length and (yield from self._follows(scan, again)) else None

    def _follows(self, scan: Scanner, ahead: int) -> Step[bool]:
        space = yield from scan.space(ahead)
        _, length = yield from among_tags(scan, self._ends, space)
        if length or (yield from opening_tag(scan, PARAMETER, space)) is not None:
            return True
        if (yield from self._next_call(scan, space)):
            return True
        return not scan.cut and scan.stops_short(self._closers, ahead)

    def _next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether another call begins here, behind the wrapper's opener or a bullet."""
        bullet = yield from scan.among(self.strays, ahead)
        _, wrapper = yield from among_tags(scan, self._wrapper_open, ahead)
        lead = len(bullet) if bullet else wrapper
        if lead:
            ahead = yield from scan.space(ahead + lead)
        return (yield from self._opening(scan, ahead)) is not None

    # Writing

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        """The calls one behind the other, each in a wrapper of its own; "" for no calls."""
        if self.single and len(calls) > 1:
            raise Unwritable(f"a reply in {self.name} holds one call, not {len(calls)}")
        return "\n".join(self._write_call(call, tools) for call in calls)

    def _write_call(self, call: Call, tools: Toolbox) -> str:
        if not writable(call.name) or tools.resolve(call.name) != call.name:
            raise Unwritable(f"the name {call.name!r} does not survive in a tag")
        tags = [f"<function={call.name}>"]
        for key, raw in members(call.arguments):
            if not writable(key) or tools.key(call.name, key) != key:
                raise Unwritable(f"{call.name}: the key {key!r} does not survive in a tag")
            tags.append(f"<parameter={key}>{self._write_value(call.name, key, raw, tools)}</parameter>")
        if self.closed or self.between:
            tags.append("</function>")
        if self.wrapper:
            tags = [f"<{self.wrapper}>", *tags, f"</{self.wrapper}>"]
        bullet = f"{self.strays[0]} " if self.strays else ""
        return bullet + self.between.join(tags)

    def _write_value(self, name: str, key: str, raw: str, tools: Toolbox) -> str:
        text, is_string = to_text(raw)
        if not is_string:
            text = {"true": "True", "false": "False", "null": "None"}.get(raw, raw)
        if to_json(text, tools.types(name, key), infer=tools.infer) != (quote(text) if is_string else raw):
            raise Unwritable(f"{name}.{key}: {raw[:80]} would be read back as another value")
        if self.layout == "lines" or (self.layout == "block" and ("\n" in text or "\r" in text)):
            return f"\n{text}\n"
        return delimited(text) if self.layout == "inline" else text
