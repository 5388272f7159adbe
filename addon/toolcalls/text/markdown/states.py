"""The states in which a line of Markdown is read, and what ends those that skip ahead."""

import re

from toolcalls.text.markdown.tokens import NO_MARK

# Up to TOKEN_START the line's kind is open, and what it does to the blocks before it has not been done.
(PREFIX, MARKER, DIGITS, HASHES, FENCE_RUN, TOKEN_START,
 INFO, CLOSING, CLOSING_BLANKS, RULE, TOKEN, TICKS, ESCAPE,
 TEXT, SPAN, TAG, QUOTED, RAW_LINE, REST, CODE) = range(20)  # fmt: skip

_END_ONLY = re.compile(r"[\r\n]")
# The states that skip ahead, each to the next character that matters in it.
SEARCH: dict[int, re.Pattern[str]] = {
    INFO: re.compile(r"[`\r\n]"),
    TEXT: re.compile(rf"[`\\\r\n]|(?!{NO_MARK})<"),
    SPAN: re.compile(r"[`\r\n]"),
    TAG: re.compile(r"[`<>\"'\r\n]"),
    QUOTED: re.compile(r"[`<\"'\r\n]"),
    RAW_LINE: re.compile(r"[<\r\n]"),
    REST: _END_ONLY,
    CODE: _END_ONLY,
}
