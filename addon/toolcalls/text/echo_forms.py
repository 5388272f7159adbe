"""The forms in which a text of the request may have been written: what `text/echo.py` searches for a candidate.

What a tool read is in its result in the tool's own form: inside JSON, as a string of a program, as HTML, coloured,
with numbered, quoted, dated or wrapped lines, as a diff. A model that repeats it leaves all that away. So each text is
searched as it is, and with such layers taken off (`variants`, `readings`). And a tool that writes something in front of
one line does so in front of each (`line_prefixes`), as a program does that holds each line as a string of its own
(`literal_quotes`, `joined_literals`).

`Plain` makes of a candidate's text, as it comes, what `canonical` and `plain` make of a whole one.

No layer changes or joins the characters of a `_WORD`, unless escapes may hide them.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator

_BLANKS = " \t\r"
_LINE_END = re.compile(r"(?:(?<![ \t\r\n])[ \t\r]++)?\n[ \t\r\n]*+")
# The escapes of JSON (RFC 8259, section 7), which most languages share; those of template strings, and of a line's end.
_ESCAPES = {
    r"\n": "\n", r"\"": '"', r"\'": "'", r"\t": "\t", r"\r": "\r", r"\/": "/", r"\`": "`", r"\$": "$", "\\\n": "\n",
}  # fmt: skip
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_CODE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(?:0?33|e)(?=\[))")
ENTITY = re.compile(r"&(?:lt|amp|quot|nbsp|#0*(?:34|39|60|160)|#[xX]0*(?:3[cC]|22|27|[aA]0));")
_RETURN = re.compile(r"\r(?!\n)")
# What terminals take for colours and links (ECMA-48, OSC 8); `^[` is how `cat -v` writes the escape character.
_COLOUR = re.compile(r"\x1b(?:\[[0-9;:?]{0,64}[A-Za-z]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\))|\^\[\[[0-9;]{0,64}[mK]")
_COLOUR_BEGINS = re.compile(r"(?:\x1b(?:\[[0-9;:?]{0,64}|\][^\x07\x1b]{0,512}\x1b?)?|\^(?:\[(?:\[[0-9;]{0,64})?)?)\Z")
_HARD_BLANKS = "\u00a0\u202f\u2007"
VARIANTS = 8  # of one text, itself among them
# What tools write before a line: its number (cat -n, grep -n, and what agents use), or the mark of a quotation.
_NUMBER = re.compile(r"(?:[0-9]++(?:[ \t]*+[|\u2502\u2192:]|\t)|(?:> ?)++)[ \t]*+")
_NUMBERED = frozenset("0123456789>")
_CHANGED = frozenset("+-")  # and before a line of a diff
# What comes before a line is like what comes before another by these: numbers, white space, marks of a diff.
_PREFIX_PARTS = re.compile(r"(\s*[0-9]+[:-]?)|(\s+)|([-+])(?=\s*\Z)")
_MAX_PREFIX = 120  # characters
_MAX_SEEN = 64  # places of a first line that are looked at
_QUOTES = "\"'`"
_ESCAPED_END = r"(?<!\\)((?:\\\\)*+)(?:\\r)?(?:\\n)?"  # what comes before the quote that ends a string

# What is in a text as it is in each of its forms: all but white space, and but what an escape may stand for.
_WORD = re.compile(r"[^\s\x1b\"'`$/<>&\\]+")


def _joint(quotes: str, *, on_one_line: bool = False) -> re.Pattern[str]:
    """What separates two string literals that hold a line each: the end of the first, the beginning of the second.

    quotes       those that a program may choose from, for each line
    on_one_line  of a list on one line, too
    """
    between = rf"[^{quotes}\n]{{0,80}}\n[^{quotes}\n]{{0,120}}"
    either = rf"(?:{between}|\s*+,\s*+)" if on_one_line else between
    return re.compile(rf"{_ESCAPED_END}[{quotes}]{either}[{quotes}]")


_JOINTS = {
    quote: [_joint(quotes, on_one_line=one) for quotes in (quote, "\"'") for one in (False, True)] for quote in _QUOTES
}


def canonical(text: str) -> str:
    """`text` without what only terminals read, and with a blank for each no-break space."""
    if "\x1b" in text or "^[[" in text:
        text = _COLOUR.sub("", text)
    for hard in _HARD_BLANKS:
        text = text.replace(hard, " ")
    return text


def plain(text: str) -> str:
    """`text` with one blank where its lines end, but for white space before the first one and after the last."""
    return _LINE_END.sub(" ", text) if "\n" in text else text


def words_of(plain_text: str) -> list[str]:
    """What a text in which nothing is hidden holds as it stands, where one of its forms holds this `plain` text."""
    return sorted(set(_WORD.findall(plain_text)), key=len, reverse=True)


class Plain:
    """A candidate's text, in pieces, as `canonical` and `plain` make it. White space at its end waits for more."""

    __slots__ = ("_begun", "_space")

    def __init__(self) -> None:
        self._space: list[str] = []  # what waits, and is white space
        self._begun = ""  # what waits after it, since a colour may begin so

    def feed(self, piece: str) -> str:
        """The text that is certain with this piece."""
        coming = self._begun + piece
        begins = _COLOUR_BEGINS.search(coming) if "\x1b" in coming or "^" in coming else None
        self._begun = "" if begins is None else begins[0]
        coming = canonical(coming[: len(coming) - len(self._begun)])
        text = coming.rstrip()
        if not text:
            self._space.append(coming)
            return ""
        made = plain("".join(self._space) + text)
        self._space = [coming[len(text) :]]
        return made


