"""Text of a reply by its places in it, as long as a reading of it may need it again."""

from bisect import bisect_right

LINGERS = 64 * 1024  # characters after a closer in which a later one may still take its place
_BOUNDARIES = 64  # that are remembered


class KeptText:
    """The latest text of a reply. `end`: how many characters it has had."""

    def __init__(self) -> None:
        self.end = 0
        self._pieces: list[str] = []
        self._places: list[int] = []  # where each piece begins
        self._boundaries: list[int] = []

    @property
    def is_large(self) -> bool:
        """Whether enough is kept that it is time to forget some."""
        return bool(self._places) and self.end - self._places[0] > 2 * LINGERS

    def add(self, text: str) -> None:
        self._places.append(self.end)
        self._pieces.append(text)
        self.end += len(text)

    def boundary(self) -> None:
        """Note that a block ends here."""
        if self._boundaries[-1:] != [self.end]:
            self._boundaries = [*self._boundaries[-_BOUNDARIES:], self.end]

    def is_split(self, start: int, end: int) -> bool:
        """Whether a block ends between two places: what is there is no tag to clients that join with a line end."""
        return bool(self.ends(start, end))

    def ends(self, start: int, end: int) -> list[int]:
        """Where blocks end between two places."""
        return [place for place in self._boundaries if start < place < end]

    def forget(self, place: int) -> None:
        """Drop the text before a place, which nobody asks for any more."""
        first = max(bisect_right(self._places, place) - 1, 0)
        del self._places[:first], self._pieces[:first]

    def text(self, start: int, end: int) -> str | None:
        """The text between two places, None where it is not kept any more."""
        if not self._places or start < self._places[0]:
            return None
        first, last = bisect_right(self._places, start) - 1, bisect_right(self._places, end)
        return "".join(self._pieces[first:last])[start - self._places[first] : end - self._places[first]]

    def values(self, start: int, end: int) -> list[str] | None:
        """A value as clients have it that join blocks with nothing, and with a line end; None: not kept any more."""
        text = self.text(start, end)
        if text is None:
            return None
        inside = [place - start for place in self.ends(start, end)]
        if not inside:
            return [text]
        parts = [text[one:other] for one, other in zip([0, *inside], [*inside, len(text)], strict=True)]
        return [text, "\n".join(parts)]
