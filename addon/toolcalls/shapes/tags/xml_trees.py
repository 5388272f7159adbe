"""XML that is in an argument, as a tree: read by lxml where it is well formed, else by a tolerant reader.

What a model writes is XML more or less: `&` and `<` are bare, control characters occur, tags stay open. So there are
two readers of the same text, and both give the same tree wherever both can read it. lxml is hardened (no entities but
XML's own, no DTD, no network) and is only asked where XML keeps every character: it would turn CRLF into LF and drop
comments. The tolerant reader takes a tag for a tag only if its closer is there too, in its parent; all other markup is
text. CDATA is never repaired: what is in it is text, to the first `]]>`.

Text comes as sections, marked (CDATA) or not, so that a long one need not be searched for its end twice. White space
that parts CDATA from a tag is layout. Where the schema says string, `is_text` says so, and markup in it is text too.
Both readers are linear and look no deeper than MAX_DEPTH; what is deeper is no tree.
"""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

from lxml import etree

from toolcalls.shapes.tags.entities import CDATA, cdata, decode
from toolcalls.text.scanner import SPACE

MAX_DEPTH = 64

_HUGE = 5_000_000  # characters; lxml refuses text nodes of 10 MB unless it is set to expect them
_MARK = "<?c?>"  # what lxml is given before CDATA, since it does not tell it from other text
_ATTRIBUTES = r"""[ \t\r\n](?:[^<>"']|"[^"<]*"|'[^'<]*')*+"""
_MARKUP = re.compile(rf"<(?:!--|(/?)([^\W\d][\w.:-]*+)({_ATTRIBUTES}|/)?>)")
_TOUCHES_MARKUP = ("\r", "<!", "<?")  # where lxml would not keep every character


class Section(NamedTuple):
    """A stretch of text; `marked`: it was in CDATA and is taken as it is."""

    marked: bool
    text: str


