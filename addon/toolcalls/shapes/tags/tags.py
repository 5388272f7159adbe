"""Tags as models write them, looked at whole before anything of them is consumed.

`Tags` tells apart the kinds of tags that may be at a place. A tag is given as its parts, between which a few blanks
may stand (`< / parameter >`), and line ends, too, in a closing tag. A part may have several
spellings, so a handful of strings covers what servers and models make of a tag. Each look is one regular expression;
where the text ends inside a tag a second one, of all its beginnings, says whether more of it may come.

`named_tag` reads an opening tag with attributes: `<invoke name="N">`, with others beside the name, in any order, with
double quotes, single quotes or none. The blank before the first may be missing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolcalls.shapes.json.call_keys import ARGUMENTS
from toolcalls.shapes.tags.entities import unescape
from toolcalls.text.scanner import SPACE, Scanner, Step
from toolcalls.values.damaged_json import DamagedJson
from toolcalls.values.toolbox import Toolbox


class PatternPart(NamedTuple):
    """A part of a tag without fixed spellings: patterns for all of it and for a beginning, and its first characters."""

    full: str
    partial: str
    first: str


# A part of a tag: a literal, one of several literals ("" for none of them), or what a pattern finds.
type Part = str | tuple[str, ...] | PatternPart
type Parts = tuple[Part, ...]

_MAX_BLANKS = 8  # at one place inside a tag
_BLANKS = f"[ \t]{{0,{_MAX_BLANKS}}}"
_SPACES = f"[{SPACE}]{{0,{_MAX_BLANKS}}}"
_CLOSES = frozenset({"/", "</"})  # what one of the first parts of a closing tag is
_MAX_SOME = 80  # characters of a part without fixed spellings


class Tags:
    """PatternPart kinds of tags, each in one or several forms."""

    def __init__(self, **kinds: Iterable[Parts]) -> None:
        forms = {kind: [tuple(part for part in parts if part) for parts in of_kind] for kind, of_kind in kinds.items()}
        every = [parts for of_kind in forms.values() for parts in of_kind]
        kept = {kind: "|".join(map(_whole, of_kind)) for kind, of_kind in forms.items() if of_kind}
        self._whole = re.compile("|".join(f"(?P<{kind}>{of_kind})" for kind, of_kind in kept.items()) or r"(?!)")
        self._part = re.compile("|".join(map(_beginning, every)) or r"(?!)")
        self._longest = max(map(_length, every), default=0)
        self.second = frozenset[str]().union(*(_second(parts) for parts in every))
        """The characters that may follow the first one."""

    def at(self, scan: Scanner, ahead: int = 0) -> Step[tuple[str, int]]:
        """The kind and the length of the tag that stands `ahead` characters from here; ("", 0) for none."""
        while True:
            at = scan.pos + ahead
            found = self._whole.match(scan.text, at)
            if found is not None:
                return found.lastgroup or "", found.end() - at
            if scan.ended or not self._arriving(scan.text, at):
                return "", 0
            yield

    def stops_short(self, scan: Scanner, ahead: int = 0) -> bool:
        """Whether the text has ended inside one of the tags, `ahead` characters from here, or right before one."""
        if not scan.ended:
            return False
        text, at = scan.text, scan.pos + ahead
        while at < len(text) and text[at] in SPACE:
            at += 1
        return self._arriving(text, at)

    def stand_in(self, text: str) -> bool:
        """Whether one of them is anywhere in `text`."""
        return self._whole.search(text) is not None

    def _arriving(self, text: str, at: int) -> bool:
        return len(text) - at < self._longest and self._part.match(text, at) is not None


def _spellings(part: Part) -> tuple[str, ...]:
    if isinstance(part, PatternPart):
        return ()
    return (part,) if isinstance(part, str) else tuple(sorted(part, key=len, reverse=True))


def _one(part: Part) -> str:
    return part.full if isinstance(part, PatternPart) else f"(?:{'|'.join(map(re.escape, _spellings(part)))})"


def _before(parts: Parts, number: int) -> str:
    """What may be in front of the part with this number: white space in a closing tag, else blanks."""
    if not number:
        return ""
    return _SPACES if _is_closing(parts) else _BLANKS


def _is_closing(parts: Parts) -> bool:
    """Whether the tag is a closing one. A first part that may be missing is none of it."""
    begin = int("" in _spellings(parts[0]))
    return not _CLOSES.isdisjoint(parts[begin : begin + 2])


def _whole(parts: Parts) -> str:
    return "".join(_before(parts, number) + _one(part) for number, part in enumerate(parts))


def _beginning(parts: Parts) -> str:
    """A pattern for every proper beginning of the tag that the text ends with."""
    pattern = ""
    for number, part in reversed(list(enumerate(parts))):
        if isinstance(part, PatternPart):
            started = part.partial
        else:
            begun = {spelling[:size] for spelling in _spellings(part) for size in range(max(1, len(spelling)))}
            started = "|".join(map(re.escape, sorted(begun, key=len, reverse=True)))
        following = f"|{_one(part)}{pattern}" if pattern else ""
        pattern = f"{_before(parts, number)}(?:(?:{started})\\Z{following})"
    return pattern


def _length(parts: Parts) -> int:
    sizes = (_MAX_SOME if isinstance(part, PatternPart) else max(map(len, _spellings(part))) for part in parts)
    return sum(sizes) + _MAX_BLANKS * len(parts)


def _second(parts: Parts) -> frozenset[str]:
    """The characters that may come after a first part of one character."""
    found = set(SPACE if _is_closing(parts) else " \t")
    for part in parts[1:]:
        found.update(part.first if isinstance(part, PatternPart) else (spelling[:1] for spelling in _spellings(part)))
        if "" not in _spellings(part):
            break
    return frozenset(filter(None, found))


_MAX_TAG = 1024  # characters of one tag with its attributes
_NAMES = ("name", "rname", "tool", "tool_name", "function", "function_name")  # all but the first are slips
_OF_CALLS = frozenset({*_NAMES, "id", "call_id", "tool_call_id", "index", "type"})
# `Ġ` is how a tokenizer writes a blank, and some servers leak it.
_ATTRIBUTE = re.compile(r"""[\sĠ]+([\w:.-]+)\s*==?\s*("[^"]*"|'[^']*'|(?!=)[^\s"'<>/]+)""")
# The first one where the blank before it got lost: `<paramname="K">`.
_GLUED = re.compile(r"""(r?name)=("[^"]*"|'[^']*')""")
_GLUED_PART = re.compile(r"""r?(?:n(?:a(?:m(?:e(?:=(?:"[^"]*"?|'[^']*'?)?)?)?)?)?)?""")
_TAG_END = re.compile(r"\s*(?P<empty>/?)>")
# What may be at the end of a tag that is still arriving, after its whole attributes.
_TAG_PART = re.compile(r"""/?|[\sĠ]+(?:/|[\w:.-]+\s*(?:==?\s*(?:"[^"]*"?|'[^']*'?|[^\s"'<>/]*))?)?""")


