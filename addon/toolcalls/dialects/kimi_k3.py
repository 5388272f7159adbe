"""`kimi_k3`: Kimi K3's elements of special tokens ("XTML"), in which calls, reasoning and text are channels.

All of it is on one line. Values are taken verbatim: `string` means the text, any other type JSON, and text where it
is none. In attributes `&amp;` and `&quot;` are escapes. White space may be inside a mark, an attribute in other
quotes or none, and a closing mark without its name closes what was opened last. The marks of the response channel and
of the message are removed, the think channel is reasoning.

Servers run the names of two elements together (`<|open|>toolscall tool="N"`, `<|close|>toolsmessage`), and lose the
mark in front of a section's first name, or of an argument's closing one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import override

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.channels import ends_first, take_up_to
from toolcalls.shapes.tags.call_body import NamedBody
from toolcalls.shapes.tags.call_end import Parameters
from toolcalls.shapes.tags.content import Verbatim
from toolcalls.shapes.tags.opening_tag import Tag
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.value_end import BARE
from toolcalls.shapes.writable import other_value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.conversion import members, to_json, to_text
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="channels",
    written_by="Moonshot's Kimi K3",
    source="vllm #50604, can1357/oh-my-pi #8495",
    example="""\
<|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|><|open|>argument key="path" type="string"\
<|sep|>src/a.ts<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>""",
)

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_BOTH = (_OPEN, _CLOSE)
_MAX_MARK = 512
_WRITTEN = r"""(?:"[^"]*"|'[^']*'|[^\s"'=<>|]+)"""  # an attribute's value
_ELEMENT = re.compile(rf"\s*(?P<element>[\w-]*)(?P<attributes>(?:\s+[\w-]+\s*=\s*{_WRITTEN})*)\s*")
_BARE = ('call tool="', 'toolscall tool="', f"tools{_SEP}{_OPEN}call ")  # how a section begins that lost its first mark
_JOINED = re.compile(r"(?:tools|call|message){2,}")  # the names of elements that were closed one after the other
_LOST = f"argument{_SEP}"  # what is left of a value's closing mark
_ATTRIBUTE = re.compile(rf"([\w-]+)\s*=\s*({_WRITTEN})")
_THOUGHT = re.compile(r"<\|close\|>\s*think\s*<\|sep\|>")
_OTHER = re.compile(r"<\|open\|>\s*(?:response|think)\s*<\|sep\|>")
# What a frame is made of; a mark that closes and has no name closes any of them.
_FRAME = frozenset({"tools", "response", "think", "message", ""})
_JSON_TYPES = frozenset({"number", "integer", "boolean", "object", "array", "null"})


@dataclass(frozen=True)
class _Mark:
    """A whole mark, `<|open|>call tool="N"<|sep|>`; `element` is "" in a closing one without a name.

    joined   the names of several elements run together in it; `element` is the last
    """

    opens: bool
    element: str
    attributes: dict[str, str]
    length: int
    joined: bool = False

    def is_(self, what: str) -> bool:
        """Whether it is `call`, or `/call` for a closing one."""
        return ("" if self.opens else "/") + self.element == what

    def closes(self, element: str) -> bool:
        """Whether it closes such an element, which was opened last."""
        return not self.opens and self.element in {element, ""}


def mark_at(scan: Scanner, ahead: int, *, bare: bool = False) -> Step[_Mark | None]:
    """The mark that stands `ahead` characters from here, not consumed. `bare`: what is left of an opening one."""
    opening = yield from scan.among(_BOTH, ahead)
    if opening is None and bare:
        opening = ""
    if opening is None:
        return None
    start = ahead + len(opening)
    stop = yield from scan.find(_SEP, start, start + _MAX_MARK)
    found = _ELEMENT.fullmatch(scan.text, scan.pos + start, scan.pos + stop)
    if stop < 0 or found is None or (opening != _CLOSE and not found["element"]):
        return None
    element = found["element"]
    joined = _JOINED.fullmatch(element) is not None
    if joined:
        element = next(name for name in ("message", "call", "tools") if element.endswith(name))
    attributes = {key: _decoded(text.strip("\"'")) for key, text in _ATTRIBUTE.findall(found["attributes"])}
    return _Mark(opening != _CLOSE, element, attributes, stop + len(_SEP) - ahead, joined)


