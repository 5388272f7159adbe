r"""Where a JSON string ends whose own quotes lost their escapes: `{"command": "echo "hi""}`.

In sound JSON, what comes after the closing quote of a member's value is the object's closer, or a comma and the next
key. After a quote that is text, something else stands. So a string is read on past such quotes, where that is the only
reading: they come in pairs, up to a quote that ends the value, on one line, with no mark of a call's form between, and
no object after another. What may as well be a missing comma, or a key without a quote, is left as broken as it is; and
so are the items of an array, where a comma between two quotes has two meanings.
"""

import re

_MOST = 4096  # characters that are looked at after the first quote
_SPACE = 1024
_GAP = " \t\n\r\xa0"
_LONGEST_KEY = 1024
_SIGN = re.compile(
    r'["{}]|\\.|[\r\n]|<[|｜]|</?\|?(?:tool|function|invoke|call|arg_|param|request)|\[/?(?:TOOL|ARGS)', re.IGNORECASE
)
_KEY = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BARE_KEY = re.compile(r'[\w$.-]{1,64}"?[ \t]*:')
_MAY_BE_BARE_KEY = re.compile(r'[\w$.-]{0,64}(?:"?[ \t]*)')
_BEHIND_KEY = frozenset(':/#"{[-0123456789')  # the colon, a comment, or a value without its colon
_LOST_COMMA = re.compile(r'[;.|+=]?[ \t]*"[^"\\\r\n]{1,64}"[ \t]*:')
_MAY_BE_LOST_COMMA = re.compile(r'[;.|+=]?[ \t]*(?:"[^"\\\r\n]{0,64}(?:"[ \t]*)?)?')


class _Undecided(Exception):
    """The text so far does not tell."""


def end_of_value(text: str, at: int, *, final: bool) -> int:
    """The offset of the quote that ends a member's value: of the one at `at` in it, or of one after that.

    -1 where more text decides; `final`: none comes.
    """
    try:
        if not _is_text(text, at, final=final):
            return at
        return _beyond(text, at, final=final)
    except _Undecided:
        return at if final else -1


def _beyond(text: str, at: int, *, final: bool) -> int:
    """The quote after the one at `at`, which is text, that ends the string; `at` where none does for sure."""
    quotes, pos, limit = 1, at + 1, at + _MOST
    closed = False  # an object has ended
    while True:
        sign = _SIGN.search(text, pos, limit)
        if sign is None and len(text) < limit and not final:
            raise _Undecided
        if sign is None or sign[0][0] not in '"\\{}' or (closed and sign[0] == "{"):
            return at
        pos = sign.end()
        closed = closed or sign[0] == "}"
        if sign[0] != '"':
            continue
        if not _is_text(text, sign.start(), final=final):
            return at if quotes % 2 else sign.start()
        quotes += 1


def _is_text(text: str, at: int, *, final: bool) -> bool:
    """Whether what comes after the quote at `at` says that it does not end a value, and nothing is missing there."""
    place = _behind_space(text, at + 1, final=final)
    char = text[place] if place < len(text) else ""
    if char in "}]/#":
        return False
    if char == ",":
        place = _behind_space(text, place + 1, final=final)
        while text.startswith(",", place):  # a comma that comes twice
            place = _behind_space(text, place + 1, final=final)
        char = text[place] if place < len(text) else ""
        if not char:
            return False
        if char == '"':
            return not _is_key(text, place, final=final)
        return char not in "}'/#" and not _matches(_BARE_KEY, _MAY_BE_BARE_KEY, text, place, final=final)
    return not _matches(_LOST_COMMA, _MAY_BE_LOST_COMMA, text, place, final=final)


def _behind_space(text: str, at: int, *, final: bool) -> int:
    end = at
    while end < len(text) and text[end] in _GAP:
        end += 1
    if end == len(text) and not final and end - at < _SPACE:
        raise _Undecided
    return end


def _is_key(text: str, at: int, *, final: bool) -> bool:
    """Whether a string that begins here is a key, by its colon, or one that lost it. What is too long counts as one."""
    found = _KEY.match(text, at)
    if found is None:
        if len(text) - at < _LONGEST_KEY and not final:
            raise _Undecided
        return not final
    place = _behind_space(text, found.end(), final=final)
    return text[place : place + 1] in _BEHIND_KEY


def _matches(whole: re.Pattern[str], part: re.Pattern[str], text: str, at: int, *, final: bool) -> bool:
    """Whether `whole` is here; `part` is what it may be so far."""
    if whole.match(text, at) is not None:
        return True
    if not final and part.fullmatch(text, at) is not None:
        raise _Undecided
    return False
