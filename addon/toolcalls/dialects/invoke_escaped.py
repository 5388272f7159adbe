"""`invoke_escaped`: `invoke` that was escaped for HTML as a whole, tags and values.

Everything was escaped once, so every value is decoded once. A value's closer counts where the grammar can go on after
it, and not inside a whole call that the value quotes. It opens only at the start of a line.
"""

import re
from typing import NamedTuple

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.tags.entities import ENTITIES, escape, unescape
from toolcalls.shapes.tags.raw import delimited, line_end, trailing_line_end
from toolcalls.shapes.tags.tag_patterns import spelt
from toolcalls.shapes.writable import check_resolved, plain_text
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="invoke",
    since="0.1.0",
    written_by="clients that escape what they keep of a reply, and models that see it again",
    source="opencode #16735",
    example="""\
&lt;invoke name="read_file"&gt;
&lt;parameter name="path"&gt;src/a.ts&lt;/parameter&gt;
&lt;/invoke&gt;""",
)

_PREFIXES = ("", *(f"{name}:" for name in ("antml", "tml")))
_ELEMENTS = ("function_calls", "invoke", "parameter")
_TAGS = spelt(("&lt;", "&lt;/"), _PREFIXES, _ELEMENTS)
_TAG = re.compile(
    r"&lt;(?P<end>/?)(?:\w+:)?(?P<element>function_calls|invoke|parameter)"
    r"(?:\s+name\s*=\s*(?P<quote>\"|'|&quot;|&#39;)(?P<name>[^\"'\n]{1,256}?)(?P=quote))?\s*&gt;"
)
_MAX_TAG = 512
_BEHIND_VALUE = frozenset({"parameter", "/invoke", "invoke", "/function_calls"})


class _Tag(NamedTuple):
    """A tag: its element, with a slash before it when it closes, its name attribute and its length."""

    element: str
    name: str
    length: int


class _Escaped(Grammar):
    name = "invoke_escaped"
    place = "start"
    opening = (*spelt("&lt;", _PREFIXES, "function_calls&gt;"), *spelt("&lt;", _PREFIXES, "invoke name="))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one bare call."""
        wrapper = yield from _tag(scan)
        wrapped = wrapper is not None and wrapper.element == "function_calls"
        if wrapper is not None and wrapped:
            scan.take(wrapper.length)
        begun = False
        while True:
            space = yield from scan.space()
            tag = yield from _tag(scan, space)
            following = yield from _behind(scan, space + tag.length if tag else 0)
            if tag is None or tag.element != "invoke" or following not in {"parameter", "/invoke"}:
                break
            scan.take(space + tag.length)
            name = sink.begin(tag.name)
            begun = True
            if not (yield from _body(scan, sink, tools, name)):
                return False
            if not wrapped:
                break
        if not begun:
            return False
        space = yield from scan.space()
        tag = yield from _tag(scan, space)
        if tag is not None and tag.element == "/function_calls":
            scan.take(space + tag.length)
            return True
        if wrapped and scan.ended:
            sink.note_repair("missing_closer")
            if space == scan.rest() or _half(scan, space):
                scan.take(scan.rest())
                return True
        return False

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_resolved(call.name, tools)
        parts = [f'&lt;invoke name="{escape(call.name)}"&gt;']
        for key, raw in members(call.arguments):
            text = escape(delimited(plain_text(call.name, key, raw, tools)))
            parts.append(f'&lt;parameter name="{escape(key)}"&gt;{text}&lt;/parameter&gt;')
        return "\n".join((*parts, "&lt;/invoke&gt;"))


def _tag(scan: Scanner, ahead: int = 0) -> Step[_Tag | None]:
    """The tag that stands `ahead` characters from here, None for none."""
    literal = yield from scan.among(_TAGS, ahead)
    if literal is None:
        return None
    end = yield from scan.find("&gt;", ahead + len(literal), ahead + _MAX_TAG)
    found = _TAG.fullmatch(scan.text, scan.pos + ahead, scan.pos + end + 4)
    if end < 0 or found is None or (not found["name"] and not found["end"] and found["element"] != "function_calls"):
        return None
    return _Tag(found["end"] + found["element"], unescape(found["name"] or "").strip(), end + 4 - ahead)


def _behind(scan: Scanner, ahead: int) -> Step[str]:
    """The element of the tag that comes after white space, "" for none."""
    space = yield from scan.space(ahead)
    tag = yield from _tag(scan, space)
    return tag.element if tag else ""


def _body(scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> Step[bool]:
    """The parameters and the call's closer. Returns whether the call is complete."""
    arguments = Arguments(sink, tools, name)
    while True:
        space = yield from scan.space()
        tag = yield from _tag(scan, space)
        if tag is None or tag.element not in {"parameter", "/invoke"}:  # the call's own closer is what is missing
            sink.note_repair("missing_closer")
            if tag is None:
                scan.take(scan.rest())
            arguments.end()
            return True
        scan.take(space + tag.length)
        if tag.element == "/invoke":
            arguments.end()
            return True
        value = arguments.value(tools.key(name, tag.name))
        lines = yield from line_end(scan)
        scan.take(lines)
        if not (yield from _value(scan, value, own_lines=lines > 0)):
            return False
        value.end()


def _value(scan: Scanner, value: Value, *, own_lines: bool) -> Step[bool]:
    """The decoded text up to the closer that counts. Returns False when the reply ends before.

    own_lines   a line end was after the opening tag, so the one before the closer is layout
    """
    depth = 0  # of whole calls that it quotes
    while True:
        found = scan.text.find("&", scan.pos)
        stop = found if found >= 0 else len(scan.text)
        kept = trailing_line_end(scan.text, scan.pos, stop)
        if found < 0:
            kept = 0 if scan.ended else kept or int(scan.text.endswith("\r", scan.pos))  # half a CRLF, perhaps
        if stop - kept > scan.pos:
            value.add(scan.take(stop - kept - scan.pos))
        if found < 0:
            if scan.ended:
                return False
            yield
            continue
        tag = yield from _tag(scan, kept)
        if tag is not None and tag.element == "invoke":
            depth += (yield from _behind(scan, kept + tag.length)) in {"parameter", "/invoke"}
        elif tag is not None and tag.element == "/invoke":
            depth = max(0, depth - 1)
        elif tag is not None and tag.element == "/parameter" and not depth:
            behind = kept + tag.length
            if (yield from _behind(scan, behind)) in _BEHIND_VALUE or _ends(scan, behind):
                last = scan.take(kept)
                if not own_lines:
                    value.add(last)
                scan.take(tag.length)
                return True
        entity = yield from scan.among(_ENTITIES, kept)
        if tag is None and scan.ended and scan.rest() - kept < max(map(len, _TAGS)) and _half(scan, kept):
            scan.take(scan.rest())  # half a closer: not shown as part of the value
            return False
        value.add(scan.take(kept))
        value.add(ENTITIES.get(scan.take(len(entity or "&")), "&"))


def _ends(scan: Scanner, ahead: int) -> bool:
    return scan.ended and not scan.cut and not scan.text[scan.pos + ahead :].strip()


def _half(scan: Scanner, ahead: int) -> bool:
    rest = scan.text[scan.pos + ahead :]
    return any(tag.startswith(rest) for tag in _TAGS) and len(rest) > 1


_ENTITIES = tuple(ENTITIES)


DIALECT = _Escaped()
