"""`forge`: elements named after the arguments inside `<tool>`, as Forge teaches them (ADR-0019, ADR-0024).

The form is XML: entities are decoded and CDATA is text; a bare `&` or `<` is tolerated, and CDATA is never repaired.
Repeated elements are an array, elements in an element an object (`element_values`). Without a schema, values are typed
by the table of ADR-0019; CDATA and quotes force a string, and the quotes are removed; `""` is an empty string also
where the schema says string. The older form with one JSON
object in `<tool>` is read too, and so are JSON arguments in `<arguments>`. Without a `<tool_name>` it is text.

A string argument streams; a value that may be an array waits for the next element, which may be its next item. One that
lacks its closer ends before the next declared argument, or with the call; the line end and the indentation there go.
Another element's closer there, where it is the value's first tag, is in the place of its own.
The end of a value is decided here, by counting its elements of the same name, and not by `value_end`: this form is XML,
whose CDATA hides all tags in a value and whose arguments nest, and it has no closed list of elements by which the
engine knows what can follow.
A tool of a server other than `local` is called `server.tool`, or as the request declares it.
"""

import re

from toolcalls.shapes import About, Call, CallSink, Grammar
from toolcalls.shapes.arguments import Arguments, Value
from toolcalls.shapes.json.call_block import CallRules
from toolcalls.shapes.json.call_reader import CallReader
from toolcalls.shapes.json.json_values import value
from toolcalls.shapes.tags.element_values import (
    QUOTED_EMPTY,
    Members,
    Rules,
    SchemaPlace,
    Spelling,
    WrongStructure,
    argument,
)
from toolcalls.shapes.tags.entities import CDATA, XmlValue, cdata, decode, escape
from toolcalls.shapes.tags.value_end import any_closing_tag
from toolcalls.shapes.tags.xml_elements import Behind, Kept, OpeningTag, closing_tag, inside, opening_tag
from toolcalls.shapes.tags.xml_trees import text_of
from toolcalls.shapes.writable import check_resolved
from toolcalls.text.scanner import SPACE, Scanner, Search, Step
from toolcalls.values.conversion import STRING, Types, fitting, members, quote
from toolcalls.values.toolbox import LOCAL, Toolbox
from toolcalls.values.transducer import Transducer

ABOUT = About(
    form="elements",
    written_by="any model under Forge's prompt",
    source="ADR-0019 and ADR-0024 of https://github.com/entrhq/forge",
    example="""\
<tool>
<server_name>local</server_name>
<tool_name>write_to_file</tool_name>
<arguments>
  <path>src/main.go</path>
  <content><![CDATA[package main]]></content>
</arguments>
</tool>""",
    call=Call("write_to_file", '{"path": "src/main.go", "content": "package main"}'),
)

RESULT = "Tool '{name}' result:\n{text}"

_MAX_NAME = 256
_MAX_QUOTED = 256  # characters of an argument that are looked at to tell a quoted one from the next one
_SERVER, _TOOL = "server_name", "tool_name"
_CALL = ("tool", "TOOL", "Tool")
_CALL_END = tuple(f"</{name}" for name in _CALL)
_ARGUMENTS_END = ("</arguments", "</ARGUMENTS", "</Arguments")
_COMMENT = "<!--"
_TABLE: Types = frozenset({"null", "integer", "number", "boolean"})
_SPECIAL = re.compile(r"[&<>\r\n]")


