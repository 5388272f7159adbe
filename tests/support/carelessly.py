"""A reply as a careless reading (`processors/careless*.py`) shows it, for tests that say so row by row."""

from collections.abc import Callable, Iterable
from typing import Self

from toolcalls.processors.careless import CarelessReading
from toolcalls.processors.careless_calls import Decided, Forbidden
from toolcalls.processors.careless_messages import CarelessMessages


class Reading[Of: (CarelessReading, CarelessMessages)]:
    """A reply as it is read.

    shown   what is shown so far, with # for each call that is taken out
    found   the calls that were: the name, the rule, and what `detail` says of each, given it and the text so far
    at      how many characters are decided
    """

    def __init__(self, reading: Of, detail: Callable[[Forbidden, str], str]) -> None:
        self.reading = reading
        self.text = self.shown = ""
        self.found: list[tuple[str, str, str]] = []
        self.at = 0
        self._detail = detail

    def read(self, blocks: Iterable[str], size: int = 0) -> Self:
        """A reply, `size` characters at a time, 0 for whole blocks; up to where no more may be shown."""
        for block in blocks:
            for at in range(0, len(block), size or max(1, len(block))):
                if not self.reading.hidden:
                    self.feed(block[at : at + (size or len(block))])
            if not self.reading.hidden:
                self.boundary()
        return self

    def feed(self, text: str) -> None:
        self.text += text
        if self.reading.passes(text):
            self.shown += text
            self.at += len(text)
        else:
            self._take(self.reading.feed(text))

    def boundary(self) -> None:
        self._take(self.reading.boundary())

    def _take(self, outcomes: Iterable[Decided | Forbidden]) -> None:
        for one in outcomes:
            if isinstance(one, Forbidden):
                self.shown += "#"
                self.found.append((one.name, one.refusal.rule, self._detail(one, self.text)))
            else:
                self.shown += self.text[self.at : self.at + one.size] if one.shown else ""
                self.at += one.size
