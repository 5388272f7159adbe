"""Reasoning tags outrank tools of the same name: whether `<think>` opens reasoning or calls a tool `think`.

It is a call only where nothing but the tool's declared parameters is inside, each as a whole element, and at least
one: models write `<think></think>` when they do not think.
"""

from toolcalls.text.quoting_marks import REASONING_TAGS
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.toolbox import Toolbox

_MOST = 16384  # characters of one element that are looked over: what is looked at is not consumed


def may_be_reasoning(literal: str) -> bool:
    """Whether an opener is a reasoning tag."""
    if "|" in literal:  # special tokens name no tool
        return False
    return literal in REASONING_TAGS or literal.lower() in REASONING_TAGS


def is_reasoning(scan: Scanner, literal: str, ahead: int, tools: Toolbox) -> Step[bool]:
    """Whether the tag `literal`, `ahead` characters from here, opens reasoning. Waits only while it may be a call."""
    name = literal[1:-1]
    closer = f"</{name}>"
    opening = tuple(f"<{key}>" for key in tools.keys(name))
    called = False
    ahead += len(literal)
    while True:
        ahead = yield from scan.space(ahead)
        tag = yield from scan.among((closer, *opening), ahead)
        if tag is None or tag == closer:
            return tag is None or not called
        called = True
        end = yield from _end_of(scan, f"</{tag[1:]}", closer, ahead + len(tag))
        if end is None:
            return True
        ahead = end


def _end_of(scan: Scanner, end: str, closer: str, ahead: int) -> Step[int | None]:
    """The offset after the first `end` from `ahead` on; None where `closer` comes before it, or none comes."""
    since, overlap = ahead, max(len(end), len(closer)) - 1
    while True:
        text, start = scan.text, scan.pos + since
        found, closed = text.find(end, start), text.find(closer, start)
        if found >= 0:
            behind = found + len(end) - scan.pos
            return None if 0 <= closed < found or behind - ahead > _MOST else behind
        if closed >= 0 or scan.ended or scan.rest() - ahead > _MOST:
            return None
        since = max(since, scan.rest() - overlap)
        yield
