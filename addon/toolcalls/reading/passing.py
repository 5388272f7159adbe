"""Text that just passes: pieces in which nothing can begin leave as they came, without the reader's loop.

One search decides for most pieces (`special`): it finds all that may begin an opener, and what ends the line. Where it
finds something, slower ways look at the piece alone: whether it stays text of its line, and whether it is the end of
one line and the beginning of the next. What none of them lets pass is the reader's.
"""

import re

from toolcalls.events import Event, Text
from toolcalls.reading.consumed import Consumed
from toolcalls.reading.place import Place
from toolcalls.text.markdown import MOST_UNREAD
from toolcalls.text.quoting_marks import CLOSERS_LAST
from toolcalls.text.scanner import SPACE, Scanner, Search

# A line's end with what a piece has before and after it. A piece with a whole line in the middle does not match.
_LINE_END = re.compile(r"([^\r\n]*+)([\r\n]*+)([^\r\n]*+)")


class Passing:
    """Lets pieces pass, from the place that the reader says (`rest`) until it reads again (`busy`).

    idle       nothing is being read or held
    special    finds what may matter in a piece of the line that goes on; None where anything may
    in_line    the same, also where the end of the line so far is held, which may become an opener
    next_line  at the start of a line: what `in_line` was, and is in it again
    """

    __slots__ = (
        "_keep", "_place", "_refused", "_refused_from", "_scan", "_settles_at", "_text",
        "idle", "in_line", "next_line", "special",
    )  # fmt: skip

    def __init__(self, scan: Scanner, text: Consumed, place: Place) -> None:
        self._scan = scan
        self._text = text
        self._place = place
        self._keep = text.shown.keep  # takes the next piece of a line
        self._settles_at = MOST_UNREAD  # characters of the text, at which what was kept of it is read
        self._refused_from = 0
        self.busy()

    def busy(self) -> None:
        """Something is read: what comes next does not just pass."""
        self.idle = False
        self.special: Search | None = None
        self.in_line: Search | None = None
        self.next_line: Search | None = None
        self._refused: str | None = None  # the latest piece whose end is held, from `_refused_from` on

    def rest(self, *, idle: bool, in_line: bool = False) -> None:
        """Note whether nothing is held, and what to look for in the next piece then. A piece without it is text.

        At the start of a line everything matters.

        in_line   nothing is held but the end of a line, which may become an opener
        """
        self.idle = idle
        self.next_line = self._refused = None
        self._keep = self._text.shown.keep
        place, position = self._place, self._place.position
        special = position.special if (idle or in_line) and not place.message_start else None
        search = place.openers.special(special) if special is not None else None
        self.special = search if idle else None
        # After a frame another one may begin: there blanks matter.
        inside = special is not None and self._text.at != place.frame_end and not position.in_prompts_reasoning
        self.in_line = search if inside else None

    def passes(self, piece: str) -> bool:
        """Whether `piece` is text that nothing can happen to. If so, it has been read; if not, `feed` it."""
        special = self.special
        if special is not None and (special(piece) is None or self._stays_in_line(piece)):
            if not piece:  # some servers send thousands: nothing of them may be kept
                return True
            self._keep(piece)
            text = self._text
            text.drained = drained = text.drained + len(piece)
            if drained > self._settles_at:
                self._settle(drained)
            return True
        if not self.idle or not piece or piece is self._refused:
            return False
        at_line_end = self.next_line is not None or "\n" in piece or "\r" in piece
        if at_line_end and self._passes_line_end(piece):
            return True
        place = self._place
        if place.openers.possible(piece, line_start=place.position.line_start, message_start=place.message_start):
            return False
        if place.position.prompts_reasoning_end(piece, 0) >= 0:
            return False
        self._text.pass_on(piece)
        place.message_start = place.message_start and not piece.strip(SPACE)
        self.rest(idle=True)
        return True

    def _settle(self, drained: int) -> None:
        """So much of what was shown is kept that it must be read."""
        self._settles_at = drained + MOST_UNREAD
        self._place.position.settle()

    def _stays_in_line(self, piece: str) -> bool:
        """Whether a piece is text of the line that goes on, though it has signs of openers."""
        if piece is self._refused or self.in_line is None or not piece.isascii():
            return False
        stop = self._place.openers.inside_line(piece, 0)
        if stop == len(piece):
            return not _may_close(piece)
        if stop >= 0:
            self._refused, self._refused_from = piece, stop
        return False

    def _passes_line_end(self, piece: str) -> bool:
        """Whether a piece is text of one line and of the next, or of a line that begins. If so, it has been read."""
        search = self.next_line or self.in_line
        parts = _LINE_END.fullmatch(piece) if search is not None else None
        if search is None or parts is None:
            return False
        before, ends, behind = parts.groups()
        if before and not self._is_text(before, search, starts_line=self.next_line is not None, ends_line=bool(ends)):
            return False
        if behind and not self._is_text(behind, search, starts_line=True):
            return False
        self._text.pass_on(piece)
        if behind or not ends:
            self.special = self.in_line = search
            self.next_line = None
            self._keep = self._text.shown.keep
        else:
            self.special = self.in_line = None
            self.next_line = search
        return True

    def _is_text(self, piece: str, search: Search, *, starts_line: bool, ends_line: bool = False) -> bool:
        """Whether a piece of a line is text whatever comes after it. `ends_line`: the end of the line does."""
        openers = self._place.openers
        if starts_line and openers.may_start_line(piece):
            return False
        if search(piece) is None:
            return True
        if not piece.isascii() or openers.inside_line(piece, 0) < len(piece):
            return False
        return ends_line or not _may_close(piece)

    def read_in_line(self, piece: str) -> list[Event] | None:
        """Read a piece where a line goes on, of which at most the end of what came is held; None where more may happen.

        Only where `in_line` is set.
        """
        scan = self._scan
        if piece is self._refused:
            text, stop = piece, self._refused_from
        else:
            text = scan.text[scan.pos :] + piece
            stop = self._place.openers.inside_line(text, 0) if piece.isascii() else -1
        if stop < 0:
            return None
        self._refused = None
        scan.text, scan.pos = text[stop:], 0
        self.idle = idle = stop == len(text)
        self.special = self.in_line if idle else None
        if not stop:
            return []
        shown = text[:stop]
        self._keep(shown)
        self._text.drained = drained = self._text.drained + stop
        if drained > self._settles_at:
            self._settle(drained)
        if _may_close(shown):
            self.rest(idle=idle, in_line=True)
        return [Text(shown)]


def _may_close(text: str) -> bool:
    """Whether a closer of reasoning may be at the end of a text, but for blanks."""
    return text.rstrip(" \t").endswith(CLOSERS_LAST)
