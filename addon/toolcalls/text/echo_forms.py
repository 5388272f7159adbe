"""The forms in which a text of the request may have been written: what `text/echo.py` searches for a candidate.

What a tool read is in its result in the tool's own form: inside JSON, as a string of a program, as HTML, coloured,
with numbered, quoted, dated or wrapped lines, as a diff. A model that repeats it leaves all that away. So each text is
searched as it is, and with such layers taken off (`variants`, `readings`). And a tool that writes something in front of
one line does so in front of each (`line_prefixes`), as a program does that holds each line as a string of its own
(`literal_quotes`, `joined_literals`). JSON is read as well (`in_other_words`).

What is compared of both sides is `bare`: words, and the marks between them. White space, quotes, backslashes and
upright bars count only where they keep two words apart, all alike, and entities are what they mean: a model that
repeats a call writes it on one line, with other quotes, or escaped. `Canonical` and `Bare` make of a candidate's text,
as it comes, what `canonical` and `bare` make of a whole one.

No layer changes or joins the characters of a `_WORD`, unless escapes may hide them.
"""

import html
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

_BLANKS = " \t\r"
# What does not count: quotes, what escapes them, and the sides of boxes and tables.
_IGNORED = "\"'`\\|\u2018\u2019\u201c\u201d\u00a6\u2502\u2503\u2551"
_TO_IGNORE = str.maketrans(dict.fromkeys(_IGNORED, " "))
_GAP_AT_END = re.compile(rf"(?<![\s{re.escape(_IGNORED)}])[\s{re.escape(_IGNORED)}]++\Z")
_NO_GAP = re.compile(r"(?<!\w) | (?!\w)")
# The escapes of JSON (RFC 8259, section 7), which most languages share; those of template strings, and of a line's end.
_ESCAPES = {
    r"\n": "\n", r"\"": '"', r"\'": "'", r"\t": "\t", r"\r": "\r", r"\/": "/", r"\`": "`", r"\$": "$", "\\\n": "\n",
}  # fmt: skip
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_CODE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(?:0?33|e)(?=\[))")
ENTITY = re.compile(r"&(?:lt|amp|quot|nbsp|#0*(?:34|39|60|160)|#[xX]0*(?:3[cC]|22|27|[aA]0));")
_SIGN = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#0{0,4}(?:34|39|60|62|160)|#[xX]0{0,4}(?:3[cCeE]|22|27|[aA]0));")
_SIGN_BEGINS = re.compile(r"&(?:[a-z]{0,4}|#[xX]?[0-9a-fA-F]{0,7})\Z")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>")  # of a page in which a call is escaped
_LINE_TAG = re.compile(r"</?(?:br|p|li|ul|ol|div|tr|td|pre|h[1-6])\b[^<>]{0,400}>", re.IGNORECASE)
# Objects that may be calls, whose members may come in another order.
_MEMBERS = re.compile(
    r'\{\s{0,99}"(?:name|tool|tool_name|function|arguments|parameters|args|params|input|id|type)"\s{0,99}:'
)
_MAX_OBJECTS = 64  # of one text
_AROUND = 200  # characters in front of such an object, and behind it
_MAX_LOG = 4  # members of a log's lines
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

# What is in a text as it is in each of its forms, but for backslashes in front of `_` that Markdown writes.
_WORD = re.compile(r"\w+")


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


def bare(text: str) -> str:
    """What of `text` is compared: its words with one blank between two of them, and the marks that count."""
    return _closed_up(_SIGN.sub(_sign, text) if "&" in text else text)


