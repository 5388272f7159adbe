"""A call's argument object, written as JSON while its values still arrive as text.

A value whose schema says string is written piece by piece as it comes. Every other value is collected and typed when it
is whole: what was sent cannot be taken back, and `10` may still become `10.5`.
"""

from typing import Protocol

from toolcalls.shapes import CallSink
from toolcalls.shapes.containers import container
from toolcalls.text.scanner import SPACE, Search
from toolcalls.values.conversion import STRING, Types, escape, quote, to_json
from toolcalls.values.toolbox import Toolbox


class Value(Protocol):
    """One argument value that arrives as text."""

    def add(self, piece: str) -> None:
        """The next piece of the text."""

    @property
    def wake_on(self) -> Search | None:
        """What `Scanner.wake_on` may be while more of this value comes; None where every piece must be looked at."""

    def end(self, *, literal: bool = False) -> None:
        """The text is whole. `literal`: the dialect marked it as text (CDATA), so without a schema it stays text."""


class Arguments:
    """Writes `{`, the members and `}` to a `CallSink`."""

    def __init__(self, sink: CallSink, tools: Toolbox, name: str) -> None:
        self._sink = sink
        self._tools = tools
        self._name = name
        self._seen: set[str] = set()

    def value(self, key: str, *, string: bool | None = None) -> Value:
        """Open the member `key`. A key that comes twice is written twice (the last one counts) and noted.

        string   what the dialect's text says about the value, whatever the schema says: True: it is a string; False: it
                 is JSON, and a string only where it is none; None: the text says nothing
        """
        self._open(key)
        types = _NO_TYPE if string is False else self._tools.types(self._name, key)
        if string or types == STRING:
            return _Streamed(self._sink)
        return _Typed(self._sink, types, infer=self._tools.infer)

    def marked(self, key: str, *, string: bool | None) -> Value:
        """Open the member `key`, of which the dialect's text says whether it is a string (`value`).

        A declared type counts; where strings are among several, the text says so. A string may be written as JSON.
        Tools that a prompt describes in words have no types of their own: there the text always says it.
        """
        types = self._tools.types(self._name, key)
        if types is None or self._tools.textual or (string and "string" in types):
            return self.value(key, string=string)
        if string is False and types == STRING:
            self._open(key)
            return _Encoded(self._sink)
        return self.value(key)

    def text(self, key: str, text: str) -> None:
        """A whole member whose value is this text."""
        value = self.value(key)
        value.add(text)
        value.end()

    def member(self, key: str, json: str) -> None:
        """A whole member whose value is JSON already."""
        self._open(key)
        self._sink.piece(json)

    def _open(self, key: str) -> None:
        opening = "," if self._seen else "{"
        if key in self._seen:
            self._sink.note_repair("duplicate_argument")
        self._seen.add(key)
        self._sink.piece(f"{opening}{quote(key)}:")

    def end(self) -> None:
        """Close the object and the call."""
        self._sink.piece("}" if self._seen else "{}")
        self._sink.end()


LINE_ENDS = ("\n", "\r")
# What fits none of the types passes where it is JSON.
_NO_TYPE: Types = frozenset()


def at_tag_or_line_end(piece: str) -> bool:
    """Whether a piece of a string argument must be looked at: a tag is in it, or its end may belong to a closer."""
    return "<" in piece or piece.endswith(LINE_ENDS)


class _Streamed:
    wake_on = staticmethod(at_tag_or_line_end)

    def __init__(self, sink: CallSink) -> None:
        self._sink = sink
        sink.piece('"')

    def add(self, piece: str) -> None:
        self._sink.piece(escape(piece))

    def end(self, *, literal: bool = False) -> None:  # noqa: ARG002 - a string is text either way
        self._sink.piece('"')


class _Collected:
    """A value that is read when it is whole."""

    wake_on = None

    def __init__(self, sink: CallSink) -> None:
        self._sink = sink
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        if self._sink.collect(len(piece)):
            self._pieces.append(piece)
        else:
            self._pieces.clear()


class _Encoded(_Collected):
    """A string that was marked as JSON: what is a JSON string says it, any other text is it."""

    def end(self, *, literal: bool = False) -> None:  # noqa: ARG002 - a string is text either way
        text = "".join(self._pieces)
        json = to_json(text, _NO_TYPE)
        self._sink.piece(json if json.startswith('"') else quote(text))


class _Typed(_Collected):
    """A value whose type is known, or inferred, from all of its text."""

    def __init__(self, sink: CallSink, types: Types | None, *, infer: bool) -> None:
        super().__init__(sink)
        self._types = types
        self._infer = infer

    def end(self, *, literal: bool = False) -> None:
        text = "".join(self._pieces)
        json = to_json(text, self._types, infer=self._infer and not literal)
        if json.startswith('"') and self._types is not None and "string" not in self._types:
            found = container(text.strip(SPACE), self._types)
            json = json if found is None else found.json
            for repair in found.repairs if found is not None else ():
                self._sink.note_repair(repair)
        self._sink.piece(json)
