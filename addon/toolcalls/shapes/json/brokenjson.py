"""Where JSON that broke ends: where the brackets that are open in it are closed.

The arguments of a call that break are still its own, and are not searched for calls. What follows them may be a call
again. A bracket in a string closes nothing. A bracket that another kind closes, or a string that does not end, leaves
nobody sure of the end: then none is found, and all that follows belongs to the broken call.
"""

from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.json_tokenizer import Marks

UNKNOWN = ""  # stands for an open bracket of which nobody knows how to find its end: the text broke off in a string

_CLOSERS = {"{": "}", "[": "]"}
_BEFORE_VALUE = frozenset("{[,:")  # after one of these a single quote begins a string
_MOST = 512  # brackets that are open at once


def skip_json(scan: Scanner, unclosed: list[str], ends: tuple[str, ...] = (), *, keep: int = 0) -> Step[bool]:
    """Take what is left of broken JSON. Returns whether its end was found, up to which it was taken then.

    unclosed   what closes each bracket that is open, outermost first; those that get closed are removed
    ends       what ends a call wherever it stands; it is left unread
    keep       how many brackets stay open
    """
    first = "".join(sorted({end[0] for end in ends}))
    marks = Marks("{}[]'" + first, first)
    last = ""
    while len(unclosed) > keep:
        found = marks.next(scan.text, scan.pos)
        passed = scan.take((found - 1 if found > 0 else len(scan.text)) - scan.pos)
        last = passed.rstrip()[-1:] or last
        if found < 0:
            if scan.ended:
                return False
            yield
            continue
        if ends and (yield from scan.among(ends)) is not None:
            return False
        char = scan.take(1)
        if marks.quote:
            continue
        if char == "'" and last in _BEFORE_VALUE:
            marks.quote = char
        elif char in _CLOSERS:
            unclosed.append(_CLOSERS[char])
            if len(unclosed) > _MOST:
                return False
        elif char in "}]" and unclosed.pop() != char:
            return False
        last = char
    return True
