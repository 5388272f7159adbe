"""`minimax_m3`: elements that are named after the arguments and nest, with a marker before each tag (MiniMax M3).

Only a tag after the marker is a tag, so values hold any other markup; nothing is decoded. Elements in an element are
an object, or the items of an array where the schema says array; a name that comes twice is an array, text beside
elements is kept as `$text`. A sibling changes what an element means, so the arguments leave when the call closes. The
model elides the opening tag of the first parameter now and then (vllm PR#51075): its closer names it. The template
leaves out members that are null, so a call that has one cannot be written.

Tags are paired here and not by `value_end`, which asks what a tag in a value may be instead: after its marker a tag is
nothing else. What elements mean is `element_values`' as everywhere.
"""

import re
from dataclasses import dataclass, field
from itertools import takewhile

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.spaced_closers import accept, closer_among, section_end
from toolcalls.shapes.tags.element_values import Rules, SchemaPlace, Spelling, WrongStructure, to_object
from toolcalls.shapes.tags.entities import escape_attribute
from toolcalls.shapes.tags.opening_tag import named_tag
from toolcalls.shapes.tags.tag_patterns import Tags
from toolcalls.shapes.tags.xml_trees import MAX_DEPTH, Element, joined
from toolcalls.shapes.writable import check_resolved
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import members, to_json
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    written_by="MiniMax-M3",
    source="the model's chat template, and vLLM's `minimax_m3` parser",
    example="""\
]<]minimax[>[<tool_call>
]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>src/a.ts]<]minimax[>[</path>]<]minimax[>[</invoke>
]<]minimax[>[</tool_call>""",
)

RESULT = "<response>{text}</response>"

_MARK = "]<]minimax[>["
_WRAPPER, _WRAPPER_END = f"{_MARK}<tool_call>", f"{_MARK}</tool_call>"
_CALL, _CALL_END = f"{_MARK}<invoke", f"{_MARK}</invoke>"
_STOPS = (_CALL_END, _WRAPPER_END, f"{_CALL} ")  # after whole elements
_CALL_TAG = Tags(call=[(_CALL,)])
_MAX_TAG = 256
_TAG = re.compile(r"<(/?)\s*([^<>/\s][^<>/]*?)\s*(/?)>")
_ARRIVING = re.compile(r"[^>]*")


class _MinimaxM3(Grammar):
    name = "minimax_m3"
    place = "anywhere"
    opening = (_WRAPPER, _CALL)
    before, after = f"{_WRAPPER}\n", f"\n{_WRAPPER_END}"

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """One wrapper with its calls, or one call without."""
        wrapped = yield from scan.starts(_WRAPPER)
        scan.take(len(_WRAPPER) if wrapped else 0)
        begun = False
        while True:
            space = yield from scan.space()
            tag = yield from named_tag(scan, _CALL_TAG, space)
            if tag is None or (begun and not wrapped):
                break
            scan.take(space + tag.length)
            begun = True
            name = sink.begin(tag.name)
            if not (yield from _Body(scan, sink, tools, name).read(empty=tag.empty)):
                return False
        ends = accept(scan, _WRAPPER_END) if not wrapped else section_end(scan, sink, (_WRAPPER_END,))
        return begun and (yield from ends)

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_resolved(call.name, tools)
        spelling = Spelling(lambda text, is_string, place: text, mark=_MARK, nulls=False)  # noqa: ARG005
        pairs = members(call.arguments)
        body = "".join(spelling.member(key, raw, SchemaPlace(tools, call.name, (key,))) for key, raw in pairs)
        return f'{_CALL} name="{escape_attribute(call.name)}">{body}{_CALL_END}'


DIALECT = _MinimaxM3()


@dataclass(slots=True, eq=False)
class _Body:
    """The content of one call: its elements, folded as they close."""

    scan: Scanner
    sink: CallSink
    tools: Toolbox
    name: str
    _parts: list[str | Element] = field(default_factory=list, init=False)
    _open: list[tuple[str, int]] = field(default_factory=list, init=False)  # name, place in `parts`

    def read(self, *, empty: bool) -> Step[bool]:
        """Read it with the call's closer. Returns whether the call is complete."""
        scan, sink = self.scan, self.sink
        while not empty:
            if not (yield from self._text()):
                if scan.cut or self._open or not self._closes_alone():
                    scan.take(scan.rest())
                    return False
                sink.note_repair("missing_closer")
                scan.take(scan.rest())
                break
            closer, length = (None, 0) if self._open else (yield from closer_among(scan, _STOPS))
            if closer is not None:
                if closer == _CALL_END:
                    scan.take(length)
                else:
                    sink.note_repair("missing_closer")
                break
            if not (yield from self._tag()):
                return (yield from self._broken())
        place = SchemaPlace(self.tools, self.name, ())
        infer = self.tools.infer
        rules = Rules(untyped=lambda text, _: to_json(text, None, infer=infer), items_array=False, mixed=True)
        parts = self._parts
        beside = "".join(part for part in parts if isinstance(part, str)).strip(SPACE)
        elements = [part for part in parts if isinstance(part, Element)]
        try:
            sink.piece(to_object(elements, place.member, rules, beside))
        except WrongStructure:
            return (yield from self._broken())
        sink.end()
        return True

    def _text(self) -> Step[bool]:
        """Take the text up to the next marker. False where there is none."""
        scan = self.scan
        while (found := scan.text.find(_MARK, scan.pos)) < 0:
            self._keep(scan.take(scan.rest() - scan.half(_MARK)))
            if scan.ended:
                return False
            yield
        self._keep(scan.take(found - scan.pos))
        return True

    def _keep(self, text: str) -> None:
        if text:
            self._parts.append(text)

    def _closes_alone(self) -> bool:
        """Whether all that was begun is closed, and something was. Text may have come in several parts."""
        behind = takewhile(lambda part: isinstance(part, str), reversed(self._parts))
        return bool(self._parts) and not any(isinstance(part, str) and part.strip(SPACE) for part in behind)

    def _tag(self) -> Step[bool]:
        """Take a tag with its marker. False where none stands, or one that does not belong here."""
        scan = self.scan
        found = yield from scan.match(_TAG, _ARRIVING, len(_MARK), _MAX_TAG)
        if found is None:
            return False
        closes, name, empty = found.groups()
        if closes and not self._open:
            # The opener of the first parameter is what may be missing.
            if any(isinstance(part, Element) for part in self._parts) or not self._parts:
                return False
            self.sink.note_repair("missing_opener")
            self._open.append((name, 0))
        scan.take(found.end() - scan.pos)
        if closes:
            opened, at = self._open.pop()
            if opened != name:
                return False
            self._parts[at:] = [Element(name, joined(self._parts[at:]))]
        elif empty:
            self._parts.append(Element(name, ()))
        else:
            self._open.append((name, len(self._parts)))
        return len(self._open) <= MAX_DEPTH

    def _broken(self) -> Step[bool]:
        """The call can be read no further: consume it up to its closer."""
        scan = self.scan
        self.sink.fail()
        while (yield from self._text()):
            closer, length = yield from closer_among(scan, (_CALL_END, _WRAPPER_END))
            scan.take(length or len(_MARK))
            if closer:
                return False
        scan.take(scan.rest())
        return False
