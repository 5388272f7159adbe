"""What a text client would make of text that filters changed: a call must not come of what was none.

A client that reads its calls out of text reads what it is given, not what the model wrote. Where a filter takes a word
away, or puts one there, the text around it may become a call that no rule has seen. So the text is read once more, as
it leaves. Calls, which rules have seen, are in it as the model wrote them.
"""

from collections.abc import Iterable, Iterator

from toolcalls.events import CallStart, Markup, Note, Removed, Text
from toolcalls.reading.reader import Reader
from toolcalls.replies.calls import Calls
from toolcalls.replies.stages import Item, Stage

NOTE = Note("filters", "a replacement made a call of the text around it, so no text is shown from there on", True)


class Reread(Stage):
    """Removes the text from the first call on that came of a replacement; the reply counts as cut off there."""

    looks_at = (Text, Markup, Removed, str)

    def __init__(self, reader: Reader, calls: Calls) -> None:
        self.next_block = reader.next_block
        self.end_paragraph = reader.end_paragraph
        self._reader = reader
        self._calls = calls
        self._known = 0  # how many whole native calls the reader knows
        self._replaced = False  # something was replaced so far
        self._found = False  # a call came of a replacement

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, without text that makes a call of what was none."""
        for item in items:
            if isinstance(item, Markup):
                self._read(item.text)
            elif isinstance(item, Removed):
                self._replaced = True
            elif isinstance(item, str | Text):
                found = self._found
                if not self._shows(item):
                    if not found:
                        self._calls.broken_off = True
                        yield NOTE
                    if isinstance(item, Text):
                        yield Removed(item.text)
                    continue
            yield item

    def _shows(self, text: str | Text) -> bool:
        if self._found:
            return False
        if isinstance(text, str):
            self._replaced = True
            calls = self._read(text)
        else:
            calls = self._read(text.text)
        self._found = self._replaced and calls
        return not self._found

    def _read(self, text: str) -> bool:
        """Read the next text that the client gets. Returns whether a call begins in it."""
        natives = self._calls.whole_natives
        while self._known < len(natives):
            self._reader.add_native(natives[self._known].name, natives[self._known].arguments)
            self._reader.stands_behind_native()
            self._known += 1
        return any(isinstance(event, CallStart) for event in self._reader.feed(text))
