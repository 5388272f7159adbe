"""Tags of the form `<function=N>`, as they come: with blanks between their parts, quotes around names, parts missing.

Engines tolerate `< parameter = K >` and `< / parameter >`, so a tag is given as its parts, between which a few blanks
may stand. Nothing is consumed here, and how far a look-ahead goes is bounded.
"""

import re
from dataclasses import dataclass

from toolcalls.scanner import Scanner, Step

# A tag in the parts between which blanks may stand.
type Parts = tuple[str, ...]

FUNCTION: Parts = ("<", "function", "=")
PARAMETER: Parts = ("<", "parameter", "=")
FUNCTION_END: Parts = ("<", "/", "function", ">")
PARAMETER_END: Parts = ("<", "/", "parameter", ">")

_BLANKS = " \t"
_MAX_BLANKS = 8  # at one place inside a tag
_MAX_NAME = 200
_NAME_END = re.compile(r"[<>=\r\n]")
_NAME = re.compile(r"""[^<>="'\r\n]+""")

_ARRIVING = -1  # the text ends inside the tag


@dataclass(frozen=True)
class Tag:
    """An opening tag: the name in it, its length, and whether its `>` is there."""

    name: str
    length: int
    whole: bool = True


def writable(name: str) -> bool:
    """Whether a tag can hold this name."""
    return _NAME.fullmatch(name) is not None and len(name) <= _MAX_NAME and name == name.strip()


def _match(text: str, at: int, parts: Parts) -> int | None:
    """The offset behind a tag that stands at `at`; None for no such tag, `_ARRIVING` where the text ends inside it."""
    for number, part in enumerate(parts):
        limit = at + _MAX_BLANKS if number else at
        while at < limit and text[at : at + 1] in (" ", "\t"):
            at += 1
        if not text.startswith(part, at):
            return _ARRIVING if part.startswith(text[at : at + len(part)]) and len(text) - at < len(part) else None
        at += len(part)
    return at


def among_tags(scan: Scanner, tags: tuple[Parts, ...], ahead: int = 0) -> Step[tuple[Parts | None, int]]:
    """Which of `tags` stands `ahead` characters from here, and its length; (None, 0) for none."""
    while True:
        arriving = False
        for parts in tags:
            end = _match(scan.text, scan.pos + ahead, parts)
            if end == _ARRIVING:
                arriving = True
            elif end is not None:
                return parts, end - scan.pos - ahead
        if scan.ended or not arriving:
            return None, 0
        yield


def opening_tag(scan: Scanner, parts: Parts, ahead: int = 0) -> Step[Tag | None]:
    """The function's or parameter's opening tag `ahead` characters from here, None where none stands."""
    _, length = yield from among_tags(scan, (parts,), ahead)
    if not length:
        return None
    while True:
        text, at = scan.text, scan.pos + ahead + length
        found = _NAME_END.search(text, at, at + _MAX_NAME + 2 * _MAX_BLANKS)
        if found is not None:
            break
        if scan.ended or len(text) - at >= _MAX_NAME + 2 * _MAX_BLANKS:
            return None
        yield
    name = _unquoted(text[at : found.start()].strip(_BLANKS))
    size = found.start() - scan.pos - ahead
    if not name:
        return None
    if found.group() == ">":
        return Tag(name, size + 1)
    if found.group() == "=":
        return Tag(name, size + 1, whole=False) if parts is PARAMETER else None
    if parts is PARAMETER:
        return None
    space = yield from scan.space(ahead + size)
    behind, _ = yield from among_tags(scan, (FUNCTION_END, PARAMETER), space)
    return Tag(name, size, whole=False) if behind is not None else None


def _unquoted(written: str) -> str:
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "\"'"
    return written[1:-1].strip() if quoted else written
