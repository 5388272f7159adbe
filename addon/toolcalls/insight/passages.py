"""What the model wrote, cut at its calls: so that a page can show each call in its place. Bounded, no secrets.

Only the beginnings of long texts are kept: the end of one may be the rest of a secret whose beginning is left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolcalls.insight.conversation import excerpt
from toolcalls.insight.own_secrets import OwnSecrets

_BETWEEN = 700  # characters of text between two calls
_CALL = 1500  # of a call
_PASSAGES = 60  # of one reply
_MARGIN = 2048  # characters after what is kept that are searched for secrets


@dataclass(frozen=True, slots=True)
class Span:
    """Where a verdict's text stands: its choice, characters of the choice's text, and which of the verdicts it is."""

    lane: int
    start: int
    end: int
    verdict: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of what the model wrote. `verdict` is the place of the one that is about it, None for plain text.

    size   characters of all of it
    """

    text: str
    size: int
    verdict: int | None = None


def passages_of(texts: Iterable[tuple[int, str]], spans: Iterable[Span], own: OwnSecrets) -> tuple[Passage, ...]:
    """The texts of a reply's choices, each with its number. A span that overlaps an earlier one is left out."""
    by_lane: dict[int, list[Span]] = {}
    for span in spans:
        by_lane.setdefault(span.lane, []).append(span)
    found: list[Passage] = []
    for lane, text in texts:
        for start, end, verdict in _cut(text, by_lane.get(lane, ())):
            if len(found) == _PASSAGES:
                return tuple(found)
            length = _BETWEEN if verdict is None else _CALL
            piece = own.text(text[start : min(end, start + length + _MARGIN)])
            found.append(Passage(excerpt(piece, length), end - start, verdict))
    return tuple(found)


def _cut(text: str, spans: Iterable[Span]) -> Iterator[tuple[int, int, int | None]]:
    at = 0
    for span in sorted(spans, key=lambda one: one.start):
        start, end = span.start, min(span.end, len(text))
        if start < at or end <= start:
            continue
        if text[at:start].strip():
            yield at, start, None
        yield start, end, span.verdict
        at = end
    if text[at:].strip():
        yield at, len(text), None
