"""Entities and CDATA: what each means, how they are written, and when a value is taken as escaped.

XML (`decode`, `XmlValue`) has five entities and character references, and CDATA in which nothing is one
(https://www.w3.org/TR/xml/#sec-predefined-ent). It is read so where the form is XML; a bare `&` stays everywhere.

All other forms hold values as they are: an entity is text, of a page or a pattern. Two things say that a value was
escaped. Its writer is known to escape (`Toolbox.escaped`): then a value is where nothing speaks against that, where it
has an entity, and neither a `<` nor a bare `&`. Or it is a program for a shell, has no bare `<`, `>` or `&`, and has
an entity where such a program can only have an operator (`has_operator`). The whole value is decoded or none of it
(`Unescaping`). Only the five entities and the few numbers that escapers write for quotes and line ends count there
(`ENTITIES`), and in attributes.
"""

import re
from collections.abc import Callable

from toolcalls.shapes.arguments import LINE_ENDS, Value
from toolcalls.text.scanner import Scanner, Search, Step
from toolcalls.values.toolbox import Toolbox

CDATA, CDATA_END = "<![CDATA[", "]]>"
_SPLIT = "]]]]><![CDATA[>"  # how `]]>` is written inside CDATA

ENTITIES = {
    "&amp;": "&",
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&apos;": "'",
    "&#34;": '"',
    "&#39;": "'",
    "&#x22;": '"',
    "&#x27;": "'",
    "&#9;": "\t",
    "&#10;": "\n",
    "&#13;": "\r",
}
_ENTITY = re.compile("|".join(map(re.escape, ENTITIES)))
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|#(?:([0-9]{1,8})|[xX]([0-9A-Fa-f]{1,6})));")
_HALF_REFERENCE = re.compile(r"&(?:#[xX]?[0-9A-Fa-f]{0,8}|[a-z]{0,4})\Z")
_LONGEST_HALF = 12
_LONGEST = max(map(len, ENTITIES))
_PREFIXES = frozenset(entity[:size] for entity in ENTITIES for size in range(1, len(entity)))

_BARE = re.compile(r"[<&]").search
_BARE_IN_SHELL = re.compile(r"[<>&]").search
_MARKS_IN_SHELL = re.compile(r"""[<>&'"#\\]""").search

IN_CDATA = re.compile(r"\]").search
IN_TEXT = re.compile(r"[<&]").search

# How much of a value may wait for the answer to "escaped or raw?". Past that it is raw.
_MAX_WAIT = 64 * 1024

SHELL = frozenset({"command", "cmd", "script", "c"})  # parameters that a shell runs, `c` as in `sh -c`
# What says whether a place of a program is quoted. A backslash takes what is after it along.
_QUOTES = re.compile(r"""\\.?|['"#\n]""", re.DOTALL)
_SIGNS = re.compile(
    r"""\\.?|['"#\n]|&(?:quot|apos|#34|#39|#x22|#x27);|(?P<tag>&lt;/?\w+/?&gt;)|(?P<operator>&[lg]t;|&amp;&amp;)""",
    re.DOTALL,
)


def decode(text: str) -> str:
    """XML's five entities and character references decoded once; every other `&` stays."""
    return _REFERENCE.sub(_decoded, text) if "&" in text else text


