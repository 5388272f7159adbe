"""CommonMark's blocks (https://spec.commonmark.org/0.31.2/): what is open, and how far a line has matched it."""

from dataclasses import dataclass, field, replace

from toolcalls.text.markdown.inline import Inline

# Containers (quotes and list items) that are tracked; deeper nesting is no reply's own text.
MAX_DEPTH = 16
QUOTE = 0  # on the stack of containers; any other number is a list item's content offset, which is at least 2
# The open leaf block.
NO_LEAF, PARAGRAPH, HEADING, FENCE, HTML, HTML_END = range(6)  # HTML_END: the closer was on this line


@dataclass(slots=True)
class Blocks:
    """The open containers and the open leaf; and what the line so far, of white space and markers, has matched of them.

    stack         the containers, the outermost first
    leaf          the leaf block that is open
    inline        what is open in its text
    fence         the character of the fence, `fence_length` how many of it
    deep          containers nest deeper than MAX_DEPTH
    empty_item    the innermost container is a list item without content so far

    column        the column of the line that was read up to
    base          the column at which the content of the innermost matched container starts
    depth         how many containers the line has matched
    after_quote   the marker of a block quote was read last
    marker_end    the column behind a list marker with white space after it, 0 for none
    """

    stack: list[int] = field(default_factory=list)
    leaf: int = NO_LEAF
    inline: Inline = field(default_factory=Inline)
    fence: str = ""
    fence_length: int = 0
    deep: bool = False
    empty_item: bool = False
    column: int = 0
    base: int = 0
    depth: int = 0
    after_quote: bool = False
    marker_end: int = 0

    def copy(self) -> "Blocks":
        """The same, to go on from there."""
        return replace(self, stack=list(self.stack), inline=replace(self.inline))

    @property
    def indent(self) -> int:
        """The columns of white space before this place in the innermost matched container."""
        return self.column - self.base

    @property
    def item_content(self) -> int:
        """The column at which the content of the item starts whose marker was read, and which goes on here."""
        return self.column if self.column - self.marker_end <= 4 else self.marker_end + 1

    def interrupts(self) -> bool:
        """Whether a block that started here would interrupt a paragraph of the same container."""
        return self.leaf == PARAGRAPH and self.depth == len(self.stack)

    def indent_by(self, columns: int) -> None:
        """Blanks are at the start of the line; count the list items whose content offset they reach."""
        if self.after_quote:  # the blank after ">" belongs to it, of a tab one column
            self.base, self.after_quote = self.base + 1, False
        self.column += columns
        stack = self.stack
        if self.marker_end or self.depth >= len(stack):
            return
        while self.depth < len(stack) and 0 < stack[self.depth] <= self.column - self.base:
            self.base += stack[self.depth]
            self.depth += 1

    def quote_marker(self) -> None:
        """The marker of a block quote is here."""
        self.column += 1
        self.base = self.column
        self.after_quote = True

    def close(self, depth: int) -> None:
        """End the open leaf, and all containers but the first `depth`."""
        del self.stack[depth:]
        self.deep = self.deep and len(self.stack) == MAX_DEPTH
        self.leaf = NO_LEAF
        inline = self.inline
        inline.span, inline.tag, inline.unsure, inline.element = 0, "", False, ""

    def start(self, leaf: int) -> None:
        """A leaf begins in the containers that the line has matched."""
        self.close(self.depth)
        self.leaf = leaf

    def start_fence(self, length: int) -> None:
        """A fence of so many characters begins."""
        self.start(FENCE)
        self.fence_length = length

    def enter(self, container: int) -> None:
        """A container begins."""
        self.close(self.depth)
        if len(self.stack) == MAX_DEPTH:
            self.deep = True
        else:
            self.stack.append(container)
            self.depth += 1

    def enter_item(self, content: int) -> None:
        """A list item begins whose content starts at this column."""
        self.enter(content - self.base)
        self.base = content
        self.marker_end = 0

    def end_marker(self, marker: str) -> None:
        """A list marker stands alone on its line: an empty item, which cannot interrupt a paragraph."""
        if not self.interrupts():
            self.enter_item((self.marker_end or self.column) + 1)
            self.empty_item = not self.deep
        elif marker == "-":  # a setext underline
            self.close(self.depth)

    def end_blank(self) -> None:
        """A blank line ends paragraphs and quotes, not list items, unless the item is still empty."""
        depth, stack = self.depth, self.stack
        while depth < len(stack) and stack[depth] != QUOTE:
            depth += 1
        if self.empty_item and depth == len(stack):
            depth -= 1
        self.empty_item = False
        if depth < len(stack) or self.leaf not in (FENCE, HTML):
            self.close(depth)
