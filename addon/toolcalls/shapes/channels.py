"""Text in a frame of marks, reported as it comes: what the dialects share whose messages have channels."""

import re
from collections.abc import Callable
from functools import lru_cache

from toolcalls.text.scanner import Scanner, Step, beginnings

MOST_AHEAD = 64 * 1024  # characters that are looked over for the mark that says what a part was
_LONGEST_MARK = 64  # characters of any mark that is looked for so


def take_up_to(scan: Scanner, marks: tuple[str, ...], report: Callable[[], None]) -> Step[str | None]:
    """Consume the text up to the next of `marks`, and report each part as soon as it cannot begin a mark.

    report   says what the text is that was consumed last (`CallSink.mark_text`, `CallSink.mark_reasoning`)

    Returns the mark, which is unread; None at the end of the text, all of which is consumed then.
    """
    pattern = _any_of(marks)
    prefixes, longest = beginnings(marks)
    while True:
        text, start = scan.text, scan.pos
        found = pattern.search(text, start)
        stop = len(text) if found is None else found.start()
        if found is None and not scan.ended:
            sizes = range(min(longest - 1, stop - start), 0, -1)
            stop -= next((size for size in sizes if text[stop - size :] in prefixes), 0)
        if stop > start:
            scan.take(stop - start)
            report()
        if found is not None:
            return found.group()
        if scan.ended:
            return None
        yield


def ends_first(scan: Scanner, ending: re.Pattern[str], other: re.Pattern[str]) -> Step[bool]:
    """Whether a mark that `ending` finds comes before any that `other` finds, after this place.

    So it is, too, where the text breaks off before either, and where MOST_AHEAD characters hold neither.
    """
    seen = 0
    while True:
        start, stop = scan.pos + seen, scan.pos + MOST_AHEAD
        end, rest = ending.search(scan.text, start, stop), other.search(scan.text, start, stop)
        if end is not None or rest is not None:
            return end is not None and (rest is None or end.start() < rest.start())
        if scan.rest() >= MOST_AHEAD:
            return True
        if scan.ended:
            return scan.cut
        seen = max(seen, scan.rest() - _LONGEST_MARK)
        yield


@lru_cache(maxsize=64)
def _any_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
