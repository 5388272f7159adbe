"""XML in arguments: the two readers of `shapes.tags.xml_trees` against each other, and what a long value costs.

Strategy: documents are made as trees and spelt as XML in the ways that XML has (entities, character references, CDATA,
split where it must be, attributes, blanks in tags, empty elements), so that what they mean is known. Both readers must
find it; only the white space that parts CDATA from a tag is layout to us. Then the tolerant reader alone is given what
is no XML.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.allocations import allocates_at_most
from support.growth import grows_with_its_input
from support.strategies import law
from toolcalls.events import CallPiece, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes.tags.entities import CDATA, CDATA_END
from toolcalls.shapes.tags.xml_trees import (
    MAX_DEPTH,
    Element,
    Section,
    raw_read,
    read,
    strict,
    text_of,
    tolerant,
)

_names = st.sampled_from(["a", "b", "item", "edit", "long-name", "x.1", "_y", "é"])
_letters = st.text(st.sampled_from("ab <>&\"'];\t\n é🙂x!-?/="), max_size=8)
_texts = _letters.map(lambda text: text.replace("\r", ""))
_trees = st.recursive(
    st.lists(_texts, max_size=1),
    lambda inner: st.lists(_texts | st.tuples(_names, inner), max_size=4),
    max_leaves=12,
)


@st.composite
def spelt(draw: st.DrawFn, parts: list[Any]) -> tuple[str, list[Any], bool]:
    """Parts as XML, the same parts with no two texts side by side, and whether one of these was in CDATA."""
    written: list[str] = []
    meant: list[Any] = []
    marked = False
    for part in parts:
        if not isinstance(part, str):
            name, inner = part
            source, inside, inner_marked = draw(spelt(inner))
            blank = draw(st.sampled_from(["", " ", "\n"]))
            attributes = draw(st.sampled_from(["", " k='v>'", ' k="a" l = "b"']))
            if source or draw(st.booleans()):
                written.append(f"<{name}{attributes}{blank}>{source}</{name}{blank}>")
            else:
                written.append(f"<{name}{attributes}{blank}/>")
            meant.append(Element(name, tuple(inside), inner_marked))
            continue
        if not part:
            continue
        if draw(st.booleans()) and part.strip():
            marked = True
            written.append("<![CDATA[" + part.replace("]]>", "]]]]><![CDATA[>") + "]]>")
        else:
            # White space beside CDATA could be layout, so it is spelt as what cannot be.
            written.append("".join(draw(st.sampled_from(SPELLINGS[char])) for char in part))
        if meant and isinstance(meant[-1], str):
            meant[-1] += part
        else:
            meant.append(part)
    return "".join(written), meant, marked


class _Spellings(dict[str, list[str]]):
    def __missing__(self, char: str) -> list[str]:
        named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
        ways = [f"&#{ord(char)};", f"&#x{ord(char):X};", *([named[char]] if char in named else [])]
        if char not in "&<> \t\n":
            ways.append(char)
        return ways


SPELLINGS = _Spellings()
_documents = _trees.flatmap(spelt)


def sections_of(source: str) -> list[Section]:
    """A text cut at its CDATA, as a dialect hands it over; one that never ends is text."""
    found: list[Section] = []
    at = 0
    while (start := source.find(CDATA, at)) >= 0 and (end := source.find(CDATA_END, start)) >= 0:
        found += [Section(False, source[at:start]), Section(True, source[start + len(CDATA) : end])]
        at = end + len(CDATA_END)
    return [*found, Section(False, source[at:])]


@law
@given(_documents)
def test_both_readers_find_what_was_meant(document: tuple[str, list[Any], bool]) -> None:
    source, parts, marked = document
    meant = Element("", tuple(parts), marked)
    sections = sections_of(source)
    assert strict(sections) == meant
    assert tolerant(sections) == meant
    assert read(sections) == meant


@law
@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "<b/>", " ", "x", "&lt;", "1"]), max_size=12))
def test_where_both_can_read_they_agree(pieces: list[str]) -> None:
    sections = sections_of("".join(pieces))
    found = strict(sections)
    if found is not None:
        assert found == tolerant(sections)


@law
@given(st.text(st.sampled_from("<>/ab!-[]&;?'\" \r\nCDAT\x00\ud800"), max_size=40))
def test_anything_can_be_read(source: str) -> None:
    tree = read(sections_of(source))
    assert tree is not None
    assert isinstance(text_of(sections_of(source)), str)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("a && b &lt; &nbsp;", ("a && b < &nbsp;",)),
        ("if a < b", ("if a < b",)),
        ("Vec<String> x", ("Vec<String> x",)),
        ("<a>1</a></b>", (Element("a", ("1",)), "</b>")),
        ("<a><b>1</a>", (Element("a", ("<b>1",)),)),
        ("<a>\x0b</a>", (Element("a", ("\x0b",)),)),
        ("<a>1\r\n</a>", (Element("a", ("1\r\n",)),)),
        ("<a><!-- c -->1</a>", (Element("a", ("<!-- c -->1",)),)),
        ("<a><!-- c --><b/></a>", (Element("a", (Element("b", ()),)),)),
        ("<a><!-- c </a>", (Element("a", ("<!-- c ",)),)),
        ("<a>\n<![CDATA[ </a> ]]>\n</a>", (Element("a", (" </a> ",), True),)),
        ("<a>x <![CDATA[y]]></a>", (Element("a", ("x y",), True),)),
        ("<a><b><![CDATA[1]]></a>", (Element("a", ("<b>1",), True),)),
        ("<![CDATA[never closed", ("<![CDATA[never closed",)),
        ("<!DOCTYPE x [<!ENTITY e 'v'>]>&e;", ("<!DOCTYPE x [<!ENTITY e 'v'>]>&e;",)),
        ("<?php echo 1 ?>", ("<?php echo 1 ?>",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_xml_is_read_all_the_same(source: str, parts: tuple[str | Element, ...]) -> None:
    tree = read(sections_of(source))
    assert tree is not None
    assert tree.parts == parts


def test_markup_in_what_the_schema_calls_text_is_text() -> None:
    def is_text(path: tuple[str, ...]) -> bool:
        return path[-1] == "s"

    for source in ("<e><s><b x='1'>&lt;</b></s></e>", "<e><s><b></s></e>"):
        tree = read(sections_of(source), is_text)
        inner = re.sub("</?[es]>", "", source).replace("&lt;", "<")
        assert tree == Element("", (Element("e", (Element("s", (inner,)),)),))


def test_a_dialect_that_decodes_nothing() -> None:
    tree = raw_read("<a>&lt;<![CDATA[1]]></a>&amp;", lambda path: not path)
    assert tree == Element("", (Element("a", ("&lt;<![CDATA[1]]>",)), "&amp;"))


@pytest.mark.parametrize("closed", [True, False])
def test_depth_is_bounded(closed: bool) -> None:
    for depth, closes in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False), (5000, False)):
        source = "<a>" * depth + ("</a>" * depth if closed else "")
        assert (read(sections_of(source)) is not None) == (closes or not closed)


@pytest.mark.parametrize(
    "repeated",
    ["<a>", "<a><b>", "</a>", "<!--", "<![CDATA[", "<a b='", "<a>1</a>", "<s>", "&", "&#", "<![CDATA[x]]>y", "<a/>"],
)
def test_reading_is_linear(repeated: str) -> None:
    def work(size: int) -> Callable[[], object]:
        sections = sections_of(repeated * (size // len(repeated)))
        return lambda: read(sections, lambda path: path[-1] == "s")

    grows_with_its_input(work, 40_000)


# --- a long value -----------------------------------------------------------------------------------------------------

TOOL = Tool("write", {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}})
HEAD = "<tool><tool_name>write</tool_name><arguments><path>a</path><content>"
TAIL = "</content></arguments></tool>"


def streamed(head: str, piece: str, count: int, tail: str) -> int:
    """Read `piece` so many times; returns how many characters of argument JSON came out, none of them late."""
    reader = Reader(CallPolicy(Route(), Request(tools=(TOOL,))))
    reader.feed(head)
    size = 0
    for _ in range(count):
        events = reader.feed(piece)
        now = sum(len(event.json) for event in events if isinstance(event, CallPiece))
        assert len(piece) - 4 <= now <= len(piece) + 4, "held back"
        size += now
    events = [*reader.feed(tail), *reader.finish(cut=False)]
    assert not any(isinstance(event, Text) for event in events)
    return size + sum(len(event.json) for event in events if isinstance(event, CallPiece))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("head", "piece", "tail"),
    [(f"{HEAD}<![CDATA[", "if (a<b) </content> {]}", f"]]>{TAIL}"), (HEAD, "plain text, and more of it ", TAIL)],
    ids=["CDATA", "plain"],
)
def test_ten_megabytes_pass_in_bounded_memory(head: str, piece: str, tail: str) -> None:
    count = 10_000_000 // 4096
    piece = (piece * 200)[:4096]
    streamed(head, piece, 2, tail)  # what is made once and kept

    def work() -> None:
        assert streamed(head, piece, count, tail) >= count * len(piece)

    allocates_at_most(lambda: work, peak=1_000_000)


def test_ten_megabytes_of_one_value_in_a_structure() -> None:
    text = "x]]y < z & " * 1_000_000
    tree = read([Section(False, "<a>"), Section(True, text), Section(False, "</a>")])
    assert tree == Element("", (Element("a", (text,), True),))