def _closed_up(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\_", "_")
    return _NO_GAP.sub("", " ".join(text.translate(_TO_IGNORE).split()))


def _sign(found: re.Match[str]) -> str:
    return html.unescape(found[0])


def words_of(text: str) -> list[str]:
    """What a text in which nothing is hidden holds as it stands, where one of its forms holds it, bare or not."""
    return sorted(set(_WORD.findall(_SIGN.sub(_sign, text) if "&" in text else text)), key=len, reverse=True)


class Canonical:
    """A candidate's text, in pieces, as `canonical` makes it."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun = ""  # what waits, since a colour may begin so

    def feed(self, piece: str) -> str:
        """The text that is certain with this piece."""
        coming = self._begun + piece
        begins = _COLOUR_BEGINS.search(coming) if "\x1b" in coming or "^" in coming else None
        self._begun = "" if begins is None else begins[0]
        return canonical(coming[: len(coming) - len(self._begun)])


class Bare:
    """A canonical text, in pieces, as `bare` makes it. What may count for nothing at its end waits for more."""

    __slots__ = ("_gap", "_last", "_sign")

    def __init__(self) -> None:
        self._last = ""  # the last character that counted
        self._gap: list[str] = []  # what came behind it, and counts only with what follows
        self._sign = ""  # the beginning of an entity

    def feed(self, piece: str) -> str:
        """The text that is certain with this piece."""
        coming = self._sign + piece
        if "&" in coming:
            begins = _SIGN_BEGINS.search(coming)
            self._sign = "" if begins is None else begins[0]
            coming = _SIGN.sub(_sign, coming[: len(coming) - len(self._sign)])
        else:
            self._sign = ""
        gap = _GAP_AT_END.search(coming)
        text = coming if gap is None else coming[: gap.start()]
        if text:
            text = _closed_up(f"{self._last}{''.join(self._gap)}{text}")[len(self._last) :]
            self._gap = []
            self._last = text[-1:] or self._last
        if gap is not None:
            self._gap.append(gap[0])
        return text


def is_page(text: str) -> bool:
    """Whether a text has elements that a page has around words and lines, or entities beside elements."""
    return "<" in text and (ENTITY.search(text) is not None or _LINE_TAG.search(text) is not None or "</span>" in text)


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
    if is_page(text):
        yield html.unescape(_TAG.sub("", _LINE_TAG.sub("\n", text)))
    if "\\" in text:
        yield _unescaped(text)
    if _RETURN.search(text) is not None:
        yield _RETURN.sub("\n", text)
    if "\x1b" in text:  # models cannot write this character
        yield text.replace("\x1b", "")
    if '""' in text:  # quotes in CSV
        yield text.replace('""', '"')


def readings(text: str) -> Iterator[str]:
    """A variant, bare, as it is and with numbers of its lines and marks of quotations and diffs taken off."""
    lines = [line.strip(_BLANKS) for line in text.split("\n")]
    yield _joined(lines)
    if any(line[:1] in _NUMBERED for line in lines):
        yield _joined(_NUMBER.sub("", line, 1) if line[:1] in _NUMBERED else line for line in lines)
    if any(line.startswith("@@ ") for line in lines):
        yield _joined(line[1:].lstrip(_BLANKS) if line[:1] in _CHANGED else line for line in lines)


def _joined(lines: Iterable[str]) -> str:
    return bare("\n".join(lines))


def in_other_words(text: str) -> Iterator[str]:
    """What a variant says in JSON, bare: the strings of a log's lines, and its calls with members turned round."""
    yield from map(bare, _logged(text))
    calls = list(_calls(text))
    for outer, inner in ((True, False), (False, True), (True, True)) if calls else ():
        yield bare("\0".join(call.written(outer=outer, inner=inner) for call in calls))


def _logged(text: str) -> Iterator[str]:
    """What a log says that has one object a line: the strings of each of their members, one below the other."""
    if text.count("\n{") + text.startswith("{") < 2:
        return
    said: dict[str, list[str]] = {}
    for line in text.split("\n"):
        for key, value in _object(line).items() if line[:1] == "{" and line.rstrip()[-1:] == "}" else ():
            if isinstance(value, str) and (key in said or len(said) < _MAX_LOG):
                said.setdefault(key, []).append(value)
    for values in said.values():
        yield "\n".join(values)


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class _Call:
    """An object of a text that may be a call, with what is around it."""

    before: str
    members: dict[str, Any]
    behind: str

    def written(self, *, outer: bool, inner: bool) -> str:
        """It with its members turned round, or those of its arguments."""
        members = self.members
        if inner:
            members = {key: _turned(value) if isinstance(value, dict) else value for key, value in members.items()}
        if outer:
            members = _turned(members)
        return f"{self.before}{json.dumps(members, ensure_ascii=False)}{self.behind}"


def _turned(members: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(members.items()))


def _calls(text: str) -> Iterator[_Call]:
    at, decoder = 0, json.JSONDecoder()
    for found in islice(_MEMBERS.finditer(text), _MAX_OBJECTS):
        start = found.start()
        if start < at:
            continue
        try:
            members, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if len(members) > 1:
            yield _Call(text[max(0, start - _AROUND) : start], members, text[at : at + _AROUND])


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
