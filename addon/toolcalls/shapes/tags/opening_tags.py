"""Tags of the form `<function=N>`, as they come: with blanks in them, quotes around names, a bracket missing.

Nothing is consumed here, and how far a look-ahead goes is bounded.
"""

import re
from dataclasses import dataclass

from toolcalls.shapes.tags.tags import Parts, Tags
from toolcalls.text.scanner import Scanner, Step

FUNCTION: Parts = ("<", "function", "=")
PARAMETER: Parts = ("<", "parameter", "=")
FUNCTION_END: Parts = ("<", "/", "function", ">")
PARAMETER_END: Parts = ("<", "/", "parameter", ">")

FUNCTION_TAG = Tags(function=[FUNCTION])
PARAMETER_TAG = Tags(parameter=[PARAMETER])
_LOST_PARAMETER = Tags(parameter=[PARAMETER[1:]])
_FOLLOWING = Tags(closer=[FUNCTION_END], parameter=[PARAMETER])

_BLANKS = " \t"
_MAX_NAME = 216  # characters between the equals sign and the bracket
_NAME_END = re.compile(r"[<>=\r\n]")
_NAME = re.compile(r"""[^<>="'\r\n]{1,200}""")
_WORD = re.compile(r"[\w.:-]+")
# Nearly every tag is like this.
_PLAIN_FUNCTION = re.compile(r"<function=([\w.:-]+)>")
_PLAIN_PARAMETER = re.compile(r"<parameter=([\w.:-]+)>")


@dataclass(frozen=True)
class Tag:
    """An opening tag: the name in it, its length, whether its `>` is there, whether it closes itself, whether it is
    there twice, and whether its `<` is there.
    """

    name: str
    length: int
    closed: bool = True
    empty: bool = False
    doubled: bool = False
    opened: bool = True


def writable(name: str) -> bool:
    """Whether a tag can hold this name."""
    return _NAME.fullmatch(name) is not None and name == name.strip() and not name.endswith("/")


def function_tag(scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
    """A function's opening tag `ahead` characters from here, None where none stands.

    Without its bracket it is one where the function's closer or a parameter follows the name.
    """
    found = _plain(scan, _PLAIN_FUNCTION, ahead) or (yield from _opening(scan, FUNCTION_TAG, ahead))
    if found is None:
        return None
    name = found[0].removesuffix("/").rstrip(_BLANKS)
    if found[2] == ">":
        return Tag(name, found[1] + 1, empty=name != found[0]) if name else None
    if found[2] == "=":
        return None
    space = yield from scan.space(ahead + found[1])
    following, _ = yield from _FOLLOWING.at(scan, space)
    return Tag(found[0], found[1], closed=False) if following else None


def parameter_tag(scan: Scanner, ahead: int = 0) -> Step[Tag | None]:
    """A parameter's opening tag `ahead` characters from here, None where none stands.

    In place of its bracket there may be a second equals sign, or after one word the end of the line. The bracket that
    it begins with may be lost.
    """
    if (lost := (yield from _opening(scan, _LOST_PARAMETER, ahead))) is not None:
        return Tag(lost[0], lost[1] + 1, opened=False) if lost[2] == ">" else None
    found = _plain(scan, _PLAIN_PARAMETER, ahead) or (yield from _opening(scan, PARAMETER_TAG, ahead))
    if found is None or found[2] == ">":
        return found and Tag(found[0], found[1] + 1)
    if found[2] == "=":
        return Tag(found[0], found[1] + 1, closed=False)
    return Tag(found[0], found[1], closed=False) if found[2] in "\r\n" and _WORD.fullmatch(found[0]) else None


def _plain(scan: Scanner, tag: re.Pattern[str], ahead: int) -> tuple[str, int, str] | None:
    at = scan.pos + ahead
    found = tag.match(scan.text, at, at + _MAX_NAME)
    return (found[1], found.end() - 1 - at, ">") if found else None


def _opening(scan: Scanner, tags: Tags, ahead: int) -> Step[tuple[str, int, str] | None]:
    """The name in a tag, its length up to there, and the character that ends the name."""
    _, length = yield from tags.at(scan, ahead)
    if not length:
        return None
    while True:
        text, at = scan.text, scan.pos + ahead + length
        found = _NAME_END.search(text, at, at + _MAX_NAME)
        if found is not None:
            break
        if scan.ended or len(text) - at >= _MAX_NAME:
            return None
        yield
    name = _unquoted(text[at : found.start()].strip(_BLANKS))
    return (name, found.start() - scan.pos - ahead, found.group()) if name else None


def _unquoted(written: str) -> str:
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "\"'"
    return written[1:-1].strip() if quoted else written
