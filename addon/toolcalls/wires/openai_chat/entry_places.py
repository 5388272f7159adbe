"""Where SDKs put the entries of `tool_calls` in a stream: in a list, at the place that `index` has in Python.

openai-python's stream helper (`lib/streaming/_deltas.py`) adds an entry to the one at that place, from behind where the
number is negative, and inserts one where there is none.
"""

_MOST = 10_000  # places that are followed; no reply has as many calls


class EntryPlaces:
    """The entries of one choice."""

    def __init__(self) -> None:
        self._indices: list[int] = []  # what each entry of the list came with

    def keeps(self, index: int, *, named: bool) -> bool:
        """Whether an entry that comes with this index is added to one that came with the same, or is a new one.

        Some servers say -1 of their calls, which they number not at all; a new call behind one of those is no piece.
        """
        indices = self._indices
        if -len(indices) <= index < len(indices):
            return indices[index] == index or (named and indices[index] < 0)
        if len(indices) < _MOST:
            indices.insert(index, index)
        return True
