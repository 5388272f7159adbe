"""Text through a transducer, in pieces."""

from collections.abc import Iterable
from typing import NamedTuple

from toolcalls.values.transducer import Transducer


class Outcome(NamedTuple):
    text: str  # the pieces, joined
    offset: int
    done: bool
    failed: str | None
    repairs: list[str]


def run(pieces: Iterable[str], **options: bool) -> Outcome:
    """Feed the pieces until one is not consumed whole, then end the text."""
    transducer = Transducer(**options)
    out: list[str] = []
    offset = 0
    for piece in pieces:
        made, end = transducer.feed(piece)
        out.append(made)
        offset += end
        if end < len(piece) or transducer.done or transducer.failed:
            break
    transducer.finish()
    return Outcome("".join(out), offset, transducer.done, transducer.failed, transducer.repairs)
