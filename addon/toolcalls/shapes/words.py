"""Words that come ahead in the text, looked at whole before anything of them is consumed."""

import re
from functools import lru_cache

from toolcalls.shapes import Unwritable
from toolcalls.text.scanner import Scanner, Step

# Characters of a name or a key. What is longer is none.
MAX_WORD = 256

# Words that models leak alone in front of a call, and inside one (anthropics/claude-code #64690, #66809).
LEAKED = ("court", "count", "call", "card")

# A tool's name where an opening bracket follows, and a parameter's where a colon or an equals sign does.
NAME = re.compile(r"[\w.:/@-]*+")
KEY = re.compile(r"[\w.$/@-]*+")


def word(scan: Scanner, pattern: re.Pattern[str], ahead: int = 0) -> Step[str]:
    """What `pattern` matches `ahead` characters from here; "" for nothing, and for what is longer than MAX_WORD."""
    while True:
        at = scan.pos + ahead
        found = pattern.match(scan.text, at, at + MAX_WORD + 1)
        size = len(found.group()) if found is not None else 0
        if size > MAX_WORD:
            return ""
        if at + size < len(scan.text) or scan.ended:
            return scan.text[at : at + size]
        yield


def check_name(name: str, place: str) -> None:
    """Raise Unwritable for a tool's name that `word` would not read where it is written."""
    if not name or len(name) > MAX_WORD or not NAME.fullmatch(name):
        raise Unwritable(f"{name!r} cannot be written as a name {place}")


def character(scan: Scanner, ahead: int = 0) -> Step[str]:
    """The character that stands `ahead` characters from here, which is not taken; "" at the end of the text."""
    while scan.rest() <= ahead and not scan.ended:
        yield
    return scan.text[scan.pos + ahead : scan.pos + ahead + 1]


def barred(word: str) -> tuple[str, str]:
    """A special token as its model writes it, and with the ASCII bars that servers put in their place."""
    return f"<｜{word}｜>", f"<|{word}|>"


def deepseek_token(word: str, before: str = "") -> tuple[str, ...]:
    """A special token of DeepSeek's in each spelling, the model's own first; blanks in `word` are between its parts.

    Servers put ASCII bars in the place of the bars or take them away, and what the blanks' place holder stands for in
    its place: a blank, or an underscore. What other models' tokens look like (`<|tool_call_begin|>`) is left out.
    """
    spelt = (
        ("<｜", "▁", "｜>"),
        ("<|", "▁", "|>"),
        ("<", "_", ">"),
        ("<｜", " ", "｜>"),
        ("<｜", "_", "｜>"),
        ("<|", " ", "|>"),
    )
    return tuple(f"{before}{left}{word.replace(' ', blank)}{right}" for left, blank, right in spelt)


def begun_pattern(literal: str) -> str:
    """A pattern for every proper beginning of `literal`, the longest first; the last is empty."""
    return "|".join(re.escape(literal[:size]) for size in range(len(literal) - 1, -1, -1))


def take_run(scan: Scanner, pattern: re.Pattern[str]) -> Step[str]:
    """Take all that `pattern`, a run of characters of one kind, matches from here on, however long it is."""
    parts: list[str] = []
    while True:
        found = pattern.match(scan.text, scan.pos)
        parts.append(scan.take(len(found.group()) if found is not None else 0))
        if scan.rest() or scan.ended:
            return "".join(parts)
        yield


def skip_past(scan: Scanner, ends: tuple[str, ...], *, before: tuple[str, ...] = ()) -> Step[None]:
    """Take all that is left of a broken call up to the first of `ends`, and that as well; all where none comes.

    So the payload of a broken call is never searched for others. Without `ends` nothing says how far it reaches. Those
    of `ends` that are in `before` are left standing.
    """
    if not ends:
        return
    first = _any_of("".join(sorted({end[0] for end in ends})))
    while True:
        found = first.search(scan.text, scan.pos)
        scan.take((found.start() if found is not None else len(scan.text)) - scan.pos)
        if found is not None:
            end = yield from scan.among(ends)
            if end in before:
                return
            scan.take(len(end) if end else 1)
            if end is not None:
                return
        elif scan.ended:
            return
        else:
            yield


@lru_cache(maxsize=64)
def _any_of(characters: str) -> re.Pattern[str]:
    return re.compile("[" + re.escape(characters) + "]")
