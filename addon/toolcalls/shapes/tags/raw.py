"""Raw argument values: text without escapes that ends at a tag, read while it arrives.

A dialect without escapes cannot say where a value ends but by its closer, and the value may hold that closer too. So a
shape reads on from tag to tag (`up_to_tag`) and decides at each whether the grammar can go on after it.

In most forms a value is on lines of its own or on the line of its tags. In the first case, one line end after the
opening tag (`line_end`) and one before the closing tag (what `up_to_tag` leaves unread) are layout. In the second, all
line ends are the value's.
"""

import re
from functools import lru_cache

from toolcalls.shapes.arguments import Value
from toolcalls.text.scanner import Scanner, Search, Step


def line_end(scan: Scanner) -> Step[int]:
    """The length of the line end that is here, 0 for none."""
    found = yield from scan.among(("\r\n", "\n"))
    return len(found) if found else 0


@lru_cache(maxsize=64)
def _any_of(marks: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(marks)}]")


def _find(text: str, marks: str, start: int) -> int:
    if len(marks) == 1:
        return text.find(marks, start)
    found = _any_of(marks).search(text, start)
    return -1 if found is None else found.start()


@lru_cache(maxsize=64)
def _wake_on(wakes: Search | None, marks: str) -> Search | None:
    """What finds all that must be looked at in a piece of a value: what the value asks for, and any of these marks."""
    if wakes is None or len(marks) == 1:
        return wakes
    found = _any_of(marks).search
    return lambda piece: wakes(piece) or found(piece)


def find_mark(scan: Scanner, marks: str, ahead: int, limit: int) -> Step[int]:
    """The offset of the first of `marks` from `ahead` on, before `limit`; -1 for none."""
    if len(marks) == 1:
        return (yield from scan.find(marks, ahead, limit))
    found = yield from scan.search(_any_of(marks), ahead, limit, 0)
    return -1 if found is None else found.start() - scan.pos


def up_to_tag(scan: Scanner, value: Value, marks: str = "<") -> Step[int | None]:
    """Give `value` the text up to the next of `marks`, all but a line end right before it; None when it has ended.

    Returns the length of that line end, which is unread: whether it is the value's is known when the tag is.
    """
    while True:
        text, pos = scan.text, scan.pos
        found = _find(text, marks, pos)
        stop = len(text) if found < 0 else found
        kept = trailing_line_end(text, pos, stop)
        if found < 0:
            kept = 0 if scan.ended else kept or int(text.endswith("\r", pos))  # half a CRLF, perhaps
        if stop - kept > pos:
            value.add(scan.take(stop - kept - pos))
        if found >= 0:
            return kept
        if scan.ended:
            return None
        scan.wake_on = _wake_on(value.wake_on, marks) if scan.pos == len(scan.text) else None
        yield
        scan.wake_on = None


def delimited(text: str) -> str:
    """A value on the line of its tags; on lines of its own where it begins with a line end, which would be layout."""
    return on_own_lines(text) if text.startswith(("\n", "\r\n")) else text


def on_own_lines(text: str) -> str:
    """A value on lines of its own. A carriage return at its end stays its own before CRLF."""
    return f"\n{text}\r\n" if text.endswith("\r") else f"\n{text}\n"


def trailing_line_end(text: str, start: int, stop: int) -> int:
    """The length of the line end that `text[start:stop]` ends with, 0 for none."""
    if stop == start or text[stop - 1] != "\n":
        return 0
    return 2 if text.endswith("\r\n", start, stop) else 1


def undelimited(text: str) -> str:
    """The text without the line ends around it where it is on lines of its own."""
    start = 2 if text.startswith("\r\n") else 1 if text.startswith("\n") else 0
    if not start:
        return text
    stop = 2 if text.endswith("\r\n") else 1 if text.endswith("\n") else 0
    return text[start : max(start, len(text) - stop)]
