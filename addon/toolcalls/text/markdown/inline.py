"""What is open inside a paragraph: inline code, a tag, an element of code."""

from dataclasses import dataclass

from toolcalls.text.markdown.states import QUOTED, REST, SPAN, TAG, TEXT


@dataclass(slots=True)
class Inline:
    """The inline constructs that are open, all of which end with their paragraph.

    span     the length of the backtick run that opened inline code, 0 for none
    tag      ">" in what may be a tag, the quote in a quoted attribute of one, "" outside
    unsure   a backtick was in what may be a tag: which runs pair up is unknown in this paragraph
    element  the closer of an element of code, "" for none
    """

    span: int = 0
    tag: str = ""
    unsure: bool = False
    element: str = ""

    def state(self) -> int:
        """The state in which the line is read on."""
        if self.unsure:
            return REST
        if self.span:
            return SPAN
        if self.tag:
            return TAG if self.tag == ">" else QUOTED
        return TEXT

    def in_tag(self, char: str) -> None:
        """Read a character of what may be a tag. A backtick in a real one opens nothing, so then all is unsure."""
        if char == "`":
            self.unsure = True
        elif char == ">" == self.tag:
            self.tag = ""
        elif self.tag == ">" and char in "\"'":
            self.tag = char
        elif char == self.tag:  # the end of the quoted attribute
            self.tag = ">"


def span_after(span: int, run: int) -> int:
    """The open span after a run of backticks: it opens one, or closes the one of its own length."""
    return run if span == 0 else 0 if span == run else span


def begins_tag(second: str) -> bool:
    """Whether a `<` and this character may begin a tag."""
    return second.isalpha() or second in ("/", "!", "?")
