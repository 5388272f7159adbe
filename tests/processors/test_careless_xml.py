"""Comments and CDATA (`processors/careless_xml.py`): as expressions find them, and in time that grows with the text."""

import html
import re
from collections.abc import Callable
from itertools import product

import pytest

from support.growth import grows_with_its_input
from toolcalls.processors.careless_xml import blanked, decoded, without_comments, without_marks

PARTS = ("<!--", "-->", "<![CDATA[", "]]>", "a", "&lt;", "<!", "-")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_EITHER = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)


def _decoded(text: str) -> str:
    parts = _CDATA.split(text)
    return "".join(part if number % 2 else html.unescape(part) for number, part in enumerate(parts))


@pytest.mark.parametrize("first", PARTS)
def test_what_is_hidden_is_what_an_expression_finds(first: str) -> None:
    for rest in product(("", *PARTS), repeat=4):
        text = first + "".join(rest)
        assert blanked(text) == _EITHER.sub(lambda found: "\0" * len(found[0]), text)
        assert without_comments(text) == _COMMENT.sub("", text)
        assert without_marks(text) == _CDATA.sub(r"\1", text)
        assert decoded(text) == _decoded(text)


@pytest.mark.parametrize("part", ["<!--", "<![CDATA[", "<!-- -->", "<![CDATA[]]>", "<!--<![CDATA[]]>", "-->", "&lt"])
@pytest.mark.parametrize("function", [blanked, without_comments, without_marks, decoded])
def test_the_work_grows_with_the_text(function: Callable[[str], str], part: str) -> None:
    grows_with_its_input(lambda size: lambda: function(part * size), 5000)
