"""The words of the page for what became of a call or a reply, each with its meaning: what a person reads on hover.

They are the statuses, and what the page says of a whole exchange beside them. There is no second set of words.
"""

import re
from collections.abc import Mapping

from toolcalls.insight.vocabulary.statuses import DAMAGED, FAILED_STATUS, MENDED, SEVERITY, STATUSES

LEAK = "leak"
FAILED_REQUEST = "failed request"
BROKE_OFF = "broke off"
EMPTY = "empty reply"

# What needs a look, from what needs it most.
NEEDS_LOOK: Mapping[str, str] = {
    FAILED_STATUS: "a fault of the addon: from there on the upstream's bytes passed unchanged",
    FAILED_REQUEST: "the server answered with an error, or not at all",
    BROKE_OFF: "the connection broke before the reply was whole",
    EMPTY: "the reply holds neither text nor a call",
    LEAK: "a call that stayed text: the agent printed it instead of running it",
    "truncated": "the reply ended inside the call",
    "malformed": "it begins like a call and cannot be read as one",
    DAMAGED: "a native call or a whole reply came damaged, and the agent got it so",
}

_LINK = re.compile(r"\s*\(\[[^]]*\]\([^)]*\)\)")
_OTHERS = {
    MENDED: "a native call or the end of the reply came damaged, and was mended",
    "no call": "the reply holds no call",
    "no calls": "no reply of it holds a call",
    "not read": "an exchange that the addon does not read",
    "waiting": "the request was sent, and nothing of the reply has come",
    "streaming": "the reply is coming",
}


def _plain(markdown: str) -> str:
    return _LINK.sub("", markdown).replace("`", "")


# Every word, in the order in which filters show them.
GLOSSARY: Mapping[str, str] = {
    **NEEDS_LOOK,
    **{
        code: _OTHERS.get(code) or _plain(STATUSES[code].in_docs)
        for code in reversed(SEVERITY)
        if code not in NEEDS_LOOK
    },
    **_OTHERS,
}
