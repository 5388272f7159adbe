"""Which frames two bodies have in common: what left as it came.

Most frames of a reply pass as they are, and texts repeat, so equal bytes alone say little: a call that is explained
afterwards consists of the frames it was written in. So frames that are unique on both sides are the anchors, as in a
patience diff; from each anchor its equal neighbours are taken in both directions, and only what is left between two
anchors is paired by its bytes, with the next equal one. The work grows as n log n, whatever the frames hold.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from toolcalls.mitm.views.excerpt import Excerpt


def same_frames(mine: Excerpt, theirs: Excerpt) -> list[bool]:
    """For each frame of `mine` whether the other body holds it as well, in the same order."""
    return paired([frame.raw for frame in mine.frames], [frame.raw for frame in theirs.frames])


def paired(mine: Sequence[bytes], theirs: Sequence[bytes]) -> list[bool]:
    """Which of `mine` are in `theirs` in the same order."""
    found = [False] * len(mine)
    left = (-1, -1)
    for right in (*_anchors(mine, theirs), (len(mine), len(theirs))):
        i, j = left[0] + 1, left[1] + 1
        while i < right[0] and j < right[1] and mine[i] == theirs[j]:
            found[i] = True
            i, j = i + 1, j + 1
        k, m = right[0] - 1, right[1] - 1
        while k >= i and m >= j and mine[k] == theirs[m]:
            found[k] = True
            k, m = k - 1, m - 1
        for place in _greedy(mine, i, k + 1, theirs, j, m + 1):
            found[place] = True
        if right[0] < len(mine):
            found[right[0]] = True
        left = right
    return found


def _anchors(mine: Sequence[bytes], theirs: Sequence[bytes]) -> list[tuple[int, int]]:
    """Frames that are unique on both sides, as many as have one order on both: the longest rising row."""
    there = {raw: place for place, raw in enumerate(theirs)}
    counts, others = Counter(mine), Counter(theirs)
    pairs = [(i, there[raw]) for i, raw in enumerate(mine) if counts[raw] == 1 and others[raw] == 1]
    tops: list[int] = []  # the smallest end of a rising row of each length
    ends: list[int] = []  # and which pair that is
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(tops, j)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [j]
        ends[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        row.append(pairs[at])
        at = before[at]
    return row[::-1]


def _greedy(mine: Sequence[bytes], i: int, k: int, theirs: Sequence[bytes], j: int, m: int) -> Iterator[int]:
    """The places from `i` to `k` whose frames are between `j` and `m`, each paired with the next equal one."""
    if i >= k or j >= m:
        return
    places: dict[bytes, list[int]] = {}
    for place in range(j, m):
        places.setdefault(theirs[place], []).append(place)
    for place in range(i, k):
        there = places.get(mine[place], [])
        at = bisect_left(there, j)
        if at < len(there):
            j = there[at] + 1
            yield place