@dataclass(frozen=True)
class Tag:
    """An opening tag: what its name attribute says, how long it is, whether it closes itself, its attributes as written
    but for their quotes, whether its element or its attribute is misspelt, and whether it is there twice.
    """

    name: str
    length: int
    empty: bool
    attributes: Mapping[str, str]
    misspelt: bool = False
    doubled: bool = False


def named_tag(scan: Scanner, elements: Tags, ahead: int = 0) -> Step[Tag | None]:
    """The tag with a name attribute that begins with one of `elements`, `ahead` characters from here.

    None where none stands or can come of what is there. An element of the kind `misspelt` is.
    """
    kind, length = yield from elements.at(scan, ahead)
    if not length:
        return None
    attributes: dict[str, str] = {}
    offset = ahead + length
    glued = slipped = False
    while True:
        text, at, limit = scan.text, scan.pos + offset, scan.pos + ahead + _MAX_TAG
        attribute = _ATTRIBUTE.match(text, at, limit)
        if attribute is None and not attributes:
            attribute = _GLUED.match(text, at, limit)
            glued = attribute is not None
        if attribute is not None and attribute.end() < min(len(text), limit):
            attributes[attribute[1]] = _unquoted(attribute[2])
            slipped = slipped or "==" in text[attribute.end(1) : attribute.start(2)]
            offset = attribute.end() - scan.pos
            continue
        end = _TAG_END.match(text, at, limit)
        if end is not None:
            written = _name_in(attributes)
            name = unescape(attributes.get(written, "")).strip()
            size = end.end() - scan.pos - ahead
            misspelt = kind == "misspelt" or written != _NAMES[0] or glued or slipped
            return Tag(name, size, bool(end["empty"]), attributes, misspelt) if name else None
        arriving = _TAG_PART.fullmatch(text, at) or (not attributes and _GLUED_PART.fullmatch(text, at))
        if scan.ended or len(text) >= limit or not arriving:
            return None
        yield


def _name_in(attributes: Mapping[str, str]) -> str:
    """Which of them names the call or the parameter, "" for none."""
    return next((name for name in _NAMES if name in attributes), "")


def _unquoted(written: str) -> str:
    return written[1:-1] if written[:1] in "\"'" else written


def declared_attributes(tag: Tag, tools: Toolbox) -> dict[str, str]:
    """The attributes of a call's tag that are parameters of its tool, decoded: `<invoke name="Bash" command="ls"/>`."""
    keys, name = tools.keys(tools.resolve(tag.name)), _name_in(tag.attributes)
    return {key: unescape(tag.attributes[key]) for key in tag.attributes if key in keys and key != name}


def encoded_arguments(tag: Tag, tools: Toolbox) -> str:
    """All arguments as one attribute of a call's tag, `arguments='{"command": "ls"}'`, as JSON; "" for none."""
    keys = tools.keys(tools.resolve(tag.name))
    given = [unescape(value) for key, value in tag.attributes.items() if key in ARGUMENTS and key not in keys]
    if len(given) != 1 or not given[0].startswith("{"):
        return ""
    reader = DamagedJson()
    made, end = reader.feed(given[0], final=True)
    return made if reader.done and end == len(given[0]) else ""


def other_attributes(tag: Tag, tools: Toolbox) -> bool:
    """Whether a call's tag has attributes that neither a call has nor its tool, which has some parameters."""
    keys = tools.keys(tools.resolve(tag.name))
    return bool(keys) and any(key not in keys and key not in _OF_CALLS for key in tag.attributes)
