"""Raw argument values: text without escapes that ends at a tag, read while it arrives.

A dialect without escapes cannot say where a value ends but by its closer, and the value may hold that closer too. So a
shape reads on from tag to tag (`up_to_tag`) and decides at each whether the grammar can go on behind it. One line end
on either side of a value is layout and not its own (`line_end`, and what `up_to_tag` leaves unread before a tag).
"""

from toolcalls.shapes.arguments import Value
from toolcalls.text.scanner import Scanner, Step


def line_end(scan: Scanner) -> Step[int]:
    """The length of the line end that stands here, 0 for none."""
    found = yield from scan.among(("\r\n", "\n"))
    return len(found) if found else 0


def up_to_tag(scan: Scanner, value: Value) -> Step[int | None]:
    """Give `value` the text up to the next `<`, all but a line end right before it; None when the text has ended.

    Returns the length of that line end, which is unread: whether it is the value's is known when the tag is.
    """
    while True:
        text, pos = scan.text, scan.pos
        found = text.find("<", pos)
        stop = len(text) if found < 0 else found
        kept = _trailing_line_end(text, pos, stop)
        if found < 0:
            kept = 0 if scan.ended else kept or int(text.endswith("\r", pos))  # half a CRLF, perhaps
        if stop - kept > pos:
            value.add(scan.take(stop - kept - pos))
        if found >= 0:
            return kept
        if scan.ended:
            return None
        scan.wake_on = value.wake_on if scan.pos == len(scan.text) else None
        yield
        scan.wake_on = None


def delimited(text: str) -> str:
    """One line end on either side is not the value's own when it is read, so a value that has one gets another."""
    head = "\n" if text[:1] in ("\n", "\r") else ""
    tail = "\n" if text[-1:] in ("\n", "\r") else ""
    return f"{head}{text}{tail}" if text else text


def _trailing_line_end(text: str, start: int, stop: int) -> int:
    if stop == start or text[stop - 1] != "\n":
        return 0
    return 2 if text.endswith("\r\n", start, stop) else 1
