"""Where in its Markdown a reply stands: in code, a quote, a comment, reasoning, or in ordinary text.

Strategy: CommonMark's block structure (https://spec.commonmark.org/0.31.2/) as a state machine over characters
(`lines.py`). Text is read when somebody asks, or when a bounded amount of it has come: much at once takes half the time
of the same in pieces. So memory is constant, nothing is read twice, and the answers depend on the characters alone, not
on how they were cut.

Quoting must not become a call, so every doubt is code: an open backtick run lasts to the end of its paragraph (with
`end_spans_with_lines` of its line), a comment or a `<pre>` also past the list item that holds it, and nesting past
MAX_DEPTH counts as code. Where CommonMark is laxer than what the writer means, the writer wins: HTML blocks of kinds 4,
6 and 7 (`<div>`, `<answer>`) are read as text, so a fence right below one is a fence; but what an element quotes is
quoted: `<blockquote>`, `<example>` and their like at the start of a line to their closers, `<code>` and its like to
theirs or to the end of the paragraph. Link reference definitions are read as paragraphs.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from toolcalls.events import Quotation
from toolcalls.text.markdown.blocks import FENCE, HTML, HTML_END
from toolcalls.text.markdown.closers import PROMPTS_REASONING, Closer
from toolcalls.text.markdown.line import Line
from toolcalls.text.markdown.lines import read
from toolcalls.text.markdown.states import PREFIX
from toolcalls.text.quoting_marks import CLOSER_ENDS, CLOSERS_LAST

MOST_UNREAD = 1024  # characters that are kept until somebody asks; one piece may have more
# The end of the line, or of a closer of reasoning.
_IN_LINE: re.Pattern[str] = re.compile(rf"[\r\n{re.escape(''.join(sorted(CLOSERS_LAST)))}]")
_IN_REASONING: re.Pattern[str] = re.compile(r"[<\[\r\n]")


class Position:
    """Where the next character would stand, after all the text that was shown so far."""

    __slots__ = ("_awaited", "_line", "_unread", "_unread_size", "keep", "record")

    def __init__(self, *, reasoning: bool = False) -> None:
        """`reasoning`: the reply starts inside reasoning without an opener; any closer ends it."""
        self._unread: list[str] = []  # text that was shown and not looked at
        self._unread_size = 0  # of what `advance` took
        # Takes text that was shown, like `advance`. Who uses it calls `settle` before MOST_UNREAD characters are kept.
        self.keep = self._unread.append
        self.record: Callable[[str], None] | None = None  # is given what was shown, when it is read
        self._line = Line()
        self._awaited = self._line.awaited
        if reasoning:
            self._awaited.look_for(PROMPTS_REASONING)

    def end_spans_with_lines(self) -> None:
        """Inline code that is not closed on its line ends with it: a stray backtick quotes nothing below it."""
        self._line.spans_end_with_lines = True

    def advance(self, text: str) -> None:
        """Note text that was shown. It may be cut anywhere and hold anything; U+2028 and the like end no line."""
        if not text:
            return
        if self._unread and self._unread_size + len(text) > MOST_UNREAD:
            self.settle()
        self.keep(text)
        self._unread_size += len(text)

    def settle(self) -> None:
        """Read what was shown, as far as it is not."""
        if self._unread:
            text = self._unread[0] if len(self._unread) == 1 else "".join(self._unread)
            self._unread.clear()
            self._unread_size = 0
            if self.record is not None:
                self.record(text)
            self._advance(text)

    def pretend(self, text: str) -> None:
        """Go on as though this text had been shown."""
        self.settle()
        self._advance(text)

    def _advance(self, text: str) -> None:
        at, end = 0, len(text)
        while at < end:
            closer = self._awaited.closer
            at = read(self._line, text, at, end) if closer is None else self._read_until(closer, text, at)

    @property
    def special(self) -> re.Pattern[str] | None:
        """Finds what may change `line_start` or `prompts_reasoning_end` in text that comes next; None: any may."""
        if self._awaited.closer is PROMPTS_REASONING:
            self.settle()
            if self._awaited.closer is PROMPTS_REASONING:
                return None if self._line.line_start or self._awaited.tail else _IN_REASONING
        return None if self.line_start else _IN_LINE

    @property
    def in_prompts_reasoning(self) -> bool:
        """Whether this place is in reasoning that nothing in the text has opened."""
        if self._awaited.closer is PROMPTS_REASONING:
            self.settle()
        return self._awaited.closer is PROMPTS_REASONING

    def prompts_reasoning_end(self, text: str, at: int) -> int:
        """Where reasoning that nothing in the text has opened ends in `text`, of which all before `at` was shown.

        -1 where this place is in no such reasoning, or it does not end there.
        """
        if not self.in_prompts_reasoning:
            return -1
        end, found = replace(self._awaited).find(PROMPTS_REASONING, text, at)
        return end if found else -1

    def leave_reasoning(self) -> None:
        """The text so far did not start inside reasoning, though it was said to."""
        if self.in_prompts_reasoning:
            self._awaited.look_for(None)
            self.restart()

    def enter_reasoning(self) -> None:
        """The text that comes next is reasoning, up to any closer."""
        self.settle()
        self._awaited.look_for(PROMPTS_REASONING)

    def end_reasoning(self) -> None:
        """What seemed to be reasoning ends here, though no closer says so."""
        self.settle()
        self._awaited.look_for(None)
        self.restart()

    @property
    def in_fence(self) -> bool:
        """Whether this place is in a fence of Markdown's own."""
        self.settle()
        return self._line.blocks.leaf == FENCE

    def restart(self) -> None:
        """A closer of reasoning is here that closes nothing: all before it was reasoning, and a message begins."""
        if self.in_prompts_reasoning:
            self._awaited.look_for(None)
        self.settle()
        self._line.restart()

    @classmethod
    def behind(cls, blocks: Iterable[str]) -> "Position":
        """Where a text block begins that follows these of the same message."""
        place = cls()
        for text in blocks:
            place.advance(text)
            place.next_block()
        return place

    def copy(self) -> "Position":
        """The same place, to go on from there with other text."""
        self.settle()
        made = Position()
        made._line = self._line.copy()
        made._awaited = made._line.awaited
        return made

    def next_block(self) -> None:
        """Another text block of the same message begins here: a line, unless something quoted goes on."""
        self.settle()
        line = self._line
        if self._awaited.closer is None and (line.closes_fence() or line.opens_fence()):  # the line of a fence is whole
            self._advance("\n")
        if self._blocks_go_on or self.reason() is not None:
            return
        if line.state != PREFIX or line.blocks.column:
            self._advance("\n")

    def end_paragraph(self) -> None:
        """No paragraph goes on after this place, and so no inline code and no block quote; a fence does."""
        self.settle()
        if not self._blocks_go_on:
            self._advance("\n\n")

    @property
    def _blocks_go_on(self) -> bool:
        """Whether this place is in what only its own closer ends."""
        return self._awaited.closer is not None or self._line.blocks.leaf == FENCE or self._line.literals.open

    def closers(self) -> tuple[str, ...]:
        """What may end the quotation that this place is in: a closer by itself, a fence on a line of its own."""
        self.settle()
        blocks = self._line.blocks
        if self._awaited.closer is not None:
            return (self._awaited.closer.text,)
        if blocks.leaf == FENCE:
            return (blocks.fence * blocks.fence_length,)
        if self._line.opens_fence():
            return (blocks.fence * self._line.run,)
        return ()

    @property
    def line_start(self) -> bool:
        """Whether only spaces, tabs and closers of reasoning come before this place on its line."""
        for piece in reversed(self._unread):
            words = piece.rstrip(" \t")
            if words:
                last = words[-1]
                if last in "\r\n":
                    return True
                if last not in CLOSERS_LAST or words[-2:].strip().lower() not in CLOSER_ENDS:
                    return False
                self.settle()  # the end of a closer may be there
                break
        return self._line.line_start

    def follows(self, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern` finds something in this line up to here, or in its last `REACH` characters."""
        self.settle()
        return pattern.search(self._line.tail.text()) is not None

    def reason(self) -> Quotation | None:
        """What a construct that starts here would be in, None for ordinary text.

        In reasoning nothing else is tracked: what is code in there is not the reply's code.
        """
        self.settle()
        line = self._line
        reason = line.quotation()
        if reason not in (None, "inline_code", "indented_code"):
            return reason
        literals = line.literals
        if literals.conversation or literals.answers(line.tail.text()):
            return "block_quote"
        return "fenced" if literals.holds(*line.begins()) else reason

    def _read_until(self, closer: Closer, text: str, at: int) -> int:
        """Read up to and with the closer, or all that is there. Comments are read as blocks at the same time:

        where CommonMark does not agree that it is a comment, its blocks must be known when it ends.
        """
        end, found = self._awaited.find(closer, text, at)
        if closer.ends == "reasoning":
            self._note_lines(text[at:end])
        else:
            read(self._line, text, at, end)
        if found:
            self._awaited.look_for(None)
            if self._line.blocks.leaf == HTML:
                self._line.blocks.leaf = HTML_END
            if closer.ends == "reasoning":
                self._line.restart()
        return end

    def _note_lines(self, text: str) -> None:
        """Reasoning goes on, of which only the end of its line is kept."""
        line, last = self._line, max(text.rfind("\n"), text.rfind("\r"))
        if last >= 0:
            line.tail.pieces.clear()
        line.tail.note(text[last + 1 :])
        line.line_start = (line.line_start or last >= 0) and not text[last + 1 :].strip(" \t")
