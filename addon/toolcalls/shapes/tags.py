"""Opening tags with attributes, as models write them: `<invoke name="N">`, with other attributes, in any order, with
double quotes, single quotes or none. A tag is looked at whole before anything of it is consumed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from toolcalls.scanner import Scanner, Step
from toolcalls.shapes.entities import unescape

_MAX_TAG = 1024  # characters of one tag with its attributes
_ATTRIBUTE = re.compile(r"""\s+([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>/]+)""")
_TAG_END = re.compile(r"\s*(?P<empty>/?)>")
# What may stand at the end of a tag that is still arriving, behind its whole attributes.
_TAG_PART = re.compile(r"""/?|\s+(?:/|[\w:.-]+\s*(?:=\s*(?:"[^"]*"?|'[^']*'?|[^\s"'<>/]*))?)?""")


@dataclass(frozen=True)
class Tag:
    """An opening tag: what its name attribute says, how long it is, whether it closes itself, its attributes as written
    but for their quotes.
    """

    name: str
    length: int
    empty: bool
    attributes: Mapping[str, str]


def named_tag(scan: Scanner, literals: tuple[str, ...], ahead: int = 0) -> Step[Tag | None]:
    """The tag with a name attribute that begins with one of `literals`, `ahead` characters from here.

    None where none stands or can come of what stands there.
    """
    literal = yield from scan.among(literals, ahead)
    if literal is None:
        return None
    attributes: dict[str, str] = {}
    offset = ahead + len(literal)
    while True:
        text, at, limit = scan.text, scan.pos + offset, scan.pos + ahead + _MAX_TAG
        attribute = _ATTRIBUTE.match(text, at, limit)
        if attribute is not None and attribute.end() < min(len(text), limit):
            attributes[attribute[1]] = _unquoted(attribute[2])
            offset = attribute.end() - scan.pos
            continue
        end = _TAG_END.match(text, at, limit)
        if end is not None:
            name = unescape(attributes.get("name", "")).strip()
            return Tag(name, end.end() - scan.pos - ahead, bool(end["empty"]), attributes) if name else None
        if scan.ended or len(text) >= limit or _TAG_PART.fullmatch(text, at) is None:
            return None
        yield


def _unquoted(written: str) -> str:
    return written[1:-1] if written[:1] in "\"'" else written