class _Xtml(Grammar):
    name = "kimi_k3"
    place = "anywhere"
    opening = (*_BOTH, *_BARE)
    before, after = f"{_OPEN}tools{_SEP}", f"{_CLOSE}tools{_SEP}"

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls of one section, or one mark of a channel; all of the think channel."""
        bare = (yield from scan.among(_BARE)) is not None
        mark = yield from mark_at(scan, 0, bare=bare)
        if mark is None:
            return False
        if mark.is_("tools") or mark.is_("call"):
            return (yield from self._calls(scan, sink, tools, bare=bare))
        if mark.element not in _FRAME or not sink.may_remove_frame():
            return False
        scan.take(mark.length)
        sink.mark_frame()
        if mark.is_("think"):
            yield from self._thought(scan, sink)
        return True

    def _thought(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """Reasoning up to its closing mark, or to the next channel. Calls in front of the mark are drafts."""
        drafts = False
        while (yield from take_up_to(scan, _BOTH, sink.mark_reasoning)) is not None:
            mark = yield from mark_at(scan, 0)
            if mark is not None and mark.opens and (mark.is_("tools") or mark.is_("call")) and not drafts:
                drafts = yield from ends_first(scan, _THOUGHT, _OTHER)
            if mark is not None and drafts and not mark.closes("think"):
                mark = None
            if mark is not None and mark.closes("think"):
                scan.take(mark.length)
                sink.mark_frame()
            if mark is not None and (mark.opens or mark.closes("think")):
                return
            scan.take(1)
            sink.mark_reasoning()

    def _calls(self, scan: Scanner, sink: CallSink, tools: Toolbox, *, bare: bool) -> Step[bool]:
        begun = section = False
        damaged = bare
        while True:
            space = yield from scan.space()
            mark = yield from mark_at(scan, space, bare=bare)
            bare = False
            if mark is not None and begun and (mark.closes("tools") or mark.is_("/message")):
                if section and mark.is_("/message"):
                    sink.note_repair("missing_closer")
                scan.take(space + mark.length)
                return True
            if mark is not None and not begun and mark.is_("tools"):
                section = True
                scan.take(space + mark.length)
                continue
            if mark is None or not mark.is_("call") or not mark.attributes.get("tool"):
                break
            if not (yield from _body_follows(scan, space + mark.length, damaged=damaged and not begun)):
                break
            scan.take(space + mark.length)
            name = sink.begin(mark.attributes["tool"])
            if damaged or mark.joined:
                sink.note_repair("damaged_tag")
            begun = True
            if not (yield from NamedBody(_FORM, scan, sink, tools, name).read()):
                return False
        if begun and scan.stops_short((_CLOSE,)):
            if section:
                sink.note_repair("missing_closer")
            scan.take(scan.rest())
        return begun

    def write(self, calls: Sequence[Call], tools: Toolbox) -> str:
        written = "".join(self.write_call(call, tools, index) for index, call in enumerate(calls, 1))
        return f"{self.before}{written}{self.after}" if calls else ""

    def write_call(self, call: Call, tools: Toolbox, index: int = 1) -> str:
        if not call.name:
            raise Unwritable("a call without a name")
        parts = []
        for key, raw in members(call.arguments):
            text, is_string = to_text(raw)
            kind = "string" if is_string else _kind(raw)
            if not is_string and to_json(text, frozenset(), infer=tools.types_by_form) != raw:
                raise other_value(call.name, key, raw)
            head = f'{_OPEN}argument key="{_escaped(key)}" type="{kind}"{_SEP}'
            parts.append(f"{head}{text}{_CLOSE}argument{_SEP}")
        head = f'{_OPEN}call tool="{_escaped(call.name)}" index="{index}"{_SEP}'
        return f"{head}{''.join(parts)}{_CLOSE}call{_SEP}"


def _body_follows(scan: Scanner, ahead: int, *, damaged: bool) -> Step[bool]:
    """Whether a whole mark that a call goes on with is here, or the text ends.

    damaged   the call's own mark is: then it goes on with an argument or its closer
    """
    mark = yield from mark_at(scan, (yield from scan.space(ahead)))
    if mark is None:
        return not damaged and scan.stops_short(_BOTH, ahead)
    if mark.is_("argument") or mark.closes("call"):
        return True
    return not damaged and (mark.closes("tools") or mark.is_("call") or mark.is_("/message"))


def _kind(raw: str) -> str:
    kinds = {"{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
    return kinds.get(raw[:1], "number")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _decoded(text: str) -> str:
    return text.replace("&quot;", '"').replace("&amp;", "&")


class _Marks(Tags):
    """Kinds of marks, by what they are (`_Mark.is_`)."""

    def __init__(self, short: tuple[str, ...] = (_CLOSE,), *, bare: bool = False, **kinds: tuple[str, ...]) -> None:
        super().__init__()
        self._short = short
        self._bare = bare
        self._kinds = kinds
        self.marks, self.second = ("<" + _LOST[0], frozenset("|" + _LOST[1])) if bare else ("<", frozenset("|"))

    @override
    def at(self, scan: Scanner, ahead: int = 0) -> Step[tuple[str, int]]:
        if self._bare and (yield from scan.starts(_LOST, ahead)):
            return BARE, len(_LOST)
        mark = yield from mark_at(scan, ahead)
        kind = next((kind for kind, of in self._kinds.items() if mark and any(map(mark.is_, of))), "")
        return (kind, mark.length) if mark and kind else ("", 0)

    @override
    def stops_short(self, scan: Scanner, ahead: int = 0) -> bool:
        return scan.stops_short(self._short, ahead)


class _Typed(Verbatim):
    """The mark says the type of a value: a string is its text, any other one JSON, and text where it is none."""

    @override
    def member(self, arguments: Arguments, key: str, attributes: Mapping[str, str]) -> Value:
        kind = attributes.get("type")
        return arguments.value(key, string=None if kind is None else kind not in _JSON_TYPES)


class _Form:
    """The arguments of a call, as a form of names in marks (`call_body.BodyForm`)."""

    ends = _Marks(_BOTH, call_end=("/call", "/"), wrapper_end=("/tools", "/message"))
    damaged_ends = Tags()
    wrapper_closers = (f"{_CLOSE}tools{_SEP}",)
    inside = _Marks(bare=True, closer=("/argument", "/"), next=("argument",), call=("call",), call_end=("/call",))
    closer = _Marks(closer=("/argument", "/"))
    behind = _Marks(_BOTH)
    special = closed = True
    json = False
    content = _Typed()

    def parameter_here(self, scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
        mark = yield from mark_at(scan, ahead)
        if mark is None or not mark.is_("argument"):
            return None
        return Tag(mark.attributes.get("key", ""), mark.length, attributes=mark.attributes)

    def parameter_at(self, scan: Scanner, ahead: int) -> Step[str]:
        tag = yield from self.parameter_here(scan, ahead)
        return tag.name if tag else ""

    def call_at(self, scan: Scanner, ahead: int) -> Step[int]:
        mark = yield from mark_at(scan, ahead)
        if mark is None or not mark.is_("call") or not mark.attributes.get("tool"):
            return 0
        follows = yield from _body_follows(scan, ahead + mark.length, damaged=False)
        return mark.length if follows else 0

    def next_call(self, scan: Scanner, ahead: int) -> Step[bool]:
        return (yield from self.call_at(scan, ahead)) > 0

    def ends_before_text(self, scan: Scanner, ahead: int) -> Step[bool]:  # noqa: ARG002 - a call has a closer
        yield from ()
        return False

    def keyed(self, tag: Tag, values: Parameters) -> Tag | None:  # noqa: ARG002 - a mark says it
        return tag

    def wraps(self, key: str, declared: tuple[str, ...]) -> bool:  # noqa: ARG002 - in no mark
        return False


_FORM = _Form()
DIALECT = _Xtml()
