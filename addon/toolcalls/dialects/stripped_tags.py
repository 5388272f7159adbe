"""`stripped_tags`: JSON, or pairs of key and value, between tags that have lost `<` and `</`, all or the first.

`tool_call>{…}/tool_call>` and `tool_call>N`, `arg_key>K/arg_key>`, `arg_value>V/arg_value>`: what servers leave of
Hermes' form and of GLM's that take the beginning of a tag for a token of their own. It could be prose, so it counts at
the start of a line only, directly in front of an object or of a declared tool with a key. `damaged_tags` is the same
for tags with names in them.
"""

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign
from toolcalls.shapes.headers.name_in_element import NAME_ELEMENTS, NameInElement
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    sign=Sign(strength="rest", alone=True, empty=True),
    written_by="servers that take the beginning of each tag away",
    source="public reports",
    example="""\
tool_call>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
/tool_call>""",
)

_TAGS = ("tool_call", "function_call", "tool_calls", "function_calls", "tool_use", "tools")
_OPENERS = tuple(f"{tag}>" for tag in _TAGS)
_LOST = ("/", "")  # what is left of `</`
_GAPS = ("", "\n", "\r\n")
_DEEP_GAPS = ("", *(f"{end}{blanks}" for end in ("\n", "\r\n") for blanks in ("", "  ", "    ", "\t")))


class _Stripped(Grammar):
    name = "stripped_tags"
    place = "start"
    _json = MarkedJson(
        "stripped_tags",
        opening=_OPENERS,
        closing=tuple(f"{begin}{tag}" for tag in _OPENERS for begin in (*_LOST, "</")),
        line="\n",
    )
    _pairs = PairForm("stripped_tags", lost=True)
    _elements = NameInElement("stripped_tags", opening=_OPENERS, lost=_LOST)

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of a tag with an object or a declared name after it, and such a name before a key."""
        objects = [f"{tag}>{gap}{{" for tag in _TAGS for gap in _GAPS]
        named = [f"tool_call>{gap}{name}" for name in names for gap in _GAPS]
        elements = [f"{tag}>{gap}{name}" for tag in _TAGS for gap in _DEEP_GAPS for name in NAME_ELEMENTS]
        return (*objects, *named, *elements, *(f"{name}{gap}arg_key>" for name in names for gap in _GAPS))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        tag = yield from scan.among(self._json.opening)
        if tag is not None and (yield from scan.starts("{", (yield from scan.space(len(tag))))):
            read = yield from self._json.read(scan, sink, tools)
            sink.note_repair("damaged_tag")
            return read
        if tag is not None and (yield from scan.among(NAME_ELEMENTS, (yield from scan.space(len(tag))))) is not None:
            read = yield from self._elements.read(scan, sink, tools)
            sink.note_repair("damaged_tag")
            return read
        return (yield from self._pairs.read(scan, sink, tools))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return self._json.write([call], tools)


DIALECT = _Stripped()
