"""The opening tag of a call or a parameter with its name in it, looked at whole before anything of it is consumed.

`named_tag` reads a name in an attribute: `<invoke name="N">`, with others beside it, in any order, with double quotes,
single quotes or none. The blank before the first may be missing. `escaped_tag` reads one that was escaped for HTML.
`assigned_call` and `assigned_parameter` read a name
behind an equals sign: `<function=N>`, with blanks, with quotes around the name, or with a bracket missing.

What is damaged in a tag is named here, in its `repairs`. How far a look-ahead goes is bounded.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from toolcalls.events import Repair
from toolcalls.shapes.json.call_keys import ARGUMENTS
from toolcalls.shapes.tags.entities import unescape
from toolcalls.shapes.tags.tag_patterns import PatternPart, Tags
from toolcalls.text.scanner import Scanner, Step
from toolcalls.values.damaged_json import DamagedJson
from toolcalls.values.toolbox import Toolbox


class Tag(NamedTuple):
    """An opening tag.

    empty        it closes itself
    attributes   as written but for their quotes
    """

    name: str
    length: int
    empty: bool = False
    attributes: Mapping[str, str] = MappingProxyType({})
    repairs: tuple[Repair, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether its bracket is missing."""
        return "unclosed_tag" in self.repairs


class Head(NamedTuple):
    """What is left of a call's opening tag: what is in front of the tool's name, and what is behind it."""

    before: str
    behind: str
    repair: Repair = "missing_opener"

    def opener(self, name: str, parameter: str) -> str:
        """How a call of this tool begins; a name alone only with its first parameter."""
        return f"{self.before}{name}" if self.before else f"{name}{self.behind}{parameter}"


def lost_tag(
    scan: Scanner,
    heads: tuple[Head, ...],
    tools: Toolbox,
    follows: Callable[[Scanner, int, str, Toolbox], Step[bool]],
) -> Step[Tag | None]:
    """What is left of the opening tag of a call of a declared tool, with the layout after it; None for nothing.

    follows   whether the first parameter of this tool is here
    """
    for before, behind, repair in heads:
        if before and not (yield from scan.starts(before)):
            continue
        start = (yield from scan.space(len(before))) if before else 0
        name = yield from scan.among(tools.names, start)
        if name is None:
            continue
        end = start + len(name)
        if behind:
            end = yield from scan.space(end)
            if not (yield from scan.starts(behind, end)):
                continue
        end = yield from scan.space(end + len(behind))
        if (yield from follows(scan, end, name, tools)):
            return Tag(name, end, repairs=(repair,))
    return None


# Names in attributes

_MAX_TAG = 1024  # characters of one tag with its attributes
_GT = "&gt;"
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


def named_tag(scan: Scanner, elements: Tags, ahead: int = 0, named: str = "name") -> Step[Tag | None]:
    """The tag with a name attribute that begins with one of `elements`, `ahead` characters from here.

    None where none stands or can come of what is there. An element of the kind `misspelt` is.

    named   the attribute with the name, which the result calls `name`
    """
    kind, length = yield from elements.at(scan, ahead)
    if not length:
        return None
    attributes: dict[str, str] = {}
    offset = ahead + length
    misspelt = kind == "misspelt"
    while True:
        text, at, limit = scan.text, scan.pos + offset, scan.pos + ahead + _MAX_TAG
        attribute = _ATTRIBUTE.match(text, at, limit)
        if attribute is None and not attributes:
            attribute = _GLUED.match(text, at, limit)
            misspelt = misspelt or attribute is not None
        if attribute is not None and attribute.end() < min(len(text), limit):
            attributes[attribute[1]] = _without_quotes(attribute[2])
            misspelt = misspelt or "==" in text[attribute.end(1) : attribute.start(2)]
            offset = attribute.end() - scan.pos
            continue
        end = _TAG_END.match(text, at, limit)
        if end is not None:
            if named in attributes:
                attributes["name"] = attributes.pop(named)
            written = _name_in(attributes)
            name = unescape(attributes.get(written, "")).strip()
            repairs: tuple[Repair, ...] = ("misspelt_tag",) if misspelt or written != _NAMES[0] else ()
            return Tag(name, end.end() - scan.pos - ahead, bool(end["empty"]), attributes, repairs) if name else None
        arriving = _TAG_PART.fullmatch(text, at) or (not attributes and _GLUED_PART.fullmatch(text, at))
        if scan.ended or len(text) >= limit or not arriving:
            return None
        yield


