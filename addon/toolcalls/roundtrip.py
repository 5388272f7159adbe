"""Text calls for a text client: a call in the client's own dialect stays as it stands, any other is written anew.

Virtual tool calling reads calls out of the text so that processors may see them, and puts them back for the client.
What nobody changed must leave byte for byte, so markup is only taken away once the call is written in another form.
"""

from collections.abc import Callable, Iterator

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Text, Verdict
from toolcalls.shapes import Call, Unwritable


class RoundTrip:
    """Turns a reader's events into text events for a client that reads `dialect`.

    write   gives a call as text in that dialect, or raises `Unwritable`
    """

    def __init__(self, dialect: str, write: Callable[[Call], str]) -> None:
        self._dialect = dialect
        self._write = write
        self._markup: list[str] = []
        self._own = True  # the latest call stands in the client's own dialect
        self._streaming = False  # inside such a call: its markup is shown as it comes
        self._calls: dict[int, tuple[str, list[str]]] = {}
        self._refused: set[int] = set()

    def feed(self, event: Event) -> Iterator[Event | str]:
        """The outcome of one event: `Text` and `Markup` account for what stood in the reply, a `str` is new text."""
        if isinstance(event, Markup):
            self._markup.append(event.text)
            if self._streaming:
                yield from self.flush()
        elif isinstance(event, CallStart):
            self._calls[event.index] = (event.name, [])
            self._own = self._streaming = event.dialect == self._dialect
            if self._own:
                yield from self.flush()
        elif isinstance(event, CallPiece):
            if not self._own:
                self._calls[event.index][1].append(event.json)
        elif isinstance(event, CallEnd):
            yield from self._ended(event.index)
        elif isinstance(event, Verdict):
            yield from self._judged(event)
        elif isinstance(event, Text):
            yield from self.flush()
            yield event

    def flush(self) -> Iterator[Event]:
        """Decide what is held: around the client's own calls it is text, around others layout."""
        if self._markup:
            text = "".join(self._markup)
            self._markup.clear()
            yield Text(text) if self._own else Markup(text)

    def _ended(self, index: int) -> Iterator[Event | str]:
        self._streaming = False
        name, pieces = self._calls.pop(index)
        if self._own:
            return
        try:
            written = self._write(Call(name, "".join(pieces)))
        except Unwritable:
            self._refused.add(index)
            self._own = True
            yield from self.flush()
            return
        yield from self.flush()
        yield written

    def _judged(self, verdict: Verdict) -> Iterator[Event]:
        if verdict.index is not None:
            if verdict.status == "truncated":
                self._own, self._streaming = True, False
            yield from self.flush()  # what comes from here on belongs to the next call
        if verdict.status != "lifted":
            yield verdict
        elif verdict.index in self._refused:
            yield msgspec.structs.replace(verdict, status="declined", reason="unwritable")
        else:
            yield msgspec.structs.replace(verdict, status="lowered")
