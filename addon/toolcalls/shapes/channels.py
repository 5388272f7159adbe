"""Text in a frame of marks, reported as it comes: what the dialects share whose messages have channels."""

import re
from collections.abc import Callable
from functools import lru_cache

from toolcalls.text.scanner import Scanner, Step, beginnings


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


@lru_cache(maxsize=64)
def _any_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
