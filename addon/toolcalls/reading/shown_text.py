"""Text that is shown: where in its Markdown the next of it stands, and calls in it that nobody reads (`open_text`)."""

from collections.abc import Callable

from toolcalls.events import Verdict
from toolcalls.reading.open_text import OpenText
from toolcalls.text.markdown import Position
from toolcalls.text.text_ends import TextEnds


class ShownText:
    """The text of one reply as far as it was shown."""

    def __init__(self, position: Position) -> None:
        self._position = position
        self._open: OpenText | None = None
        self._keep_beside = position.keep
        self._ends: TextEnds | None = None

    @property
    def ends(self) -> TextEnds | None:
        """The text so far, that of calls as well; None where it is not kept."""
        self._position.settle()
        return self._ends

    def keep_ends(self, ends: TextEnds) -> None:
        """Keep all of the text in this, as far as it does."""
        self._ends = ends
        self._position.record = ends.add

    def look_for_calls(self, text: OpenText | None) -> None:
        """Give what is shown to `text`, too; None for nobody."""
        self._open = text
        if text is not None:
            self._keep_beside = text.beside(self._position.keep)

    @property
    def keep(self) -> Callable[[str], None]:
        """What takes the next piece of a line that just passes. Its user settles the position in time."""
        return self._keep_beside if self._open is not None and self._open.keeps else self._position.keep

    def advance(self, text: str, at: int, *, searched: bool = True) -> None:
        """Text is shown, at the offset `at`. `searched`: it may hold calls that nobody reads."""
        if not searched:
            self.end()
        elif self._open is not None:
            self._open.text(text, at, line_start=self._position.line_start)
        self._position.advance(text)

    def payload(self, text: str) -> None:
        """This text belongs to a call, or to a declined one."""
        if self._open is not None:
            self._open.end(cut=False)
        if self._ends is not None:
            self._position.settle()
            self._ends.add(text)

    def end(self, *, cut: bool = False) -> None:
        """What follows is no such text. `cut`: the reply broke off."""
        if self._open is not None:
            self._open.end(cut=cut)

    def stop(self) -> None:
        """No more calls are looked for."""
        if self._open is not None:
            self._open.stop()

    def judged(self, start: int, end: int) -> None:
        """The text from `start` to `end` has its verdict."""
        if self._open is not None:
            self._open.judged(start, end)

    def verdicts(self) -> list[Verdict]:
        """The verdicts of calls that nobody reads, since the last time."""
        return self._open.verdicts() if self._open is not None else []