def escaped_tag(scan: Scanner, elements: Tags, ahead: int = 0) -> Step[Tag | None]:
    """The same where all of the tag was escaped for HTML: `&lt;invoke name="N"&gt;`."""
    kind, length = yield from elements.at(scan, ahead)
    end = (yield from scan.find(_GT, ahead + length, ahead + _MAX_TAG)) if length else -1
    if end < 0:
        return None
    written = scan.text[scan.pos + ahead + length : scan.pos + end].replace("&quot;", '"').replace("&#39;", "'")
    attributes: dict[str, str] = {}
    at = 0
    while (attribute := _ATTRIBUTE.match(written, at)) is not None:
        attributes[attribute[1]] = _without_quotes(attribute[2])
        at = attribute.end()
    named, rest = _name_in(attributes), written[at:].strip()
    name = unescape(attributes.get(named, "")).strip()
    if not name or rest not in {"", "/"}:
        return None
    repairs: tuple[Repair, ...] = ("misspelt_tag",) if kind == "misspelt" or named != _NAMES[0] else ()
    return Tag(name, end + len(_GT) - ahead, rest == "/", attributes, repairs)


def _name_in(attributes: Mapping[str, str]) -> str:
    """Which of them names the call or the parameter, "" for none."""
    return next((name for name in _NAMES if name in attributes), "")


def _without_quotes(written: str) -> str:
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


# Names behind an equals sign

ASSIGNS = PatternPart(r"(?:[=:]|(?<=[ \t])(?=[^\s=:]))", "", "=:")
"""The equals sign, or what models write in its place in front of one word and a bracket: a colon, or nothing."""

_BLANKS = " \t"
_MAX_NAME = 216  # characters between the equals sign and the bracket
_NAME_END = re.compile(r"[<>=\r\n]")
_NAME = re.compile(r"""[^<>="'\r\n]{1,200}""")
_WORD = re.compile(r"[\w.:-]+")


def assignable(name: str) -> bool:
    """Whether a name can stand behind an equals sign."""
    return _NAME.fullmatch(name) is not None and name == name.strip() and not name.endswith("/")


class _Assigned(NamedTuple):
    """A name behind an equals sign: the kind of its element, the length up to the name's end, what ends it.

    repairs   the sign is another one
    """

    kind: str
    name: str
    length: int
    end: str
    repairs: tuple[Repair, ...] = ()


def assigned_call(scan: Scanner, elements: Tags, following: Tags, ahead: int = 0) -> Step[Tag | None]:
    """The tag `<function=N>` that begins with one of `elements`, `ahead` characters from here; None for none.

    Without its bracket it is one where one of `following` comes after the name.
    """
    found = yield from _assigned(scan, elements, ahead)
    if found is None or found.end == "=":
        return None
    if found.end == ">":
        name = found.name.removesuffix("/").rstrip(_BLANKS)
        return Tag(name, found.length + 1, empty=name != found.name, repairs=found.repairs) if name else None
    kind, _ = yield from following.at(scan, (yield from scan.space(ahead + found.length)))
    return Tag(found.name, found.length, repairs=("unclosed_tag",)) if kind else None


def assigned_parameter(scan: Scanner, elements: Tags, ahead: int = 0) -> Step[Tag | None]:
    """The tag `<parameter=K>` that begins with one of `elements`, `ahead` characters from here; None for none.

    In place of its bracket there may be a second equals sign, or after one word the end of the line. An element of the
    kind `misspelt` has lost the bracket that it begins with.
    """
    found = yield from _assigned(scan, elements, ahead)
    if found is None:
        return None
    _, name, length, end, repairs = found
    if found.kind == "misspelt":
        return Tag(name, length + 1, repairs=("damaged_tag",)) if end == ">" else None
    if end == ">":
        return Tag(name, length + 1, repairs=repairs)
    if end == "=":
        return Tag(name, length + 1, repairs=("unclosed_tag",))
    return Tag(name, length, repairs=("unclosed_tag",)) if end in "\r\n" and _WORD.fullmatch(name) else None


def _assigned(scan: Scanner, elements: Tags, ahead: int) -> Step[_Assigned | None]:
    kind, length = yield from elements.at(scan, ahead)
    if not length:
        return None
    while True:
        text, at = scan.text, scan.pos + ahead + length
        found = _NAME_END.search(text, at, at + _MAX_NAME)
        if found is not None:
            break
        if scan.ended or len(text) - at >= _MAX_NAME:
            return None
        yield
    name = text[at : found.start()].strip(_BLANKS)
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1].strip()
    lost = text[at - 1] != "="
    if not name or (lost and not (found.group() == ">" and _WORD.fullmatch(name.removesuffix("/").rstrip(_BLANKS)))):
        return None
    return _Assigned(kind, name, found.start() - scan.pos - ahead, found.group(), ("misspelt_tag",) if lost else ())
