"""Where in a message calls are written: after the text that the client has of it.

A call that reads back alone need not do so after a text. Some dialects are a whole message, most begin a line, and
none is read inside a code fence that the text left open. So each block of calls is read once more in its place: in
front of it stand the line ends that the route asks for, more where they are needed, and what closes an open quotation.
Where nothing helps, it is not written (law 7).
"""

from collections.abc import Iterator, Sequence
from copy import copy

from toolcalls.events import Event, Text
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call, Unwritable
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import SPACE
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, same_calls, separated

# A text up to this length is read whole in front of each block. Of a longer one only its Markdown is known, so that a
# reply of many calls is read in linear time; kept text is read for it in pieces of this length.
_READ_WHOLE = 4096
_TAIL = 64  # characters of text that are kept for the line ends at its end
_LINE_ENDS = ("", "\n", "\n\n")


class TextBefore:
    """The text of a message so far, as far as it matters to calls that are written after it. Memory is bounded.

    Such a text is what a client is shown, so `Unwritable` says nothing of it.
    """

    def __init__(
        self, place: Position | None = None, *, structured: bool = False, read_whole: int = _READ_WHOLE
    ) -> None:
        """`place`: where the text begins in its message, None for the beginning. `read_whole`: see `_READ_WHOLE`.

        structured   the client asked for JSON of its own schema, so a whole-message call is not distinguishable from it
        """
        self._structured = structured
        self._begins = place or Position()
        self._place = self._begins.copy()
        self._read_whole = read_whole
        self._whole = ""  # all of the text, while it is short enough
        self._size = self._held = 0  # characters of the text, and of what is unread
        self._unread: list[str] = []
        self._blank = True  # the text is white space
        self._end = ""

    def add(self, text: str) -> None:
        """The client gets more text, which is no call."""
        self._unread.append(text)
        self._held += len(text)
        self._size += len(text)
        self._blank = self._blank and not text.strip(SPACE)
        if self._held > _READ_WHOLE:
            self._read()

    def copy(self) -> "TextBefore":
        """The same text, to which something may be added."""
        other = copy(self)
        other._place, other._unread = self._place.copy(), [*self._unread]
        return other

    def ends_with(self, text: str) -> None:
        """The client gets more, text or call. Only its line ends count."""
        self._end = (self._end + text)[-_TAIL:]

    def placed(
        self, dialect: str, text: str, calls: Sequence[Call], tools: Toolbox, route: Route, *, closer: str = ""
    ) -> str:
        """`text`, which is these calls in `dialect`, with what must be in front of it here.

        closer   what the text lacks to be a whole block

        Raises `Unwritable` where it does not read back as these calls after what the client has.
        """
        self._read()
        policy = _policy(dialect, route, structured=self._structured)
        known = self._events(policy, tools, "")
        for lead in dict.fromkeys(self._leads(route)):
            events = self._events(policy, tools, f"{lead}{text}{closer}")
            if _shown(events).split() == (_shown(known) + lead).split() and same_calls(
                calls_in(events), [*calls_in(known), *calls]
            ):
                return lead + text
        names = ", ".join(call.name for call in calls)
        raise Unwritable(f"{names}: behind the text before it, what {dialect} writes would not be read back")

    def _leads(self, route: Route) -> Iterator[str]:
        """What may be in front, the likeliest first."""
        yield separated(self._end, "", route)
        yield from _LINE_ENDS
        for closer in self._place.closers():
            yield f"{closer}\n\n"
            yield f"\n{closer}\n\n"

    def _events(self, policy: CallPolicy, tools: Toolbox, text: str) -> list[Event]:
        """What a reader finds in the text so far, where that is known, and in `text` after it."""
        if self._size <= self._read_whole:
            reader = Reader(policy, tools=tools, place=self._begins.copy())
            return [*reader.feed(self._whole + text), *reader.finish(cut=False)]
        reader = Reader(policy, tools=tools, place=self._place.copy(), message_start=self._blank)
        return [*reader.feed(text), *reader.finish(cut=False)]

    def _read(self) -> None:
        text = "".join(self._unread)
        self._place.advance(text)
        self._whole = self._whole + text if self._size <= self._read_whole else ""
        self._unread.clear()
        self._held = 0


def behind(before: str, dialect: str, text: str, calls: Sequence[Call], tools: Toolbox) -> str:
    """`text`, which is these calls in `dialect`, as it may come after `before`, all of what its reader has.

    Raises `Unwritable`.
    """
    place = TextBefore(read_whole=len(before))
    place.add(before)
    place.ends_with(before)
    return place.placed(dialect, text, calls, tools, Route())


def _policy(dialect: str, route: Route, *, structured: bool) -> CallPolicy:
    """How a client of this dialect reads. Who wants no line ends before calls has one that finds them in a line."""
    take: tuple[Taken, ...] = ("undeclared", "escaped", *(() if route.prepend_newlines else ("inline",)))
    client = Route(dialects=(dialect,), take=take, max_buffer_bytes=1 << 40)
    return CallPolicy(client, Request(response_format=structured), alone=True)


def _shown(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))
