"""Where in a text a secret may begin: all places at which a pattern can match, and some at which it does not.

Python's `re` tries each of the eighty alternatives of `SECRET` at each character, most of a microsecond in all; a
recording took longer to redact than to make. So the pattern is made simpler until RE2 can run it (one state machine,
some nanoseconds for a character): what looks around goes, and what comes after a long repeat goes. Both only make it
match more, so no secret is lost, however the pattern changes. Python looks at the places that are left.

Most texts hold none of the alternatives. So one pass says which of them a text holds at all, and only those are
searched for.

RE2 sees bytes of ASCII, in which `?` stands for any other character; so places in both are the same.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from re import _parser  # type: ignore[attr-defined] # what reads patterns; there is no public one
from typing import Any

import re2

_LONG = 40  # a repeat that may be longer ends what is looked at
_LEAST = 6  # of a repeat that is cut off there
_MEMORY = 16 * 1024 * 1024  # bytes for one alternative's states: in less, RE2 makes some of them again and again
_MEMORY_OF_ALL = 64 * 1024 * 1024  # bytes for those of all together; they are taken as they are needed
_OTHER = ord("?")  # stands for all that is no ASCII
_ASCII = frozenset(range(128))
# Letters that re.IGNORECASE takes for one of ASCII.
_FOLDED = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}

# A pattern of RE2, and whether what comes after it may be looked at.
type _Made = tuple[str, bool]


def starts_of(pattern: re.Pattern[str]) -> Callable[[str], Iterator[int]]:
    """A function that finds, in order, where matches of `pattern` may begin; a place may come twice. `pattern` is a row
    of alternatives and has no flags of its own.

    Each alternative is searched for alone, since where one begins another may begin, too.
    """
    [(_, (_, branches))] = _parser.parse(pattern.pattern)
    made = [_sequence(one, ignore_case=False)[0] for one in branches]
    options = re2.Options()
    options.max_mem = _MEMORY
    searches = [re2.compile(one.encode("ascii"), options).search for one in made]
    options.max_mem = _MEMORY_OF_ALL
    present: Any = re2.Set.SearchSet(options)
    for one in made:
        present.Add(one.encode("ascii"))
    present.Compile()

    def starts(text: str) -> Iterator[int]:
        data = _ascii(text)
        return merge(*(_found(searches[one], data) for one in present.Match(data) or ()))

    return starts


def _ascii(text: str) -> bytes:
    """A text with one byte for each character."""
    if text.isascii():
        return text.encode()
    for folded, letter in _FOLDED.items():
        text = text.replace(folded, letter)
    return text.encode("ascii", "replace")


def _found(search: Callable[..., Any], data: bytes) -> Iterator[int]:
    found = search(data)
    while found is not None:
        yield found.start()
        found = search(data, found.start() + 1)


def _sequence(items: Iterable[tuple[Any, Any]], *, ignore_case: bool) -> _Made:
    made = []
    for operator, value in items:
        one, goes_on = _item(str(operator), value, ignore_case=ignore_case)
        made.append(one)
        if not goes_on:
            return "".join(made), False
    return "".join(made), True


def _item(operator: str, value: Any, *, ignore_case: bool) -> _Made:
    match operator:
        case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
            return _class(_characters(operator, value, ignore_case=ignore_case)), True
        case "ASSERT" | "ASSERT_NOT" | "AT":
            return "", True
        case "SUBPATTERN":
            _, added, removed, inside = value
            ignore = (ignore_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            made, goes_on = _sequence(inside, ignore_case=ignore)
            return f"(?:{made})", goes_on
        case "ATOMIC_GROUP":
            made, goes_on = _sequence(value, ignore_case=ignore_case)
            return f"(?:{made})", goes_on
        case "BRANCH":
            branches = [_sequence(one, ignore_case=ignore_case) for one in value[1]]
            return "(?:" + "|".join(made for made, _ in branches) + ")", all(goes_on for _, goes_on in branches)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _repeat(*value, ignore_case=ignore_case)
    return "", False  # what is not known here: anything may follow


def _repeat(least: int, most: int, inside: Iterable[tuple[Any, Any]], *, ignore_case: bool) -> _Made:
    made, goes_on = _sequence(inside, ignore_case=ignore_case)
    if not goes_on:
        return f"(?:{made})" if least else "", False
    if most > _LONG:
        return f"(?:{made}){{{min(least, _LEAST)}}}" if least else "", False
    return f"(?:{made}){{{least},{most}}}", True


def _characters(operator: str, value: Any, *, ignore_case: bool) -> frozenset[int]:
    """The bytes that stand for the characters of a class."""
    if operator == "ANY":
        return _ASCII
    negated = operator == "NOT_LITERAL"
    items: Sequence[tuple[Any, Any]] = value if operator == "IN" else [("LITERAL", value)]
    found: set[int] = set()
    other = False
    for kind, one in items:
        match str(kind):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(one)
                other = other or one > 127
            case "RANGE":
                found.update(range(one[0], min(one[1], 127) + 1))
                other = other or one[1] > 127
            case _:  # CATEGORY: each has characters that are no ASCII
                found.update(_category(str(one)))
                other = True
    letters = {ord(chr(one).swapcase()) for one in found if one < 128} if ignore_case else set()
    inside = (found | letters) & _ASCII
    if negated:
        return (_ASCII - inside) | {_OTHER}
    return frozenset(inside | ({_OTHER} if other else set()))


def _category(name: str) -> set[int]:
    letter = {"SPACE": "s", "DIGIT": "d", "WORD": "w"}[name.rpartition("_")[2]]
    category = re.compile("\\" + (letter.upper() if "_NOT_" in name else letter))
    return {one for one in _ASCII if category.match(chr(one))}


def _class(characters: frozenset[int]) -> str:
    return "[" + "".join([f"\\x{one:02x}" for one in sorted(characters)]) + "]" if characters else "[^\\x00-\\xff]"
