"""`kimi_k3`: Kimi K3's elements of special tokens ("XTML"), in which calls, reasoning and text are channels.

All of it is on one line. Values are taken verbatim: `string` means the text, any other type JSON, and text where it
is none. In attributes `&amp;` and `&quot;` are escapes. White space may be inside a mark, an attribute in other
quotes or none, and a closing mark without its name closes what was opened last. The marks of the response channel and
of the message are removed, the think channel is reasoning.

Servers run the names of two elements together (`<|open|>toolscall tool="N"`, `<|close|>toolsmessage`), and lose the
mark in front of a section's first name, or of an argument's closing one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.shapes import About, Call, CallSink, Grammar, Unwritable
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.channels import ends_first, take_up_to
from toolcalls.shapes.writable import other_value
from toolcalls.text.scanner import Scanner, Search, Step
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
_LOST = "argument"  # what is left of a value's closing mark, in front of `_SEP`
_LOST_BEGINS = re.compile(_LOST[0]).search
_ATTRIBUTE = re.compile(rf"([\w-]+)\s*=\s*({_WRITTEN})")
_THOUGHT = re.compile(r"<\|close\|>\s*think\s*<\|sep\|>")
_OTHER = re.compile(r"<\|open\|>\s*(?:response|think)\s*<\|sep\|>")
# What a frame is made of; a mark that closes and has no name closes any of them.
_FRAME = frozenset({"tools", "response", "think", "message", ""})
_BEHIND_VALUE = ("argument", "/call", "/", "call", "/tools", "/message")
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


class _Xtml(Grammar):
    name = "kimi_k3"
    place = "anywhere"
    opening = (*_BOTH, *_BARE)
    before, after = f"{_OPEN}tools{_SEP}", f"{_CLOSE}tools{_SEP}"

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """The calls of one section, or one mark of a channel; all of the think channel."""
        bare = (yield from scan.among(_BARE)) is not None
        mark = yield from self._mark(scan, 0, bare=bare)
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

    def _mark(self, scan: Scanner, ahead: int, *, bare: bool = False) -> Step[_Mark | None]:
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

    def _thought(self, scan: Scanner, sink: CallSink) -> Step[None]:
        """Reasoning up to its closing mark, or to the next channel. Calls in front of the mark are drafts."""
        drafts = False
        while (yield from take_up_to(scan, _BOTH, sink.mark_reasoning)) is not None:
            mark = yield from self._mark(scan, 0)
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
            mark = yield from self._mark(scan, space, bare=bare)
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
            if not (yield from self._body_follows(scan, space + mark.length, damaged=damaged and not begun)):
                break
            scan.take(space + mark.length)
            name = sink.begin(mark.attributes["tool"])
            if damaged or mark.joined:
                sink.note_repair("damaged_tag")
            begun = True
            if not (yield from self._body(scan, sink, Arguments(sink, tools, name), frozenset(tools.keys(name)))):
                return False
        if begun and scan.stops_short((_CLOSE,)):
            if section:
                sink.note_repair("missing_closer")
            scan.take(scan.rest())
        return begun

    def _body_follows(self, scan: Scanner, ahead: int, *, damaged: bool) -> Step[bool]:
        """Whether a whole mark that a call goes on with is here, or the text ends.

        damaged   the call's own mark is: then it goes on with an argument or its closer
        """
        mark = yield from self._mark(scan, (yield from scan.space(ahead)))
        if mark is None:
            return not damaged and scan.stops_short(_BOTH, ahead)
        if mark.is_("argument") or mark.closes("call"):
            return True
        return not damaged and (mark.closes("tools") or mark.is_("call") or mark.is_("/message"))

    def _body(self, scan: Scanner, sink: CallSink, arguments: Arguments, declared: frozenset[str]) -> Step[bool]:
        """The arguments and the call's closing mark. Returns whether the call is complete.

        declared   the parameters of its tool
        """
        given = set[str]()
        while True:
            space = yield from scan.space()
            mark = yield from self._mark(scan, space)
            if mark is not None and mark.is_("argument"):
                scan.take(space + mark.length)
                kind = mark.attributes.get("type")
                string = None if kind is None else kind not in _JSON_TYPES
                value = arguments.value(mark.attributes.get("key", ""), string=string)
                given.add(mark.attributes.get("key", ""))
                if not (yield from self._value(scan, sink, value, declared - given)):
                    return False
                continue
            if mark is not None and mark.closes("call"):
                scan.take(space + mark.length)
            elif scan.cut and mark is None and _is_arriving(scan, space):
                scan.take(scan.rest())
                return False
            else:
                sink.note_repair("missing_closer")
            arguments.end()
            return True

    def _value(self, scan: Scanner, sink: CallSink, value: Value, missing: frozenset[str]) -> Step[bool]:
        """One value with its closing mark. Returns False when the reply ends before one that counts.

        Without one it ends at the mark of a parameter that is still `missing`, or at the call's end.
        """
        while (lost := (yield from _up_to_mark(scan, value))) is not None:
            if lost and (yield from self._goes_on(scan, lost + len(_SEP))):
                scan.take(lost + len(_SEP))
                value.end()
                sink.note_repair("damaged_tag")
                return True
            value.add(scan.take(lost))
            mark = yield from self._mark(scan, 0)
            if mark is not None and mark.closes("argument"):
                if (yield from self._goes_on(scan, mark.length)):
                    scan.take(mark.length)
                    value.end()
                    return True
                if scan.stops_short((_CLOSE, _OPEN), mark.length):
                    scan.take(scan.rest())
                    return False
            elif mark is not None and (yield from self._is_unclosed(scan, mark, missing)):
                value.end()
                sink.note_repair("unclosed_value")
                return True
            elif scan.stops_short((_CLOSE,)):
                scan.take(scan.rest())
                return False
            value.add(scan.take(1))
        return False

    def _is_unclosed(self, scan: Scanner, mark: _Mark, missing: frozenset[str]) -> Step[bool]:
        """Whether the mark that is in a value says that the value's own closing mark is missing."""
        if mark.is_("argument"):
            return mark.attributes.get("key") in missing
        if not mark.is_("/call"):
            return False
        space = yield from scan.space(mark.length)
        behind = yield from self._mark(scan, space)
        if behind is not None:
            return behind.is_("call") or behind.closes("tools") or behind.is_("/message")
        return not scan.cut and scan.stops_short((_CLOSE,), mark.length)

    def _goes_on(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the grammar can go on after a value's closing mark: only there it is one."""
        space = yield from scan.space(ahead)
        mark = yield from self._mark(scan, space)
        if mark is not None:
            return any(mark.is_(what) for what in _BEHIND_VALUE)
        return not scan.cut and scan.stops_short((_CLOSE,), ahead)

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


def _up_to_mark(scan: Scanner, value: Value) -> Step[int | None]:
    """Give `value` the text up to the next `<`, all but what may be left of its closing mark; None at the text's end.

    Returns the length of what is there of such a mark, in front of `_SEP`.
    """
    while True:
        text, pos = scan.text, scan.pos
        found = text.find("<", pos)
        stop = len(text) if found < 0 else found
        if found >= 0:
            lost = len(_LOST) if text.endswith(_LOST, pos, stop) else 0
        elif scan.ended:
            lost = 0
        else:
            lost = next((size for size in range(len(_LOST), 0, -1) if text.endswith(_LOST[:size], pos)), 0)
        if stop - lost > pos:
            value.add(scan.take(stop - lost - pos))
        if found >= 0:
            return lost if lost and (yield from scan.starts(_SEP, lost)) else 0
        if scan.ended:
            return None
        scan.wake_on = _wake_on(value) if scan.pos == len(scan.text) else None
        yield
        scan.wake_on = None


def _wake_on(value: Value) -> Search | None:
    """As the value's, and what may be the beginning of `_LOST`."""
    wakes = value.wake_on
    return None if wakes is None else lambda piece: wakes(piece) or _LOST_BEGINS(piece)


def _kind(raw: str) -> str:
    kinds = {"{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
    return kinds.get(raw[:1], "number")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _decoded(text: str) -> str:
    return text.replace("&quot;", '"').replace("&amp;", "&")


def _is_arriving(scan: Scanner, ahead: int) -> bool:
    """Whether the text that stands `ahead` characters from here, to its end, may be the beginning of a mark."""
    return scan.stops_short(_BOTH, ahead) or (
        scan.text.startswith(_BOTH, scan.pos + ahead) and scan.text.find(_SEP, scan.pos + ahead) < 0
    )


DIALECT = _Xtml()
