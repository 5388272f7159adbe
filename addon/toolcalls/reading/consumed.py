"""The text that grammars consume, until its fate is decided: then it leaves as `Text` or `Markup`, in order.

Consumed text has one of three fates at any moment: HELD (undecided), SHOWN, or TAKEN (part of a call). So nothing is
lost whatever happens.
"""

from enum import Enum, auto

from toolcalls.events import Break, Event, Markup, Reasoning, Text
from toolcalls.reading.shown_text import ShownText
from toolcalls.text.markdown import Position
from toolcalls.text.scanner import MAX_SPACE, SPACE, Scanner

TAIL = 128  # characters that are said of what was understood


class Fate(Enum):
    """What becomes of the text that is consumed now."""

    HELD = auto()
    SHOWN = auto()
    TAKEN = auto()


class Consumed:
    """What was consumed of one reply's text.

    out       events that the reader has not fetched yet
    fate      what becomes of the text that is consumed now
    shown     text that was shown
    drained   characters of the reply's text whose fate is decided
    blank     they are white space
    unframed  marks of a template were taken from them
    reasoned  some of them were the model's reasoning, in a frame of its own
    """

    def __init__(self, scan: Scanner, position: Position) -> None:
        self._scan = scan
        self._position = position
        self._space = ""  # the white space that the payload of a declined call ends with so far
        self.out: list[Event] = []
        self.fate = Fate.SHOWN
        self.shown = ShownText(position)
        self.drained = 0
        self.blank = True
        self.unframed = self.reasoned = False
        self._lines = self._line_start = 0  # line ends so far, and the offset behind the last one

    @property
    def at(self) -> int:
        """The offset in the reply's text of the first character that nobody consumed."""
        return self.drained + self._scan.taken_size

    def take(self) -> None:
        """What was consumed is a call's."""
        self.fate = Fate.TAKEN
        self.drain()

    def hold(self) -> None:
        """What was consumed since the last text is undecided."""
        self.fate = Fate.HELD

    def take_reasoning(self) -> None:
        """What was consumed is the model's reasoning."""
        thought = "".join(self._scan.taken)
        self.take()
        self.reasoned = True
        if thought:
            self.out.append(Reasoning(thought, moved=True))

    def rewind(self, start: int) -> None:
        """What was consumed from the offset `start` on is to be read again."""
        self._scan.rewind(start - self.drained)

    def pass_on(self, text: str) -> None:
        """Text just passes."""
        if "\n" in text:
            self.count_lines(text)
        self.shown.advance(text, self.drained)
        self.drained += len(text)
        self.blank = self.blank and text.isspace()

    def drain(self, size: int | None = None, *, is_payload: bool = True, searched: bool = True) -> None:
        """Emit what was consumed, or the first `size` characters of it, by its fate.

        is_payload  it belongs to a declined call, and is not Markdown where it is shown
        searched    it may hold calls that nobody reads
        """
        text = self._scan.drain(size)
        if not text:
            return
        if "\n" in text:
            self.count_lines(text)
        self.drained += len(text)
        self.blank = self.blank and text.isspace()
        if self.fate is not Fate.TAKEN and not is_payload:
            self.shown.advance(text, self.drained - len(text), searched=searched)
        else:
            self.shown.payload(text)
            payload = text.rstrip(SPACE)
            self._space = text[len(payload) :] if payload else (self._space + text)[-MAX_SPACE:]
        self.out.extend(self.shown.verdicts())
        self.out.append(Markup(text) if self.fate is Fate.TAKEN else Text(text))

    def count_lines(self, text: str) -> None:
        """Text that leaves next holds line ends."""
        self._lines += text.count("\n")
        self._line_start = self.drained + text.rfind("\n") + 1

    def broke(self, start: int) -> Break:
        """Where what was consumed ends, of which a call began at the offset `start`.

        Of a call that has left in part nobody keeps the text: what was understood of it are its arguments.
        """
        held = "".join(self._scan.taken)
        lines = held.count("\n")
        line_start = self.drained + held.rfind("\n") + 1 if lines else self._line_start
        size = min(TAIL, self.at - start, len(held))
        after = held[-size:] if start >= self.drained and size > 0 else ""
        return Break(self._lines + lines + 1, self.at - line_start + 1, after)

    def end_payload(self, *, complete: bool) -> None:
        """A declined block was shown up to here: whatever was in it, it never ends at the start of a line.

        complete   all arguments of its last call are closed, so white space after them is not the payload's
        """
        self._position.pretend(f"x{self._space}" if complete else "x")
