"""Entities and CDATA: what each means, how they are written, and when a value is taken as escaped.

XML (`decode`, `XmlValue`) has five entities and character references, and CDATA in which nothing is one
(https://www.w3.org/TR/xml/#sec-predefined-ent). It is read so where the form is XML; a bare `&` stays everywhere.

All other forms hold values as they are. Models write them raw as a rule, escaped now and then, so `Unescaping` takes a
value as escaped only when nothing in it speaks against that: it holds an entity, and neither a `<` nor a bare `&`.
Anything else is left as it stands, so a file that contains `&lt;` next to a tag survives. Only the five entities and
the few numbers that escapers write for quotes and line ends count there (`ENTITIES`), and in attributes.
"""

import re
from collections.abc import Callable

from toolcalls.shapes.arguments import LINE_ENDS, Value
from toolcalls.text.scanner import Scanner, Search, Step

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

IN_CDATA = re.compile(r"\]").search
IN_TEXT = re.compile(r"[<&]").search

# How much of one value may wait for the answer to "escaped or raw?". Past it, it is escaped: everything so far was.
_MAX_WAIT = 64 * 1024


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


def reads_as_escaped(text: str) -> bool:
    """Whether a whole value would be decoded: it has an entity, no `<` and no bare `&`."""
    return "&" in text and "<" not in text and "&" not in _ENTITY.sub("", text)


class Unescaping:
    """A `Value` in front of another that decodes entities by the rule above while the text still arrives.

    Raw text goes through at once. From the first entity on, the text waits until a `<` or a bare `&` says that it is
    raw after all, or the value ends.
    """

    def __init__(self, value: Value) -> None:
        self._value = value
        self._raw = False
        self._held = ""
        self._waiting: list[str] = []
        self._waited = 0

    def add(self, piece: str) -> None:
        if self._raw:
            self._value.add(piece)
            return
        if not self._held and not self._waiting and "&" not in piece:
            self._raw = "<" in piece
            self._value.add(piece)
            return
        self._wait(piece)

    @property
    def wake_on(self) -> Search | None:
        """As long as nothing is decided, an `&` matters too."""
        if self._raw or self._value.wake_on is None:
            return self._value.wake_on
        return None if self._held or self._waiting else _undecided

    def end(self, *, literal: bool = False) -> None:
        if self._held:  # an entity that never ended: a bare `&`
            self._give_up("")
        if self._waiting:
            self._value.add(unescape("".join(self._waiting)))
            self._waiting.clear()
        self._value.end(literal=literal)

    def _wait(self, piece: str) -> None:
        # `_waiting` holds text known to be free of `<` and bare `&`; `_held` the tail that may be half an entity.
        text = self._held + piece
        self._held = ""
        first = text.find("&") if not self._waiting else 0
        if first > 0 and "<" not in text[:first]:
            self._value.add(text[:first])
            text = text[first:]
        cut = _half_entity(text)
        text, self._held = text[:cut], text[cut:]
        stop = _first_raw(text)
        room = _MAX_WAIT - self._waited
        if stop is not None and stop < room:
            self._give_up(text)
            return
        self._waiting.append(text)
        self._waited += len(text)
        if self._waited >= _MAX_WAIT:
            # Everything up to the limit was escaped: decode that, and take the rest as it stands.
            whole = "".join(self._waiting)
            spill = self._waited - _MAX_WAIT
            self._value.add(unescape(whole[: len(whole) - spill]))
            self._waiting.clear()
            self._raw = True
            rest = whole[len(whole) - spill :] + self._held
            self._held = ""
            if rest:
                self._value.add(rest)

    def _give_up(self, text: str) -> None:
        self._raw = True
        self._value.add("".join(self._waiting) + text + self._held)
        self._waiting.clear()
        self._held = ""


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


def _first_raw(text: str) -> int | None:
    """The offset of the first `<` or bare `&`, None when every `&` begins an entity."""
    for match in re.finditer(r"<|&", text):
        if match.group() == "<" or not _ENTITY.match(text, match.start()):
            return match.start()
    return None


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
