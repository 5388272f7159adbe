"""The literals that mean something inside a line of Markdown, matched one character at a time."""

import re
from dataclasses import dataclass

from toolcalls.text.markdown.closers import AFTER_NAME, RAW, REASONING
from toolcalls.text.quoting_marks import CODE_TAGS, REASONING_CLOSERS

CLOSERS = frozenset(REASONING_CLOSERS)
CODE_ENDS = {f"<{name}{after}": f"</{name}>" for name in CODE_TAGS for after in AFTER_NAME[1:]}
TOKENS = {
    *("<!--", *REASONING, *CLOSERS),
    *(tag for tag in RAW if not tag[-1].isalpha()),
    *(*CODE_ENDS, *CODE_ENDS.values()),
}
BEGINNINGS = frozenset(token[:size] for token in TOKENS for size in range(1, len(token) + 1))
# What stands second in a token; a `<` before anything else begins at most a tag.
_SECONDS = frozenset(second for token in TOKENS for second in (token[1], token[1].upper()))
_NAMES = "|".join(sorted({name[1] for token in TOKENS if (name := re.match(r"</?([A-Za-z]+)", token))}))
# A `<` that stands for nothing here: a sign, or a whole tag without attributes, of no name that means something.
NO_MARK = rf"<(?:(?=[ =\d])|/?(?!(?i:{_NAMES})>)[A-Za-z][A-Za-z0-9]*+>)"


@dataclass(slots=True)
class Token:
    """What may be one of `TOKENS`, as far as it has come.

    blank   only blanks come before it on its line
    flush   it may start a block
    """

    text: str = ""
    blank: bool = False
    flush: bool = False


def is_no_token(begins: str) -> bool:
    """Whether a `<` and what follows it, three characters if there are as many, begin no token."""
    if begins[1] not in _SECONDS:
        return True
    return len(begins) == 3 and begins not in BEGINNINGS and begins.lower() not in BEGINNINGS
