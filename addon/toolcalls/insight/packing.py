"""What a report's file holds for its script: a row for each exchange, and the sessions that the page has no room for.

Packed is deflated and in base64: a session's page shrinks to a tenth. The first sessions are in the file as they are,
so that a report of a day can be read without a script.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence

from toolcalls.insight.exchange_rows import as_json, row_of
from toolcalls.insight.sessions import Session

_OPEN = 300_000  # characters of sessions that are in the page as they are
_PART = 400_000  # of those that are packed together


def packed(text: str) -> str:
    """Deflated (RFC 1951, without a head), in base64."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = deflate.compress(text.encode("utf-8", "backslashreplace")) + deflate.flush()
    return b64encode(data).decode()


def rows(sessions: Sequence[Session]) -> str:
    """The rows of all exchanges, the latest session first, each with its place in the page."""
    found = [
        row_of(turn, f"s{number}-t{place}", session.title)
        for number, session in enumerate(sessions, 1)
        for place, turn in enumerate(session.turns, 1)
    ]
    return f'<template id="rows">{packed(as_json(found))}</template>'


def sections(made: Iterable[str]) -> Iterator[str]:
    """The sections of sessions, numbered from 1: the first ones as they are, the others packed."""
    size, number, first, waiting = 0, 0, 1, ""
    is_packed = False
    for number, section in enumerate(made, 1):
        is_packed = is_packed or size + len(section) > _OPEN
        if not is_packed:
            size += len(section)
            first = number + 1
            yield section
            continue
        waiting += section
        if len(waiting) >= _PART:
            yield _part(waiting, first, number)
            first, waiting = number + 1, ""
    if waiting:
        yield _part(waiting, first, number)
    if is_packed:
        yield "<noscript><p>The other sessions can be seen with a script only.</p></noscript>"


def _part(text: str, first: int, last: int) -> str:
    return f'<template class="packed" data-first="{first}" data-last="{last}">{packed(text)}</template>'
