"""`stripped_tags`: JSON, or pairs of key and value, between tags that have lost `<` and `</`, all or the first.

`tool_call>{…}/tool_call>` and `tool_call>N`, `arg_key>K/arg_key>`, `arg_value>V/arg_value>`: what servers leave of
Hermes' form and of GLM's that take the beginning of a tag for a token of their own. It could be prose, so it counts at
the start of a line only, directly in front of an object or of a declared tool with a key. `damaged_tags` is the same
for tags with names in them.
"""

import re
from functools import partial

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.headers.name_in_element import NAME_ELEMENTS, NameInElement
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.tags.value_end import closed_value
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="JSON in tags",
    written_by="servers that take the beginning of each tag away",
    source="public reports",
    example="""\
tool_call>
{"name": "read_file", "arguments": {"path": "src/a.ts"}}
/tool_call>""",
)

_TAGS = ("tool_call", "function_call", "tool_calls", "function_calls", "tool_use", "tools")
_GAPS = ("", "\n", "\r\n")
_DEEP_GAPS = ("", *(f"{end}{blanks}" for end in ("\n", "\r\n") for blanks in ("", "  ", "    ", "\t")))
_LOST = r"(?:</|<|/|)"  # what may be left of a closing tag's beginning
_HEAD = re.compile(r"(?:<?tool_call>\s*)?(?P<name>[\w.:/-]{1,200}?)\s*(?=<?arg_key>)")
_BEGUN = re.compile(r"(?:<?tool_call>\s*)?[\w.:/-]{0,200}\s*<?a?r?g?_?k?e?y?")  # what may become one
_KEY = re.compile(rf"<?arg_key>\s*(?P<key>[\w.:$@-]{{1,200}}?)\s*{_LOST}arg_key>\s*<?arg_value>")
_CLOSER = re.compile(rf"{_LOST}arg_value>")
_END = re.compile(rf"{_LOST}tool_call>")
_MAX_LOOK = 512  # characters in which the next tag must be whole
_LONGEST = 16  # characters of a value's closer, and some more


class _Stripped(Grammar):
    name = "stripped_tags"
    place = "start"
    _json = MarkedJson(
        "stripped_tags",
        opening=tuple(f"{tag}>" for tag in _TAGS),
        closing=tuple(f"{lost}{tag}>" for tag in _TAGS for lost in ("/", "</", "")),
        line="\n",
    )

    _elements = NameInElement("stripped_tags", opening=tuple(f"{tag}>" for tag in _TAGS))

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
        head = yield from _ahead(scan, _HEAD, 0)
        if head is None or head["name"] not in tools or (yield from _ahead(scan, _KEY, len(head.group()))) is None:
            return False
        scan.take(len(head.group()))
        sink.begin(head["name"])
        sink.note_repair("damaged_tag")
        arguments = Arguments(sink, tools, head["name"])
        while True:
            scan.take((yield from scan.space()))
            key = yield from _ahead(scan, _KEY, 0)
            if key is None:
                break
            scan.take(len(key.group()))
            value = arguments.value(tools.key(head["name"], key["key"]))
            closed = yield from closed_value(scan, sink, _CLOSER, _LONGEST, partial(_goes_on, scan))
            if closed is None:
                return False
            value.add(closed.text)
            value.end()
        end = yield from _ahead(scan, _END, 0)
        if end is None and scan.cut:
            return False
        if end is None:
            sink.note_repair("missing_closer")
        scan.take(len(end.group()) if end is not None else 0)
        arguments.end()
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:
        return self._json.write([call], tools)


def _ahead(scan: Scanner, pattern: re.Pattern[str], ahead: int) -> Step[re.Match[str] | None]:
    """What `pattern` matches `ahead` characters from here, which is not taken."""
    while True:
        at = scan.pos + ahead
        text = scan.text[at : at + _MAX_LOOK]
        found = pattern.match(text)
        if found is not None or scan.ended or len(text) == _MAX_LOOK:
            return found
        if pattern is _HEAD and _BEGUN.fullmatch(text) is None:
            return None
        yield


def _goes_on(scan: Scanner, closer: str) -> Step[bool]:
    """Whether a key, the call's end or the end of the reply follows this closer, which is here."""
    space = yield from scan.space(len(closer))
    if (yield from _ahead(scan, _KEY, space)) or (yield from _ahead(scan, _END, space)):
        return True
    return scan.ended and not scan.cut and scan.rest() == space


DIALECT = _Stripped()
