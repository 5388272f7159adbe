"""The state of one line of Markdown: what it was so far, and what is open around it."""

from collections import deque
from copy import copy
from dataclasses import dataclass, field, replace

from toolcalls.events import Quotation
from toolcalls.text.literals import REACH, LiteralBlocks
from toolcalls.text.markdown import states
from toolcalls.text.markdown.blocks import FENCE, HTML, HTML_END, MAX_DEPTH, NO_LEAF, PARAGRAPH, QUOTE, Blocks
from toolcalls.text.markdown.closers import Awaited
from toolcalls.text.markdown.inline import span_after
from toolcalls.text.markdown.tokens import Token

_SHORT = 16  # characters: shorter pieces of a line are kept one by one, so that what is kept of it is bounded


class LineTail:
    """The end of the line so far: its last `REACH` characters."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: deque[str] = deque(maxlen=REACH)

    def note(self, text: str) -> None:
        """Add text to the line."""
        if text:
            self.pieces.append(text[-REACH:])
            if len(text) >= _SHORT:
                tail = self.text()
                self.pieces.clear()
                self.pieces.append(tail)

    def text(self) -> str:
        return "".join(self.pieces)[-REACH:]


@dataclass(slots=True)
class Rule:
    """The line so far is of one character, "" for none: a thematic break, or the underline of a setext heading.

    count      how many of it
    depth      the containers in front of it
    underline  1 an unbroken run so far, 2 the same and blanks behind it, 0 no underline
    """

    char: str = ""
    count: int = 0
    depth: int = 0
    underline: int = 0


@dataclass(slots=True)
class Line:
    """The line that is read, and what is open around it.

    awaited       the closer that the text is in front of, where only that ends the quotation
    first         the first character of the line behind white space, and `blanks` the columns before it
    line_start    only white space and closers of reasoning come before this place on its line
    after_closer  such a closer was on this line: nothing to see, but it is no blank line
    after_return  a carriage return was read last: a line feed ends no other line
    run           the characters of one kind that were read: backticks, hashes, digits
    number        what the digits say
    quoted        the reasoning that is read began in a block quote

    spans_end_with_lines  inline code that is not closed on its line ends with it: a stray backtick quotes nothing below
    """

    awaited: Awaited = field(default_factory=Awaited)
    blocks: Blocks = field(default_factory=Blocks)
    literals: LiteralBlocks = field(default_factory=LiteralBlocks)
    tail: LineTail = field(default_factory=LineTail)
    token: Token = field(default_factory=Token)
    rule: Rule = field(default_factory=Rule)
    state: int = states.PREFIX
    first: str = ""
    blanks: int = 0
    line_start: bool = True
    after_closer: bool = True
    after_return: bool = False
    run: int = 0
    number: int = 0
    marker: str = ""
    quoted: bool = False
    spans_end_with_lines: bool = False

    def copy(self) -> "Line":
        """The same, to go on from there with other text."""
        made = copy(self)
        made.awaited, made.token, made.rule = replace(self.awaited), replace(self.token), replace(self.rule)
        made.blocks, made.literals = self.blocks.copy(), self.literals.copy()
        made.tail = LineTail()
        made.tail.pieces.extend(self.tail.pieces)
        return made

    def restart(self) -> None:
        """A new document, but a quote that reasoning was in is still one until a blank line."""
        self.blocks = Blocks(stack=[QUOTE], leaf=PARAGRAPH) if self.quoted else Blocks()
        self.literals = LiteralBlocks()
        self.tail.pieces.clear()
        self.new_line()
        self.after_closer, self.after_return = True, False

    # What is here

    def begins(self) -> tuple[int, str]:
        """The columns before the first character of the line, and that, "" where there is none yet."""
        return (self.blanks if self.first else self.blocks.column), self.first

    def is_ordinary(self) -> bool:
        """Whether this place is in no quotation but inline code."""
        return self.quotation() in (None, "inline_code")

    def opens_fence(self) -> bool:
        """Whether the line so far opens a fence."""
        return self.state == states.INFO or (self.state == states.FENCE_RUN and self.run >= 3)

    def closes_fence(self) -> bool:
        """Whether the line so far closes the open fence."""
        return self.state in (states.CLOSING, states.CLOSING_BLANKS) and self.run >= self.blocks.fence_length

    def quotation(self) -> Quotation | None:
        """What a construct that starts here would be in by Markdown alone, None for ordinary text."""
        closer = self.awaited.closer
        ends = closer.ends if closer else None
        if ends == "reasoning":
            return "reasoning"
        state, blocks = self.state, self.blocks
        stack, inline = blocks.stack, blocks.inline
        span, unsure, fenced = inline.span, inline.unsure or bool(inline.element), blocks.leaf == FENCE
        indented = state == states.CODE or (state == states.RULE and blocks.leaf == NO_LEAF)
        if state <= states.TOKEN_START:  # as if text came next
            continued = blocks.leaf == PARAGRAPH and not blocks.marker_end
            fenced = fenced and blocks.depth == len(stack)
            deep_enough = blocks.column - blocks.marker_end > 4 if blocks.marker_end else blocks.indent >= 4
            indented = state == states.PREFIX and not continued and deep_enough
            if not continued:
                stack, span, unsure = stack[: blocks.depth], 0, False
        if QUOTE in stack:  # before code: a fence inside a quotation is quoted, whoever reads fences
            return "block_quote"
        if ends == "fenced" or fenced or self.opens_fence():
            return "fenced"
        if indented or (blocks.deep and len(stack) == MAX_DEPTH):
            return "indented_code"
        if state == states.TICKS or (state == states.FENCE_RUN and blocks.fence == "`"):
            span = span_after(span, self.run)
        if span or unsure:
            return "inline_code"
        return ends

    # What a step does to what is open

    def new_line(self) -> None:
        self.state = states.PREFIX
        self.first = ""
        blocks = self.blocks
        blocks.column = blocks.base = blocks.depth = blocks.marker_end = 0
        blocks.after_quote = False
        self.line_start = True
        self.after_closer = False
        self.rule.char = ""

    def start_text(self) -> None:
        """The line goes on as text: of the open paragraph (lazily, if containers are unmatched) or of a new one."""
        if self.blocks.leaf != PARAGRAPH:
            self.blocks.start(PARAGRAPH)
        self.state = self.inside()

    def start_html(self) -> None:
        self.blocks.start(HTML)
        self.state = states.RAW_LINE

    def inside(self) -> int:
        """The state that reads on inside the line."""
        return states.RAW_LINE if self.blocks.leaf in (HTML, HTML_END) else self.blocks.inline.state()

    def start_token(self, char: str, state: int) -> None:
        token = self.token
        token.text, self.state = char, state
        token.blank = token.flush = False

    def end_ticks(self) -> None:
        """A run of backticks ends here."""
        inline = self.blocks.inline
        inline.span = span_after(inline.span, self.run)
        self.state = self.inside()