class Element(NamedTuple):
    """An element: its parts in order, decoded, no two texts side by side. `marked`: some of its own text was CDATA."""

    name: str
    parts: "tuple[str | Element, ...]"
    marked: bool = False

    @property
    def children(self) -> "list[Element]":
        """The elements directly inside it."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """Its own text, without that of its children."""
        return "".join(part for part in self.parts if isinstance(part, str))


class _Comment(str):
    """A comment: nothing between elements, text in a value that holds none."""

    __slots__ = ()


class _TooDeep(ValueError):
    """No tree that we read is that deep."""


# Whether the element that these names lead to, from the root's child down, holds text and no elements.
type IsText = Callable[[tuple[str, ...]], bool]


def text_of(sections: Iterable[Section]) -> str:
    """What the sections hold as text: CDATA as it is, entities decoded, markup as it stands."""
    return "".join(text if marked else decode(text) for marked, text in _without_layout(sections))


def read(sections: Iterable[Section], is_text: IsText = lambda path: False) -> Element | None:  # noqa: ARG005
    """The tree, under a root without a name; None where it is too deep."""
    kept = _without_layout(sections)
    try:
        tree = strict(kept)
        if tree is None or _holds_markup(tree, is_text, ()):
            tree = tolerant(kept, is_text)
    except _TooDeep:
        return None
    return tree


def raw_read(source: str, is_text: IsText) -> Element | None:
    """The tree of a text in which neither entities nor CDATA mean anything."""
    return read([Section(False, source.replace("&", "&amp;").replace(CDATA, "&lt;![CDATA["))], is_text)


def _without_layout(sections: Iterable[Section]) -> list[Section]:
    """The sections without the white space that parts CDATA from a tag, an end, or more CDATA; empty ones are gone."""
    whole = _merged(sections)
    apart = [section for section in whole if section.marked or len(whole) == 1 or section.text.strip(SPACE)]
    joined = _merged(apart)
    kept = []
    for number, (marked, text) in enumerate(joined):
        plain = text
        if not marked and number and plain.lstrip(SPACE)[:1] in ("<", ""):
            plain = plain.lstrip(SPACE)
        if not marked and number + 1 < len(joined) and plain.rstrip(SPACE)[-1:] in (">", ""):
            plain = plain.rstrip(SPACE)
        if plain or marked:
            kept.append(Section(marked, plain))
    return kept


def _merged(sections: Iterable[Section]) -> list[Section]:
    groups = groupby(sections, key=lambda section: section.marked)
    return [Section(marked, "".join(text for _, text in group)) for marked, group in groups]


# --- lxml -------------------------------------------------------------------------------------------------------------


def strict(sections: Iterable[Section]) -> Element | None:
    """The tree as lxml reads it; None where it is not well formed, or lxml would not keep every character of it."""
    pieces = ["<x>"]
    for marked, text in sections:
        if not marked and any(mark in text for mark in _TOUCHES_MARKUP):
            return None
        if marked and "\r" in text:
            return None
        pieces.append(f"{_MARK}{cdata(text)}" if marked else text)
    source = "".join((*pieces, "</x>"))
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        strip_cdata=False,
        huge_tree=len(source) > _HUGE,
    )
    try:
        root = etree.fromstring(source, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return _converted(root, "", 0)


def _converted(node: etree._Element, name: str, depth: int) -> Element | None:
    if depth > MAX_DEPTH:
        raise _TooDeep
    parts: list[str | Element] = [node.text or ""]
    marked = False
    for child in node:
        if isinstance(child, etree._ProcessingInstruction):
            marked = True
        else:
            tag = str(child.tag)
            inner = None if ":" in tag or tag.startswith("{") else _converted(child, tag, depth + 1)
            if inner is None:
                return None
            parts.append(inner)
        parts.append(child.tail or "")
    return Element(name, joined(parts), marked)


def _holds_markup(element: Element, is_text: IsText, path: tuple[str, ...]) -> bool:
    """Whether an element that is text by its schema has elements in it, so that its markup must be kept as written."""
    for child in element.children:
        inner = (*path, child.name)
        if child.children and (is_text(inner) or _holds_markup(child, is_text, inner)):
            return True
    return False


# --- tolerant ---------------------------------------------------------------------------------------------------------


def tolerant(sections: Iterable[Section], is_text: IsText = lambda path: False) -> Element:  # noqa: ARG005
    """The tree of anything. Raises ValueError where it is deeper than MAX_DEPTH."""
    tree = _Tolerant(is_text)
    for marked, text in sections:
        tree.add(marked, text)
    return Element("", joined(tree.parts), tree.marked)


class _Tolerant:
    """All parts so far, in one flat list; an element's are folded into it when its closer comes.

    An opening tag is in the list as its own text until then, so one that is never closed needs no undoing.
    """

    def __init__(self, is_text: IsText) -> None:
        self.parts: list[str | Element] = []
        self.marked = False
        self._is_text = is_text
        self._deep: list[int] = []  # how deep each part is
        self._open: list[tuple[str, int, bool]] = []  # name, place in `parts`, whether CDATA stood outside of it
        self._places: dict[str, list[int]] = {}  # name: where it is in `_open`
        self._text_until = ""  # the name of the element that holds only text

    def add(self, marked: bool, text: str) -> None:
        if marked:
            self.marked = True
            self._put(text)
            return
        at = looked = 0
        comments = True  # False after one that never ends: the tags in it count
        while (found := _MARKUP.search(text, looked)) is not None:
            looked = found.end()
            if found[2] is not None:
                at = looked if self._tag(found, at) else at
            elif comments and not self._text_until:
                end = text.find("-->", looked)
                comments = end >= 0
                if comments:
                    looked = end + 3
                    self._put(decode(text[at : found.start()]))
                    self._put(_Comment(text[found.start() : looked]))
                    at = looked
        self._put(decode(text[at:]))

    def _put(self, part: str | Element, deep: int = 0) -> None:
        self.parts.append(part)
        self._deep.append(deep)

    def _tag(self, found: re.Match[str], at: int) -> bool:
        """Take a tag with the text from `at` up to it; False where it is text."""
        closes, name, behind = found[1], found[2], found[3] or ""
        if closes:
            known = self._places.get(name)
            if not known or behind.strip(SPACE) or (self._text_until and name != self._text_until):
                return False
            self._put(decode(found.string[at : found.start()]))
            self._fold(known[-1])
            return True
        if self._text_until:
            return False
        self._put(decode(found.string[at : found.start()]))
        if behind.endswith("/"):
            self._put(Element(name, ()), 1)
            return True
        self._places.setdefault(name, []).append(len(self._open))
        self._open.append((name, len(self.parts), self.marked))
        self._put(decode(found[0]))
        self.marked = False
        if self._is_text(tuple(name for name, _, _ in self._open[-MAX_DEPTH - 1 :])):
            self._text_until = name
        return True

    def _fold(self, place: int) -> None:
        name, start, outside = self._open[place]
        for other, _, before in self._open[place + 1 :]:  # never closed: text, and its CDATA is this element's
            self._places[other].pop()
            self.marked = self.marked or before
        self._places[name].pop()
        del self._open[place:]
        deep = 1 + max(self._deep[start:], default=0)
        if deep > MAX_DEPTH:
            raise _TooDeep
        element = Element(name, joined(self.parts[start + 1 :]), self.marked)
        del self.parts[start:], self._deep[start:]
        self._put(element, deep)
        self.marked = outside
        self._text_until = ""


def joined(parts: list[str | Element]) -> tuple[str | Element, ...]:
    """Texts side by side as one, empty ones gone; comments gone where there are elements."""
    if not any(isinstance(part, Element) for part in parts):
        text = "".join(part for part in parts if isinstance(part, str))
        return (text,) if text else ()
    found: list[str | Element] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part, str)):
        if not is_text:
            found += run
        elif text := "".join(str(part) for part in run if not isinstance(part, _Comment)):
            found.append(text)
    return tuple(found)
