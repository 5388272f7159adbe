"""What closes a block, given as literals, where white space may be in a closing tag: `< / tool_call >`."""

from functools import lru_cache

from toolcalls.shapes import CallSink
from toolcalls.text.scanner import Scanner, Step

_SLASH = "</"


@lru_cache(maxsize=1024)
def _tags(closers: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Those of `closers` that are closing tags: what stands up to the slash, each with the names after it."""
    names: dict[str, list[str]] = {}
    for closer in closers:
        before, slash, name = closer.rpartition(_SLASH)
        if slash and name.endswith(">"):
            names.setdefault(before + slash, []).append(name[:-1])
    return tuple((start, tuple(behind)) for start, behind in names.items())


def closer_among(scan: Scanner, closers: tuple[str, ...], ahead: int = 0) -> Step[tuple[str | None, int]]:
    """The longest of `closers` that stands `ahead` characters from here, and its length; (None, 0) for none."""
    literal = yield from scan.among(closers, ahead)
    if literal is not None:
        return literal, len(literal)
    for start, names in _tags(closers):
        if not (yield from scan.starts(start[:-1], ahead)):
            continue
        slash = yield from scan.space(ahead + len(start) - 1)
        if not (yield from scan.starts("/", slash)):
            continue
        at = yield from scan.space(slash + 1)
        name = yield from scan.among(names, at)
        if name is None:
            continue
        end = yield from scan.space(at + len(name))
        if (yield from scan.starts(">", end)):
            return f"{start}{name}>", end + 1 - ahead
    return None, 0


def accept(scan: Scanner, *literals: str) -> Step[bool]:
    """Take one of `literals` after white space; False, and nothing taken, where something else stands.

    White space may be in it where it is a closing tag.
    """
    space = yield from scan.space()
    found, length = yield from closer_among(scan, literals, space)
    if found is None:
        return False
    scan.take(space + length)
    return True


def section_end(scan: Scanner, sink: CallSink, closers: tuple[str, ...]) -> Step[bool]:
    """Take what closes a section of calls, and may be missing where the reply ends. False where something else is."""
    space = yield from scan.space()
    _, length = yield from closer_among(scan, closers, space)
    if not length and not scan.stops_short(closers):
        return False
    if not length:
        sink.note_repair("missing_closer")
    scan.take(space + length if length else scan.rest())
    return True