def variants(text: str) -> Iterator[str]:
    """A text of the request as it is, and as what escapes in it may stand for, one layer after the other."""
    waiting, known = deque([text]), {text}
    while waiting:
        one = waiting.popleft()
        yield canonical(one)
        for other in _unescaped_forms(one):
            if other not in known and len(known) < VARIANTS:
                known.add(other)
                waiting.append(other)


def _unescaped_forms(text: str) -> Iterator[str]:
    if ENTITY.search(text) is not None:
        yield html.unescape(text)
    if "\\" in text:
        yield _unescaped(text)
    if _RETURN.search(text) is not None:
        yield _RETURN.sub("\n", text)
    if "\x1b" in text:  # models cannot write this character
        yield text.replace("\x1b", "")
    if '""' in text:  # quotes in CSV
        yield text.replace('""', '"')


def readings(text: str) -> Iterator[str]:
    """A variant as it is, and with numbers of its lines and marks of quotations and diffs taken off."""
    lines = [line.strip(_BLANKS) for line in text.split("\n")]
    yield _joined(lines)
    if any(line[:1] in _NUMBERED for line in lines):
        yield _joined(_NUMBER.sub("", line, 1) if line[:1] in _NUMBERED else line for line in lines)
    if any(line.startswith("@@ ") for line in lines):
        yield _joined(line[1:].lstrip(_BLANKS) if line[:1] in _CHANGED else line for line in lines)


def _joined(lines: Iterable[str]) -> str:
    return " ".join(filter(None, lines))


def _places(text: str, first: str) -> Iterator[int]:
    """Where `first` stands in a text, as far as that is looked at."""
    at = text.find(first)
    for _ in range(_MAX_SEEN):
        if at < 0:
            return
        yield at
        at = text.find(first, at + len(first))


def line_prefixes(text: str, first: str) -> Iterator[str]:
    """The forms, as patterns, of what is on its line before `first` in a text."""
    for at in _places(text, first):
        begin = text.rfind("\n", max(0, at - _MAX_PREFIX - 1), at) + 1
        before = text[begin:at]
        if before.strip(_BLANKS) and (begin or at <= _MAX_PREFIX) and not before[-1].isalnum():
            yield (form := _form(before))
            if "@@ " in text:  # a diff with something before its lines
                yield f"{form}[-+]?"
                yield f"{_gutter(before)}[-+ ]?+"


def _gutter(before: str) -> str:
    """The form of what precedes the mark of a diff, which is the character behind it. White space that the line of
    the text itself begins with is not part of the form.
    """
    gutter = before[:-1] if before[-1] in "-+ " else before
    start = gutter.rstrip()
    return _form(start) + re.escape(gutter[len(start) :])


def _form(before: str) -> str:
    """The form, as a pattern, in which numbers, white space and marks of a diff may differ."""
    parts = _PREFIX_PARTS.split(before)
    return "".join(_part(*parts[number : number + 4]) for number in range(0, len(parts), 4))


def _part(other: str, number: str | None = None, space: str | None = None, sign: str | None = None) -> str:
    like = r"[^\S\n]*+[0-9]++[:-]?+" if number else r"[^\S\n]*+" if space else r"[-+ ]?+" if sign else ""
    return re.escape(other) + like


def without_prefixes(text: str, prefix: str) -> str:
    """A variant without what comes before its lines, where that has this form."""
    begins = re.compile(f"(?:{prefix})?").match
    # An expression that may be empty matches at each line's beginning.
    return _joined(line[found.end() :].strip(_BLANKS) for line in text.split("\n") if (found := begins(line)))


def literal_quotes(text: str, first: str) -> set[str]:
    """The quotes that open a string on its line before `first` in a text."""
    found = set()
    for at in _places(text, first):
        before = text[max(0, at - _MAX_PREFIX) : at].rpartition("\n")[2]
        found.add(max(_QUOTES, key=before.rfind) if any(quote in before for quote in _QUOTES) else "")
    return found - {""}


def joined_literals(text: str, quote: str) -> Iterator[str]:
    """A variant whose lines are in strings of a program, one each, as what they say: with the escapes and without."""
    for made in dict.fromkeys(joint.sub(r"\1\n", text) for joint in _JOINTS[quote]):
        if made == text:
            continue
        yield made
        if "\\" in made:
            yield _unescaped(made)
            yield made.replace(r"'\''", "'")  # a shell's way to write one
        if quote * 2 in made:
            yield made.replace(quote * 2, quote)


def _unescaped(text: str) -> str:
    return "\\".join(map(without_escapes, text.split(r"\\")))


def without_escapes(part: str) -> str:
    """A text without escaped backslashes, with its other escapes taken for what they mean."""
    if "\\" not in part:
        return part
    for written in set(_ESCAPED.findall(part)).intersection(_ESCAPES):
        part = part.replace(written, _ESCAPES[written])
    made = _CODE.sub(_character, part)
    if made == part:
        return part
    # Two of these may be the halves of one character; one half alone is none that a reply could hold.
    return made.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(found: re.Match[str]) -> str:
    """What a `_CODE` stands for."""
    return chr(int(found[1] or found[2] or "1b", 16))
