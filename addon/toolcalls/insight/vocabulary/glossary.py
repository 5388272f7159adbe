"""The words of the page for what became of a call or a reply, each with its meaning: what a person reads on hover.

They are the statuses, and what the page says of a whole exchange beside them. There is no second set of words.
"""

import re
from collections.abc import Mapping

from toolcalls.insight.vocabulary.statuses import SEVERITY
from toolcalls.insight.vocabulary.words import NEEDS_LOOK, OTHER_WORDS, STATUSES

LEAK = "leak"
FAILED_REQUEST = "failed request"
BROKE_OFF = "broke off"
EMPTY = "empty reply"

_LINK = re.compile(r"\s*\(\[[^]]*\]\([^)]*\)\)")


def _plain(markdown: str) -> str:
    return _LINK.sub("", markdown).replace("`", "")


# Every word, in the order in which filters show them.
GLOSSARY: Mapping[str, str] = {
    **NEEDS_LOOK,
    **{
        code: OTHER_WORDS.get(code) or _plain(STATUSES[code].in_docs)
        for code in reversed(SEVERITY)
        if code not in NEEDS_LOOK
    },
    **OTHER_WORDS,
}