def _decoded(found: re.Match[str]) -> str:
    if not found[1] and not found[2]:
        return ENTITIES[found[0]]
    code = int(found[1]) if found[1] else int(found[2], 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else found[0]


def unescape(text: str) -> str:
    """Decode every entity once; everything else stays."""
    return _ENTITY.sub(lambda match: ENTITIES[match.group()], text) if "&" in text else text


def escape(text: str) -> str:
    """`text` as it may be between two tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_attribute(text: str) -> str:
    """`text` as it may be between double quotes in a tag."""
    written = escape(text).replace('"', "&quot;")
    return written.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def cdata(text: str) -> str:
    """`text` as CDATA; a `]]>` in it is split between two sections."""
    return f"{CDATA}{text.replace(CDATA_END, _SPLIT)}{CDATA_END}"


def take_section(scan: Scanner, put: Callable[[str], None], wake_on: Search | None) -> Step[bool]:
    """Take one CDATA section, which begins here, and `put` its text. False where the reply ends in it.

    wake_on   finds what must be looked at in text that is still to come
    """
    scan.take(len(CDATA))
    while True:
        text, pos = scan.text, scan.pos
        found = text.find(CDATA_END, pos)
        if found >= 0:
            put(scan.take(found - pos))
            scan.take(len(CDATA_END))
            return True
        kept = scan.half(CDATA_END)
        if len(text) - kept > pos:
            put(scan.take(len(text) - kept - pos))
        if scan.ended:
            scan.take(scan.rest())
            return False
        scan.wake_on = None if kept else wake_on
        yield
        scan.wake_on = None


def reads_as_escaped(text: str, key: str, tools: Toolbox) -> bool:
    """Whether a whole value of this parameter would be decoded."""
    if "&" not in text:
        return False
    left = _ENTITY.sub("", text)
    if tools.escaped:
        return _BARE(left) is None
    return tools.escaped is None and key in SHELL and _BARE_IN_SHELL(left) is None and has_operator(text)


class Quotes:
    """Where in a program for a shell a text ends: in quotes, in a comment."""

    def __init__(self) -> None:
        self._open = ""
        self._comment = False
        self.unsure = False  # a quote in what may be a comment
        self.escapes = False  # the next character is escaped

    def take(self, sign: str) -> None:
        """The next quote, escaped character, `#` or line end."""
        self.escapes = False
        if sign.startswith("\\"):
            self.escapes = len(sign) == 1 and self._open != "'"
        elif sign == "\n":
            self._comment = False
        elif sign == "#":
            self._comment = self._comment or not self._open
        elif self._comment:
            self.unsure = True
        elif not self._open:
            self._open = sign
        elif sign == self._open:
            self._open = ""

    def read(self, text: str) -> None:
        """The next text without entities."""
        at = 0
        if self.escapes and text:
            self.escapes, at = False, 1
        while (found := _QUOTES.search(text, at)) is not None:
            at = found.end()
            if self.single and found[0].startswith("\\"):
                at = found.start() + 1
            else:
                self.take(found[0])

    @property
    def single(self) -> bool:
        """Whether single quotes are open, between which a backslash escapes nothing."""
        return self._open == "'"

    @property
    def outside(self) -> bool:
        """Whether an operator may be here."""
        return not (self._open or self._comment or self.unsure)


def has_operator(text: str, quotes: Quotes | None = None) -> bool:
    """Whether an entity in a program stands where only an operator of the shell can be: outside quotes and comments.

    quotes   where the text begins

    `2&gt;/dev/null` and `a &amp;&amp; b` are such, `&lt;br&gt;` and a single `&amp;` are not.
    """
    quotes = quotes or Quotes()
    at = 1 if quotes.escapes else 0
    while (found := _SIGNS.search(text, at)) is not None:
        at = found.end()
        sign = found[0]
        if found["operator"]:
            if quotes.outside:
                return True
        elif not found["tag"]:
            sign = ENTITIES.get(sign, sign)
            if sign.startswith("\\") and quotes.single:
                at = found.start() + 1
            else:
                quotes.take(sign)
    return False


class Unescaping:
    """A `Value` in front of another that decodes entities by the rule above while the text still arrives.

    note      is told when the value was decoded
    program   it is one for a shell, and its writer is not known to escape

    Raw text goes through at once. From the first entity on, the text waits until something says that it is raw after
    all, or the value ends.
    """

    def __init__(self, value: Value, note: Callable[[], None], *, program: bool) -> None:
        self._value = value
        self._note = note
        self._quotes = Quotes() if program else None
        self._sign, self._undecided = (_BARE_IN_SHELL, _undecided_in_shell) if program else (_BARE, _undecided)
        self._raw = False
        self._held: list[str] = []
        self._half = ""  # half an entity, which what is held ends with
        self._size = 0

    def add(self, piece: str) -> None:
        if self._raw:
            self._value.add(piece)
            return
        if not self._held:
            found = self._sign(piece)
            if found is not None and found[0] != "&":
                self._give_up(piece)
                return
            before = piece if found is None else piece[: found.start()]
            if before:
                self._value.add(before)
                if self._quotes is not None:
                    self._quotes.read(before)
            piece = piece[len(before) :]
        if piece:
            self._wait(piece)

    @property
    def wake_on(self) -> Search | None:
        """As long as nothing is decided, other signs matter too."""
        if self._raw or self._value.wake_on is None:
            return self._value.wake_on
        return None if self._held or (self._quotes is not None and self._quotes.escapes) else self._undecided

    def end(self, *, literal: bool = False) -> None:
        text = "".join(self._held)
        if text and not self._half and (self._quotes is None or has_operator(text, self._quotes)):
            self._note()
            text = unescape(text)
        if text:
            self._value.add(text)
        self._value.end(literal=literal)

    def _wait(self, piece: str) -> None:
        text = self._half + piece
        cut = _half_entity(text)
        self._half = text[cut:]
        self._size += len(piece)
        if self._size > _MAX_WAIT or self._sign(_ENTITY.sub("", text[:cut])) is not None:
            self._give_up(piece)
        else:
            self._held.append(piece)

    def _give_up(self, piece: str) -> None:
        self._raw = True
        self._value.add("".join([*self._held, piece]))
        self._held.clear()


def escaped_value(value: Value, key: str, tools: Toolbox, note: Callable[[], None]) -> Value:
    """The value of a parameter between tags, in front of which entities are decoded where its writer may have escaped.

    note   is told when they were
    """
    if tools.escaped or (tools.escaped is None and key in SHELL):
        return Unescaping(value, note, program=not tools.escaped)
    return value


class Decoding:
    """A `Value` in front of another that decodes every entity, since all of its text was escaped."""

    wake_on = None

    def __init__(self, value: Value) -> None:
        self._value = value
        self._half = ""

    def add(self, piece: str) -> None:
        text = self._half + piece
        cut = _half_entity(text)
        text, self._half = text[:cut], text[cut:]
        if text:
            self._value.add(unescape(text))

    def end(self, *, literal: bool = False) -> None:
        if self._half:
            self._value.add(self._half)
        self._value.end(literal=literal)


def _half_entity(text: str) -> int:
    """Where half an entity begins that the text ends with; its length for none."""
    start = text.rfind("&", max(0, len(text) - _LONGEST))
    return start if start >= 0 and text[start:] in _PREFIXES else len(text)


def _undecided(piece: str) -> bool:
    """Whether a piece must be looked at while the value is free of entities and of raw signs."""
    return "&" in piece or "<" in piece or piece.endswith(LINE_ENDS)


def _undecided_in_shell(piece: str) -> bool:
    """The same of a program, in which it also matters what is quoted."""
    return _MARKS_IN_SHELL(piece) is not None or "\n" in piece or piece.endswith(LINE_ENDS)


class XmlValue:
    """A value between tags of XML, which goes to another as text; half an entity waits for its other half."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self._half = ""
        self._marked = False

    def text(self, piece: str) -> None:
        """The next piece outside of CDATA."""
        whole = self._half + piece
        half = _HALF_REFERENCE.search(whole, max(0, len(whole) - _LONGEST_HALF))
        self._half = half.group() if half else ""
        self._add(decode(whole[: len(whole) - len(self._half)]))

    def cdata(self, piece: str) -> None:
        """The next piece of CDATA."""
        self._flush()
        self._marked = True
        self._add(piece)

    def wake_on(self, marked: bool) -> Search | None:
        """What cannot stay as it is in what follows, inside CDATA or outside."""
        if self._half or self._value.wake_on is None:
            return None
        return IN_CDATA if marked else IN_TEXT

    def end(self) -> None:
        """The value is whole. If some of it was in CDATA, it is marked as text."""
        self._flush()
        self._value.end(literal=self._marked)

    def _flush(self) -> None:
        self._add(self._half)
        self._half = ""

    def _add(self, piece: str) -> None:
        if piece:
            self._value.add(piece)
