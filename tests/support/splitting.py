"""Bodies cut into pieces, and the frames that a splitter (`wires/frames.py`) makes of them."""

import itertools
from typing import Protocol

from toolcalls.wires.frames import Frame


class Splitter(Protocol):
    def feed(self, data: bytes) -> list[Frame]: ...

    def flush(self) -> list[Frame]: ...


def read(splitter: Splitter, chunks: list[bytes]) -> list[Frame]:
    """All frames of a body; checks on the way that no byte is lost, added, or left when the body is over."""
    frames = [frame for chunk in chunks for frame in splitter.feed(chunk)]
    frames += splitter.flush()
    assert b"".join(frame.raw for frame in frames) == b"".join(chunks)
    assert all(frame.raw for frame in frames)
    assert splitter.flush() == []
    return frames


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(place for place in places if place < len(body))})
    return [body[a:b] for a, b in itertools.pairwise(edges)]


def one_byte(body: bytes) -> list[bytes]:
    return cut(body, list(range(len(body))))