class _Forge(Grammar):
    name = "forge"
    opening = tuple(f"<{name}{behind}" for name in _CALL for behind in "> \t\r\n")

    def read(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        tag = yield from _named(scan, "tool", 0)
        if tag is None or tag[1]:
            return False
        offset = yield from scan.space(tag[0])
        if (yield from scan.starts("{", offset)):
            scan.take(offset)
            return (yield from self._legacy(scan, sink, tools))
        named = {_SERVER: "", _TOOL: ""}
        for _ in range(2):
            for element in named:
                found = yield from _short(scan, element, offset)
                if found is not None:
                    named[element] = found[0]
                    offset = yield from scan.space(found[1])
        if not named[_TOOL]:
            return False
        name = tools.served(named[_SERVER], named[_TOOL])
        arguments = yield from _named(scan, "arguments", offset)
        if arguments is None and not (yield from closing_tag(scan, _CALL_END, offset)):
            return False
        scan.take(arguments[0] if arguments else offset)
        call = _Call(scan, sink, tools, name)
        return (yield from call.read(without=arguments is None or arguments[1]))

    def _legacy(self, scan: Scanner, sink: CallSink, tools: Toolbox) -> Step[bool]:
        """`{"server_name": S, "tool_name": N, "arguments": J}`."""
        reader = CallReader(scan, sink, tools, CallRules(sure=False, arguments=""))
        body = yield from reader.object()
        if not body.whole and body.begun and not scan.ended:
            sink.fail()
            yield from inside(scan, "tool", Kept(), _anything)
        if not body.whole or body.problem is not None:
            return False
        reader.report(body)
        return (yield from _end(scan, sink))

    def write_call(self, call: Call, tools: Toolbox) -> str:
        check_resolved(call.name, tools)
        server, _, name = call.name.rpartition(".")
        if not name or server in {"", LOCAL} or tools.served(server, name) != call.name:
            server, name = LOCAL, call.name
        spelling = Spelling(_spelt, repeated=True)
        pairs = members(call.arguments)
        lines = [f"  {spelling.member(key, raw, SchemaPlace(tools, call.name, (key,)))}\n" for key, raw in pairs]
        return (
            f"<tool>\n<{_SERVER}>{escape(server)}</{_SERVER}>\n<{_TOOL}>{escape(name)}</{_TOOL}>\n"
            f"<arguments>\n{''.join(lines)}</arguments>\n</tool>"
        )


DIALECT = _Forge()


class _Call:
    """One call from its commit point on."""

    def __init__(self, scan: Scanner, sink: CallSink, tools: Toolbox, name: str) -> None:
        self._scan = scan
        self._sink = sink
        self._tools = tools
        self._rules = Rules(
            untyped=lambda text, marked: _inferred(text, infer=tools.types_by_form and not marked), quoted_empty=True
        )
        self._name = sink.begin(name)
        self._arguments = Arguments(sink, tools, self._name)
        self._several = Members(self._arguments, self._in_schema)
        self._lacking = set(tools.keys(self._name))  # declared arguments that have not begun
        self._read_last = ""  # the tag's name of the argument that was read last
        self._unclosed = False  # that one had no closer
        self._wrong_closer = 0  # the length of another element's closer in the place of its own
        self._begin = 0  # the place of its text
        self._first = True  # no tag has been in it

    def read(self, *, without: bool) -> Step[bool]:
        """Everything after `<arguments>`; `without`: there are none."""
        scan = self._scan
        if not without:
            space = yield from scan.space()
            if (yield from scan.starts("{", space)) or (yield from scan.starts(CDATA, space)):
                scan.take(space)
                return (yield from self._json())
        while not without and not (yield from self._closed()):
            tag = yield from opening_tag(scan)
            if tag is None:
                return (yield from self._broken())
            scan.take(tag.length)
            try:
                if not (yield from self._argument(tag.name, empty=tag.empty)):
                    return False
            except WrongStructure:
                return (yield from self._broken())
        self._several.end()
        return (yield from _end(scan, self._sink, self._arguments))

    def _in_schema(self, key: str) -> SchemaPlace:
        return SchemaPlace(self._tools, self._name, (key,))

    def _closed(self) -> Step[bool]:
        """Take white space and comments, and the arguments' closer; True as well where the call's is at once."""
        scan = self._scan
        while True:
            scan.take((yield from scan.space()))
            if not (yield from scan.starts(_COMMENT)):
                break
            while (end := scan.text.find("-->", scan.pos)) < 0 and not scan.ended:
                scan.take(max(0, scan.rest() - 2))
                yield
            scan.take(scan.rest() if end < 0 else end + 3 - scan.pos)
        size = yield from closing_tag(scan, _ARGUMENTS_END)
        if size:
            scan.take(size)
            return True
        if (yield from closing_tag(scan, _CALL_END)) or scan.stops_short(_ARGUMENTS_END[:1]):
            self._sink.note_repair("missing_closer")
            return True
        return False

    def _argument(self, written: str, *, empty: bool) -> Step[bool]:
        """One argument with its closer. False where the text ends first. Raises WrongStructure."""
        key = self._tools.key(self._name, written)
        self._lacking.discard(key)
        self._read_last, self._unclosed, self._wrong_closer, self._first = written, False, 0, True
        self._begin = _place(self._scan)
        place = self._in_schema(key)
        types = place.types
        if types == STRING:
            self._several.write()
            sink = XmlValue(_Quoted(self._arguments.value(key)))
            if not empty and not (yield from inside(self._scan, written, sink, _behind_argument, self._lacks_closer)):
                return False
            sink.end()
            self._end_closer()
            return True
        kept = Kept()
        if not empty and not (yield from inside(self._scan, written, kept, _behind_argument, self._lacks_closer)):
            return False
        self._end_closer()
        json = argument(kept.sections, place, self._rules)
        if types is None or "array" in types:
            self._several.add(key, json)
        else:
            self._several.write()
            self._arguments.member(key, json)
        return True

    def _end_closer(self) -> None:
        """Note what was not right with the argument's closer, and take another one that is in its place."""
        if self._wrong_closer:
            self._scan.take(self._wrong_closer)
            self._sink.note_repair("wrong_closer")
        elif self._unclosed:
            self._sink.note_repair("unclosed_value")

    def _lacks_closer(self, scan: Scanner, ahead: int) -> Step[bool]:
        """Whether the argument's closer is missing here.

        Another declared one begins, at the start of a line or whole; or the call ends, and another call or the reply's
        end follows it: else a file that documents the form would be cut off in its middle.
        """
        alone, self._first = self._first and _place(scan) > self._begin, False
        if alone and (found := (yield from any_closing_tag(scan, ahead))) is not None and found[1] != self._read_last:
            space = yield from scan.space(ahead + len(found[0]))
            if (yield from self._next_begins(scan, space, alone=True)):
                self._wrong_closer = len(found[0])
                return True
        self._unclosed = yield from self._next_begins(scan, ahead, alone=ahead > 0)
        return self._unclosed

    def _next_begins(self, scan: Scanner, ahead: int, *, alone: bool) -> Step[bool]:
        """Whether the next declared argument is here, or the call's end.

        alone   the argument stands where nothing else would
        """
        tag = yield from opening_tag(scan, ahead)
        if tag is not None and self._tools.key(self._name, tag.name) in self._lacking:
            return (yield from _stands_whole(scan, tag, ahead + tag.length, self._read_last, alone=alone))
        return tag is None and (yield from _call_ends(scan, ahead))

    def _json(self) -> Step[bool]:
        """JSON arguments, in CDATA or not."""
        scan, sink = self._scan, self._sink
        if (yield from scan.starts("{")):
            if not (yield from value(scan, sink, sink.piece, direct=True)):
                return False if scan.ended else (yield from self._broken())
            if not (yield from self._closed()):
                return (yield from self._broken())
        else:
            kept = Kept()
            if not (yield from inside(scan, "arguments", kept, _behind_arguments)):
                return False
            reader = Transducer(only_object=True)
            made, _ = reader.feed(text_of(kept.sections).strip(SPACE), 0)
            if not reader.done:
                return (yield from self._broken())
            sink.piece(made)
        return (yield from _end(scan, sink))

    def _broken(self) -> Step[bool]:
        """The arguments can be read no further: consume the call, whose payload is never searched for others."""
        if not self._scan.ended or self._scan.rest():
            self._sink.fail()
            yield from inside(self._scan, "tool", Kept(), _anything)
        return False


class _Quoted:
    """A string in front of another, in which `""` alone is how an empty one is written; in CDATA it is text."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self._held: str | None = ""

    @property
    def wake_on(self) -> Search | None:
        return self._value.wake_on if self._held is None else None

    def add(self, piece: str) -> None:
        if self._held is not None:
            piece, self._held = self._held + piece, None
            if QUOTED_EMPTY.startswith(piece):
                self._held = piece
                return
        self._value.add(piece)

    def end(self, *, literal: bool = False) -> None:
        if self._held and (literal or self._held != QUOTED_EMPTY):
            self._value.add(self._held)
        self._value.end(literal=literal)


def _place(scan: Scanner) -> int:
    """How many characters have been read so far."""
    return scan.passed + scan.pos + scan.streamed


def _end(scan: Scanner, sink: CallSink, arguments: Arguments | None = None) -> Step[bool]:
    """The call's closer. `arguments`: they have to be closed as well."""
    space = yield from scan.space()
    size = yield from closing_tag(scan, _CALL_END, space)
    if not size:
        short = scan.stops_short(("</tool>",))
        if short and scan.cut:
            scan.take(scan.rest())
            return False
        sink.note_repair("missing_closer")
        scan.take(scan.rest() if short else 0)
    else:
        scan.take(space + size)
    if arguments is None:
        sink.end()
    else:
        arguments.end()
    return True


# --- tags -------------------------------------------------------------------------------------------------------------


def _named(scan: Scanner, name: str, ahead: int) -> Step[tuple[int, bool] | None]:
    """The offset after the opening tag `name`, and whether it closes itself; None where another stands, or none."""
    tag = yield from opening_tag(scan, ahead)
    return (ahead + tag.length, tag.empty) if tag is not None and tag.name.lower() == name else None


def _short(scan: Scanner, name: str, ahead: int) -> Step[tuple[str, int] | None]:
    """The text of the element `name` that is here, stripped, and the offset after it; None where none stands."""
    tag = yield from _named(scan, name, ahead)
    if tag is None or tag[1]:
        return None
    behind = yield from scan.find("<", tag[0], tag[0] + _MAX_NAME)
    if behind < 0:
        return None
    text = decode(scan.text[scan.pos + tag[0] : scan.pos + behind]).strip()
    size = yield from closing_tag(scan, (f"</{name}", f"</{name.upper()}"), behind)
    return (text, behind + size) if size else None


def _behind_argument(scan: Scanner, ahead: int) -> Step[Behind]:
    """What comes after an argument's closer."""
    space = yield from scan.space(ahead)
    if (yield from closing_tag(scan, _ARGUMENTS_END, space)):
        return Behind.END
    if (yield from closing_tag(scan, _CALL_END, space)) or (yield from scan.starts(_COMMENT, space)):
        return Behind.MORE
    if (yield from opening_tag(scan, space)) is not None:
        return Behind.MORE
    if scan.stops_short(_ARGUMENTS_END[:1], ahead):
        return Behind.CUT if scan.cut else Behind.END
    return Behind.NOTHING


def _behind_arguments(scan: Scanner, ahead: int) -> Step[Behind]:
    """What comes after the arguments' closer."""
    space = yield from scan.space(ahead)
    if (yield from closing_tag(scan, _CALL_END, space)):
        return Behind.END
    if scan.stops_short(_CALL_END[:1], ahead):
        return Behind.CUT if scan.cut else Behind.END
    return Behind.NOTHING


def _stands_whole(scan: Scanner, tag: OpeningTag, ahead: int, inside_of: str, *, alone: bool) -> Step[bool]:
    """Whether the argument whose opening tag ends here is closed before the one that it is in could be.

    alone   where neither closer is near: the tag begins a line
    """
    offset, limit = ahead, ahead + _MAX_QUOTED
    while (offset := (yield from scan.find("</", offset, limit))) >= 0:
        for name in (tag.name, inside_of):
            size = yield from closing_tag(scan, (f"</{name}",), offset)
            if size:
                behind = yield from _behind_argument(scan, offset + size)
                return name == tag.name and behind is not Behind.NOTHING
        offset += 2
    return alone


def _call_ends(scan: Scanner, ahead: int) -> Step[bool]:
    """Whether the closers of a call are here, and then another call or the end of the reply."""
    size = yield from closing_tag(scan, _ARGUMENTS_END, ahead)
    if not size:
        return False
    behind = yield from scan.space(ahead + size)
    size = yield from closing_tag(scan, _CALL_END, behind)
    behind = yield from scan.space(behind + size)
    if size and (yield from _named(scan, "tool", behind)) is not None:
        return True
    return size > 0 and scan.ended and not scan.cut and scan.rest() == behind


def _anything(scan: Scanner, ahead: int) -> Step[Behind]:  # noqa: ARG001
    """Whatever comes after the closer of a call that is given up."""
    yield from ()
    return Behind.END


# --- values -----------------------------------------------------------------------------------------------------------


def _inferred(text: str, *, infer: bool) -> str:
    """The JSON of a value without a schema: bool, null, int, float, else string (ADR-0019).

    Quotes force a string where the text would be something else without them.
    """
    trimmed = text.strip(SPACE)
    if infer and text == QUOTED_EMPTY:
        return text
    if not infer or trimmed == "None":
        return quote(text)
    if len(trimmed) > 2 and trimmed[0] == trimmed[-1] == '"' and _typed(trimmed[1:-1])[0] != '"':
        return quote(trimmed[1:-1])
    return _typed(text)


def _typed(text: str) -> str:
    trimmed = text.strip(SPACE)
    return (None if trimmed == "None" else fitting(trimmed, _TABLE)) or quote(text)


def _spelt(text: str, is_string: bool, place: SchemaPlace) -> str:
    """A value between its tags: CDATA where it has several lines or must be kept a string, else entities."""
    forced = place.types is None and is_string and _inferred(text, infer=place.tools.types_by_form) != quote(text)
    if (
        forced
        or (is_string and text == QUOTED_EMPTY)
        or (is_string and _SPECIAL.search(text) and ("\n" in text or "\r" in text))
    ):
        return cdata(text)
    return escape(text) if is_string else text
