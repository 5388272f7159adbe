"""`yaml_xml`: an element named after the tool, whose body is a YAML mapping.

A call without arguments has an empty body, or its element closes itself. The body ends at the closer that begins a
line. It is read event by event with PyYAML's safe reader, so that values keep the spelling that the model gave them:
what the schema calls a string is the text as it stands, numbers keep their digits, and without a schema only YAML 1.2's
own words for null, true and false and JSON's numbers are no strings. Nothing here is a date, and `yes` is a word. Tags,
anchors and aliases are refused, and so is a body that is too long or nested too deep.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from toolcalls.shapes import About, Call, CallSink, Grammar, Sign, Unwritable
from toolcalls.shapes.spaced_closers import closer_among
from toolcalls.shapes.tags.element_values import NAME, SchemaPlace, opening_tags
from toolcalls.shapes.tags.self_closing import empty_element, empty_openers
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.conversion import STRING, Types, is_json, members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

ABOUT = About(
    form="elements",
    sign=Sign(strength="form"),
    written_by="models under the prompts of ai-sdk-tool-call-middleware",
    source="ai-sdk-tool-call-middleware",
    example="""\
<write_file>
path: src/a.ts
content: |
  first line
</write_file>""",
    call=Call("write_file", '{"path": "src/a.ts", "content": "first line\\n"}'),
)

_MAX_BODY = 256 * 1024  # characters
_MAX_DEPTH = 32
# The rest of the tag's line, and a key with its colon on the next one, where the body begins.
_KEY = re.compile(
    r"""[ \t\r]{0,8}\n()[ ]{0,8}(?:"([\w.$ -]{1,128})"|'([\w.$ -]{1,128})'|([\w.$-]{1,128}))[ ]{0,4}:(?=[ \r\n])"""
)
_ARRIVING = re.compile(r"""[ \t\r]{0,8}(?:\n[ ]{0,8}(?:["']?[\w.$ -]{0,128}["']?[ ]{0,4}:?)?)?""")
_MAX_KEY = 160  # characters of it
_WORDS = {"": "null", "~": "null"} | {
    spelt: word for word in ("null", "true", "false") for spelt in (word, word.capitalize(), word.upper())
}
_NUMBER: Types = frozenset({"number"})
_PLAIN = re.compile(r"[A-Za-z/][\w/.-]*(?: [\w/.-]+)*")  # what needs no quotes, if it is no word that YAML knows


class _Refused(ValueError):
    """The body is no mapping that is read here."""


class YamlXml(Grammar):
    name = "yaml_xml"
    between = "\n\n"

    def openers(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The tags of each declared tool."""
        return (*opening_tags(names), *empty_openers(names))

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        opener = yield from scan.among(opening_tags(tools.names))
        if opener is None:
            return (yield from empty_element(scan, sink, tools))
        name = opener[1:-1]
        offset = len(opener)
        closer = f"</{name}>"
        space = yield from scan.space(offset)
        _, length = yield from closer_among(scan, (closer,), space)
        if length:
            scan.take(offset)
            sink.begin(name)
            scan.take(space - offset + length)
            sink.piece("{}")
            sink.end()
            return True
        mapping = yield from scan.match(_KEY, _ARRIVING, offset, _MAX_KEY)
        declared = tools.keys(name)
        if mapping is None or (declared and mapping.group(mapping.lastindex or 0) not in declared):
            return False
        scan.take(mapping.start(1) - scan.pos)
        sink.begin(name)
        body = yield from _body(scan, closer)
        if body is None:
            return False
        try:
            json = _Reading(body, tools, name, sink).object()
        except (_Refused, yaml.YAMLError):
            sink.fail()
            return False
        sink.piece(json)
        sink.end()
        return True

    def write_call(self, call: Call, tools: Toolbox) -> str:
        if not NAME.fullmatch(call.name) or call.name not in tools.names:
            raise Unwritable(f"{call.name!r} is not a declared name that a tag can have")
        pairs = members(call.arguments)
        if not pairs:
            return f"<{call.name}/>"
        lines = []
        for key, raw in pairs:
            text, is_string = to_text(raw)
            value = _spelt(text) if is_string else raw.strip(SPACE)
            if not NAME.fullmatch(key):
                raise Unwritable(f"{call.name}: the key {key!r} cannot be written plainly")
            lines.append(f"{key}: {value}\n")
        return f"<{call.name}>\n{''.join(lines)}</{call.name}>"


DIALECT = YamlXml()


def _body(scan: Scanner, closer: str) -> Step[str | None]:
    """Take everything up to the closer that begins a line, and the closer; None where the text ends first."""
    pieces: list[str] = []
    fresh = True  # at the start of a line
    while True:
        if fresh and (length := (yield from closer_among(scan, (closer,)))[1]):
            scan.take(length)
            return "".join(pieces)
        if fresh and scan.stops_short((closer,)) and scan.rest():
            scan.take(scan.rest())
            return None
        end = scan.text.find("\n", scan.pos)
        fresh = end >= 0
        pieces.append(scan.take((end + 1 if fresh else len(scan.text)) - scan.pos))
        if not fresh:
            if scan.ended:
                return None
            yield


class _Reading:
    """One body, read event by event into JSON text."""

    def __init__(self, body: str, tools: Toolbox, name: str, sink: CallSink) -> None:
        if len(body) > _MAX_BODY:
            raise _Refused("the body is too long")
        self._body = body
        self._tools = tools
        self._name = name
        self._sink = sink
        self._end = 0  # where the last object or array ended
        self._events: Iterator[yaml.Event] = iter(yaml.parse(body, Loader=yaml.SafeLoader))

    def object(self) -> str:
        """The JSON of the whole body, which is one mapping."""
        event = self._next()
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = self._next()
        if not isinstance(event, yaml.MappingStartEvent):
            raise _Refused("the body is no mapping")
        json = self._mapping((), 1)
        for event in self._events:
            if not isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                raise _Refused("there is something after the mapping")
        return json

    def _next(self) -> yaml.Event:
        event = next(self._events, None)
        if event is None or isinstance(event, yaml.AliasEvent):
            raise _Refused("an alias")
        if isinstance(event, yaml.NodeEvent) and (event.anchor or getattr(event, "tag", None)):
            raise _Refused("an anchor or a tag")
        return event

    def _value(self, event: yaml.Event, path: tuple[str | None, ...], depth: int) -> str:
        """The JSON of the node that begins with this event."""
        if depth > _MAX_DEPTH:
            raise _Refused("nested too deep")
        types = SchemaPlace(self._tools, self._name, path).types
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, types)
        start = _index(event.start_mark)
        json = self._mapping(path, depth) if isinstance(event, yaml.MappingStartEvent) else self._items(path, depth)
        if types == STRING:
            return quote(self._body[start : self._end].rstrip("\r\n"))
        return json

    def _mapping(self, path: tuple[str | None, ...], depth: int) -> str:
        written: list[str] = []
        seen: set[str] = set()
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _Refused("a key that is no text")
            key = str(event.value)
            if key in seen:
                self._sink.note_repair("duplicate_argument")
            seen.add(key)
            written.append(f"{quote(key)}:{self._value(self._next(), (*path, key), depth + 1)}")
        self._end = _index(event.end_mark)
        return f"{{{','.join(written)}}}"

    def _items(self, path: tuple[str | None, ...], depth: int) -> str:
        written: list[str] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            written.append(self._value(event, (*path, None), depth + 1))
        self._end = _index(event.end_mark)
        return f"[{','.join(written)}]"

    def _scalar(self, event: yaml.ScalarEvent, types: Types | None) -> str:
        text = str(event.value)
        if types is not None and (text or event.style or "string" in types):
            return to_json(text, types)
        if types is None and (event.style or not self._tools.types_by_form):
            return quote(text)
        if text in _WORDS:
            return _WORDS[text]
        return to_json(text, _NUMBER) if is_json(text) else quote(text)


def _index(mark: Any) -> int:
    """The offset in the body; the stubs know two kinds of marks, and events without one."""
    return int(mark.index)


def _spelt(text: str) -> str:
    """A string as YAML: plain where it is a few words, a block where it has several lines, else in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in ("null", "true", "false"):
        return text
    lines = text.split("\n")
    plain = all(line and line[0] not in " \t" and line.isprintable() for line in lines[:-1])
    if len(lines) > 1 and plain and (not lines[-1] or (lines[-1][0] not in " \t" and lines[-1].isprintable())):
        sign = "|" if not lines[-1] else "|-"
        return "\n".join([sign, *(f"  {line}" for line in (lines if lines[-1] else lines[:-1]))])
    return quote(text)
