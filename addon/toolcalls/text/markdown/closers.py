"""The closers that alone end a quotation, and the search for one in text that arrives in pieces."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from toolcalls.events import Quotation
from toolcalls.text.quoting_marks import MESSAGE_ENDS, QUOTING_TAGS, RAW_TAGS, REASONING_CLOSERS, REASONING_TAGS


class Closer(NamedTuple):
    """What it ends, its pattern, the length of its longest form, and the first of its forms."""

    ends: Quotation
    pattern: re.Pattern[str]
    width: int
    text: str


def _closer(ends: Quotation, *forms: str) -> Closer:
    pattern = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
    return Closer(ends, pattern, max(map(len, forms)), forms[0])


COMMENT = _closer("html_comment", "-->")
# Of reasoning that the prompt began; Kimi K3's mark also with blanks in it or without its name.
_ANY_REASONING = [*map(re.escape, (*REASONING_CLOSERS, *MESSAGE_ENDS)), r"<\|close\|>\s{0,8}(?:think\s{0,8})?<\|sep\|>"]
PROMPTS_REASONING = Closer("reasoning", re.compile("|".join(_ANY_REASONING), re.IGNORECASE), 48, REASONING_CLOSERS[0])
# By what opens it.
REASONING = {opener: _closer("reasoning", closer) for opener, closer in REASONING_TAGS.items()}
AFTER_NAME = ("", " ", "\t", ">")  # `<pre` without more counts at the end of a line only
RAW = {
    **{f"<{name}{after}": _closer("fenced", f"</{name}>") for name in RAW_TAGS for after in AFTER_NAME},
    **{f"<{name}{after}": _closer("block_quote", f"</{name}>") for name in QUOTING_TAGS for after in AFTER_NAME},
    "<?": _closer("fenced", "?>"),  # kinds 3 and 5
    "<![CDATA[": _closer("fenced", "]]>"),
}


@dataclass(slots=True)
class Awaited:
    """The closer that ends the quotation which the text is in; None where only Markdown ends it.

    tail    the end of the text in which it was not found, as much as may begin it
    """

    closer: Closer | None = None
    tail: str = ""

    def look_for(self, closer: Closer | None, tail: str = "") -> None:
        """From here on this one is looked for, which may begin in `tail`."""
        self.closer, self.tail = closer, tail

    def find(self, closer: Closer, text: str, at: int) -> tuple[int, bool]:
        """The end of the closer, and True; or the end of the text. Looks again at the seam between pieces only."""
        tail, overlap = self.tail, closer.width - 1
        if tail:
            match = closer.pattern.search(tail + text[at : at + overlap])
            if match is not None and match.end() > len(tail):
                return at + match.end() - len(tail), True
        match = closer.pattern.search(text, at)
        if match is not None:
            return match.end(), True
        seam = (tail + text[max(at, len(text) - overlap) :])[-overlap:]
        begins = [mark for mark in map(seam.find, "<[-]?") if mark >= 0]
        self.tail = seam[min(begins) :] if begins else ""
        return len(text), False
