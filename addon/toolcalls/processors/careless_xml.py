"""Comments and CDATA in a text, as readers of XML have them. One that never ends is none.

An expression would look for the end of each of them again and again; here the work grows with the text.
"""

import html
from collections.abc import Iterator

_CDATA = "<![CDATA["
_COMMENT = "<!--"
_ENDS = {_CDATA: "]]>", _COMMENT: "-->"}


def blanked(text: str) -> str:
    """The text with comments and CDATA replaced by as many characters in which nothing is found."""
    parts: list[str] = []
    at = 0
    for start, end, _ in _sections(text, _COMMENT, _CDATA):
        parts += [text[at:start], "\0" * (end - start)]
        at = end
    return "".join([*parts, text[at:]]) if at else text


def without_comments(text: str) -> str:
    return "".join(part for part, _ in _parts(text, _COMMENT, keep=False))


def without_marks(text: str) -> str:
    """The text without the marks around CDATA."""
    return "".join(part for part, _ in _parts(text, _CDATA, keep=True))


def decoded(text: str) -> str:
    """A value as XML has it: CDATA as it is, entities outside of it decoded."""
    return "".join(part if inside else html.unescape(part) for part, inside in _parts(text, _CDATA, keep=True))


def _parts(text: str, opener: str, *, keep: bool) -> Iterator[tuple[str, bool]]:
    """A text in parts, and whether each is inside of a section of this kind: these are kept or left out."""
    at = 0
    for start, end, _ in _sections(text, opener):
        yield text[at:start], False
        if keep:
            yield text[start + len(opener) : end - len(_ENDS[opener])], True
        at = end
    yield text[at:], False


def _sections(text: str, *openers: str) -> Iterator[tuple[int, int, str]]:
    """Where each section begins and ends, and what opens it."""
    begun = {opener: text.find(opener) for opener in openers}
    while found := [(place, opener) for opener, place in begun.items() if place >= 0]:
        start, opener = min(found)
        end = text.find(_ENDS[opener], start + len(opener))
        if end < 0:
            begun[opener] = -1  # nor does any later one end
            continue
        end += len(_ENDS[opener])
        yield start, end, opener
        begun = {one: text.find(one, end) if 0 <= place < end else place for one, place in begun.items()}
