"""YAML text → nodes that remember their lines.

The parser's events are read here, so nothing is constructed, no tag means anything, no alias is expanded, and depth and
number of values are bounded while they are read. Unquoted values mean what they mean in JSON (true, false, null,
numbers); everything else is text. So the YAML 1.1 surprises (`no`, `on`, `12:30`, `0x10`, dates) are text here, and a
tool pasted as JSON is read as JSON.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from toolcalls.config.mistakes import Mistake, quote

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_VALUES = 20_000
TOO_LARGE = f"the file is too large; expected at most {MAX_BYTES} bytes"

type Scalar = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Node:
    """One value and the line it begins on, from 1. The values of a mapping stand with the lines of their keys."""

    line: int
    value: "Scalar | list[Node] | dict[str, tuple[int, Node]]"


_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_LINE_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # YAML 1.1, section 5.4: what its marks count
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")  # RFC 8259, section 6


def document(text: str) -> Node:
    """The only document of a text, a null node when there is none. Raises Mistake, whatever the text is."""
    if len(text) > MAX_BYTES:
        raise Mistake(1, TOO_LARGE)
    return _Composer(text).document()


class _Composer:
    """The nodes of one YAML document. Recursion is bounded by MAX_DEPTH, work by MAX_BYTES and MAX_VALUES."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[yaml.Event] = iter(())
        self._line = 1
        self._values = 0

    def document(self) -> Node:
        """The only document."""
        try:
            self._events = yaml.parse(self._text, Loader=yaml.SafeLoader)
            self._next()  # the stream's start
            if isinstance(self._next(), yaml.StreamEndEvent):
                return Node(1, None)
            root = self._node(self._next(), 0)
            self._next()  # the document's end
            if not isinstance(self._next(), yaml.StreamEndEvent):
                raise Mistake(self._line, "found a second document; expected one")
            return root
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            about = ", ".join(part for part in (error.context, error.problem) if part)
            raise Mistake(mark.line + 1 if mark else self._line, f"not YAML: {about}") from error
        except yaml.reader.ReaderError as error:
            line = len(_LINE_BREAK.findall(self._text, 0, error.position)) + 1
            raise Mistake(line, f"found character U+{error.character:04X}, which YAML does not allow") from error
        except (ValueError, OverflowError) as error:
            # PyYAML hands the digits of `\U........` and `%YAML` to chr() and int() without looking at their size.
            raise Mistake(self._line, "not YAML: a number in an escape or a directive is out of range") from error

    def _next(self) -> yaml.Event:
        event = next(self._events)
        if event.start_mark is not None:
            self._line = event.start_mark.line + 1
        return event

    def _node(self, event: yaml.Event, depth: int) -> Node:
        line = self._line
        self._values += 1
        if depth > MAX_DEPTH:
            raise Mistake(line, f"found values nested more than {MAX_DEPTH} deep; expected fewer levels")
        if self._values > MAX_VALUES:
            raise Mistake(line, f"found more than {MAX_VALUES} values; expected fewer")
        if isinstance(event, yaml.AliasEvent) or (isinstance(event, yaml.NodeEvent) and event.anchor is not None):
            raise Mistake(line, f"found the anchor or alias {quote(event.anchor or '')}; expected the value itself")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise Mistake(line, f"found the tag {quote(event.tag)}; expected a plain value or quoted text")
        if isinstance(event, yaml.ScalarEvent):
            text = self._whole(event.value)
            return Node(line, text if event.style else self._plain(text))
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                items.append(self._node(event, depth + 1))
            return Node(line, items)
        fields: dict[str, tuple[int, Node]] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key_line = self._line
            if not isinstance(event, yaml.ScalarEvent):
                raise Mistake(key_line, "found a list, a mapping or an alias as a key; expected a word")
            self._node(event, depth + 1)  # a key keeps the rules of a value, but is its text: `1:` is "1"
            key = self._whole(event.value)
            if key in fields:
                raise Mistake(key_line, f"key {quote(key)} is given twice, first on line {fields[key][0]}")
            fields[key] = (key_line, self._node(self._next(), depth + 1))
        return Node(line, fields)

    def _whole(self, text: str) -> str:
        """`text` with surrogate pairs joined, as JSON writes what lies beyond U+FFFF ("\\ud83d\\ude00")."""
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            raise Mistake(self._line, "found half of a surrogate pair; expected whole characters") from error

    def _plain(self, text: str) -> Scalar:
        if text in _WORDS:
            return _WORDS[text]
        number = _NUMBER.fullmatch(text)
        if not number:
            return text
        if len(text) > 300 or not math.isfinite(float(text)):
            raise Mistake(self._line, f"the number {quote(text)} is out of range (quote it to make it text)")
        return float(text) if number[1] or number[2] else int(text)
