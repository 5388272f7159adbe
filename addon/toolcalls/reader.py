"""Text in, events out: one reader for a stream, a whole reply, a request's history, the command line and the replay.

The reader looks for openers and lets the grammars of the dialects that share one read from there; the ledger decides
what becomes of what they consume. The grammar of a declined candidate goes on reading to its end, and its text is
shown: the outermost call owns its payload, which is never searched for calls. Only inside quoted text (code, a block
quote, a comment, reasoning) does the Markdown say where the quotation ends, so there a grammar reads no further than
the name.
"""

from collections.abc import Generator

from toolcalls.dialects import chosen
from toolcalls.events import Event, Text
from toolcalls.ledger import Ledger, Quoted
from toolcalls.markdown import Position
from toolcalls.openers import Opener, openers_of
from toolcalls.policy import Terms
from toolcalls.scanner import SPACE, Scanner
from toolcalls.shapes import Dialect
from toolcalls.tools import Toolbox


class Reader:
    """Reads the text of one reply (one choice, one block)."""

    def __init__(self, terms: Terms, *, tools: Toolbox | None = None, starts_in_reasoning: bool = False) -> None:
        route = terms.route
        self._tools = tools or Toolbox((*terms.request.tools, *route.tools), infer=route.infer_types)
        self._openers = openers_of(chosen(route.dialects), self._tools.names)
        self._position = Position(reasoning=starts_in_reasoning)
        self._scan = Scanner()
        self._ledger = Ledger(self._scan, terms, self._tools, self._position)
        self._settle(plain=False)
        self._run = self._read()
        next(self._run)

    def passes(self, piece: str) -> bool:
        """Whether `piece` is text that nothing can happen to. If so, it has been read; if not, `feed` it."""
        quiet = self._quiet
        if quiet is not None and quiet(piece) is None:
            self._ledger.drained += len(piece)
            return True
        if not self._plain:
            return False
        position, openers = self._position, self._openers
        if openers.possible(piece):
            line_start = position.line_start
            if openers.find(piece, 0, line_start=line_start) or openers.held(piece, 0, line_start=line_start) < len(
                piece
            ):
                return False
            position.advance(piece)
        elif not position.plain(piece):
            if openers.stray(piece, line_start=position.line_start):
                return False
            position.advance(piece)
        self._ledger.drained += len(piece)
        self._settle(plain=True)
        return True

    def _settle(self, *, plain: bool) -> None:
        """Note whether nothing is held, and with what to look for anything that matters in the next piece.

        Where a `<` is not quiet and all openers begin with one, nothing else has to be looked for. In code it is quiet.
        """
        self._plain = plain
        quiet = self._position.quiet if plain and self._openers.only_angles else None
        self._quiet = quiet if quiet is not None and quiet("<") is not None else None

    def feed(self, piece: str) -> list[Event]:
        """Read the next piece. Returns what is decided now; text that can be no call leaves at once."""
        return [Text(piece)] if self.passes(piece) else self.read(piece)

    def read(self, piece: str) -> list[Event]:
        """`feed` for a piece that does not just pass."""
        expect = self._scan.expect
        if expect is not None and expect(piece) is None:
            events = self._ledger.streams(piece)
            if events is not None:
                return events
        if self._plain:
            self._settle(plain=False)
        self._scan.feed(piece)
        next(self._run)
        return self._events()

    def finish(self, *, cut: bool) -> list[Event]:
        """The text ends. `cut`: it broke off or met the length limit, so what is open stays open (law 6).

        Text that comes all the same afterwards is read as a new beginning.
        """
        self._settle(plain=False)
        self._scan.end(cut=cut)
        for _ in self._run:
            raise AssertionError("a grammar waits for text behind the end")
        self._scan.ended = self._scan.cut = False
        self._run = self._read()
        next(self._run)
        return self._events()

    def native(self, name: str, arguments: str) -> None:
        """The reply carries this call natively; a text call that is the same is declined (condition 6)."""
        self._ledger.natives.append((name, arguments))

    def _events(self) -> list[Event]:
        self._ledger.pause()
        out, self._ledger.out = self._ledger.out, []
        return out

    def _read(self) -> Generator[None]:
        behind_call = False
        while True:
            if behind_call:
                yield from self._separator()
            opener = yield from self._text()
            if opener is None:
                self._ledger.finish()
                return
            behind_call = yield from self._block(opener)

    def _text(self) -> Generator[None, None, Opener | None]:
        """Show text up to the next opener. Returns None at the end of the reply."""
        scan = self._scan
        while True:
            line_start = self._position.line_start
            opener = self._openers.find(scan.text, scan.pos, line_start=line_start)
            if opener is not None:
                stop = opener.start - opener.stray
            elif scan.ended:
                stop = len(scan.text)
            else:
                stop = self._openers.held(scan.text, scan.pos, line_start=line_start)
            if stop > scan.pos:
                scan.take(stop - scan.pos)
                self._ledger.show()
            if opener is not None:
                return opener
            if scan.ended:
                return None
            self._settle(plain=stop == len(scan.text))
            yield

    def _separator(self) -> Generator[None]:
        """White space behind a call goes when a call or the end follows, so it is consumed here and held."""
        scan = self._scan
        while True:
            text, at = scan.text, scan.pos
            while at < len(text) and text[at] in SPACE:
                at += 1
            scan.take(at - scan.pos)
            if at < len(text):
                opener = self._openers.find(text, at, line_start=True)
                if opener is not None and opener.start - opener.stray == at:
                    return
                if scan.ended or self._openers.held(text, at, line_start=True) != at:
                    self._ledger.show()
                    return
            if scan.ended:
                return
            yield

    def _block(self, opener: Opener) -> Generator[None, None, bool]:
        """Let the dialects that share this opener read from here, the first that finds a call.

        Returns whether white space that follows stands behind a call.
        """
        scan, ledger = self._scan, self._ledger
        start, ended = ledger.at, scan.ended
        quoted = self._position.reason()
        for dialect in opener.dialects:
            inline = dialect.place != "anywhere" and not self._position.line_start
            ledger.open(dialect.name, quoted or ("inline" if inline else None))
            scan.take(opener.stray)
            own = yield from self._grammar(dialect)
            if ledger.began:
                return ledger.close(own=own)
            ledger.give_back()
        waited = scan.ended and not ended
        scan.take(scan.rest() if waited else max(0, start + opener.stray + opener.length - ledger.at))
        ledger.no_call(("cut_off" if scan.cut else "unclosed") if waited else "not_a_call", start)
        return False

    def _grammar(self, dialect: Dialect) -> Generator[None, None, bool]:
        try:
            return (yield from dialect.read(self._scan, self._ledger, self._tools))
        except Quoted:
            return True
