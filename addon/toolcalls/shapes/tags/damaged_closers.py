"""A value whose closer may have lost its brackets or its slash, so that a pattern finds it and not a tag.

Nothing in such text is a tag for sure, so the value is kept until its closer is there, and the caller says whether the
call goes on behind it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from toolcalls.shapes import CallSink
from toolcalls.text.scanner import Scanner, Step


class Closed(NamedTuple):
    """A value's text, and the closer that ended it. Both have been taken."""

    text: str
    closer: str


def closed_value(
    scan: Scanner, sink: CallSink, closer: re.Pattern[str], longest: int, goes_on: Callable[[str], Step[bool]]
) -> Step[Closed | None]:
    """The text up to the first closer behind which the call goes on; None where the reply ends before one.

    longest   characters that a closer has at the most
    goes_on   says so of a closer that is here
    """
    kept: list[str] = []
    while True:
        found = closer.search(scan.text, scan.pos)
        if found is not None:
            kept.append(scan.take(found.start() - scan.pos))
            if (yield from goes_on(found.group())):
                scan.take(len(found.group()))
                return Closed("".join(kept), found.group())
            kept.append(scan.take(len(found.group())))
            continue
        size = scan.rest() if scan.ended else max(0, scan.rest() - longest)
        wanted = sink.collect(size)
        piece = scan.take(size)
        if wanted:
            kept.append(piece)
        if scan.ended:
            return None
        yield
