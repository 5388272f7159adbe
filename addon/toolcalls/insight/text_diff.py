"""How a text differs from what it was, word by word, with a few words of what is around each difference.

What people change in a long prompt is mostly a few words somewhere in it. So the common beginning and the common end
are skipped, and only what lies between is compared by its words, unless it is long: then it counts as gone and new.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from toolcalls.insight.conversation import Message

_AROUND = 90  # characters of what stays that are shown on either side of a difference
_WORDS = 500  # of either side that are compared, which takes the product of both
_SHOWN = 1200  # characters of one piece
_PIECES = 40
_WORD = re.compile(r"\s+|\w+|[^\w\s]")

type Kind = Literal["same", "gone", "new"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of both texts, or of one of them. `left_out` of its characters are not in `text`, where a `…` stands."""

    kind: Kind
    text: str
    left_out: int = 0


@lru_cache(maxsize=512)
def rewording(was: Message, now: Message) -> tuple[Piece, ...]:
    """What two messages differ in, in order; () where the difference lies after what is kept of them."""
    old, new = was.text, now.text
    return tuple(_bounded(_pieces(old, new))) if old != new else ()


def _pieces(old: str, new: str) -> Iterator[Piece]:
    begin = _shared(old, new)
    rest = min(len(old), len(new)) - begin
    end = _shared(old[: -rest - 1 : -1], new[: -rest - 1 : -1]) if rest else 0
    while begin and not old[begin - 1].isspace():  # words stay whole
        begin -= 1
    while end and not old[len(old) - end].isspace():
        end -= 1
    yield Piece("same", old[:begin])
    mine, theirs = (_WORD.findall(text[begin : len(text) - end]) for text in (old, new))
    if max(len(mine), len(theirs)) > _WORDS:
        yield Piece("gone", "".join(mine))
        yield Piece("new", "".join(theirs))
    else:
        for what, i, j, k, m in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
            if what == "equal":
                yield Piece("same", "".join(mine[i:j]))
                continue
            yield Piece("gone", "".join(mine[i:j]))
            yield Piece("new", "".join(theirs[k:m]))
    yield Piece("same", old[len(old) - end :] if end else "")


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _bounded(pieces: Iterator[Piece]) -> Iterator[Piece]:
    found = [piece for piece in pieces if piece.text]
    for number, piece in enumerate(found[:_PIECES]):
        if piece.kind != "same":
            yield _cut(piece, _SHOWN, 0)
        else:
            first, last = number == 0, number == len(found) - 1
            yield _cut(piece, 0 if first else _AROUND, 0 if last else _AROUND)
    if len(found) > _PIECES:
        yield Piece("same", "…", sum(len(piece.text) for piece in found[_PIECES:]))


def _cut(piece: Piece, head: int, tail: int) -> Piece:
    left_out = len(piece.text) - head - tail
    if left_out <= 2:
        return piece
    return replace(piece, text=piece.text[:head] + "…" + piece.text[len(piece.text) - tail :], left_out=left_out)
