"""The tags of a text client's dialect as careless parsers find them: anywhere, in any case, attributes in any order.

One pattern knows the tags of all the forms that text clients are known to read: elements named after the tool (Cline,
Roo Code), `<invoke name=…>`, `<function=…>` (OpenHands, Qwen) and JSON between tags. What is between tags is none
of its concern: words, comments, fences and unknown elements are skipped.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolcalls.dialects import all_dialects, grammar
from toolcalls.processors.careless_xml import without_marks
from toolcalls.processors.json_members import Members, members_of
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.json.strict_calls import STRICT_ARGUMENTS, STRICT_NAMES
from toolcalls.shapes.tags.form import TagForm
from toolcalls.shapes.tags.tool_elements import ToolElements
from toolcalls.values.conversion import quote
from toolcalls.values.toolbox import Toolbox

# call     a call begins: of `names`, of which a parser takes the one or the other
# end      a call ends: that of `names`, () for any that has no element of its own
# value    a parameter begins
# closer   a parameter ends, () for any that has no element of its own
# given    a parameter with its value, in one tag
# objects  calls in JSON begin, or end
type Kind = Literal["call", "end", "value", "closer", "given", "objects", "objects end"]

_ENDS = frozenset({"end", "closer", "objects end"})
LONGEST = 1024  # characters of a tag that is waited for, whatever its name is
# None of them takes back what it has matched: a tag may be as long as a reply, and never end.
_TAG = re.compile(
    r"<\s{0,8}(?:"
    r"parameter\s*+=\s*+(?P<key>[^<>=\s]++)=(?P<value>[^<>]*+)</\s*+parameter\s*+>"
    r"|function\s*+=\s*+(?P<function>[^<>\n]++)(?:>|(?=[<\n]))"
    r"|(?P<slash>/?)\s{0,8}(?P<name>[A-Za-z_|][\w.:|-]*+)(?P<attributes>[^<>]*+)>)",
    re.IGNORECASE,
)
_BEGUN = re.compile(
    r"<\s{0,8}(?:/?\s{0,8}(?:(?P<name>[A-Za-z_|][\w.:|-]*+)[^<>]*+)?"
    r"|(?P<given>parameter\s*+=[^<>]*+<(?:/\s*+[a-z]*+\s*+)?))$",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"<\s{0,8}function\s*=", re.IGNORECASE)
_FUNCTION_ENDED = re.compile(r"<\s{0,8}function\s*+=\s*+[^<>\n]++\n", re.IGNORECASE)
_NAME = re.compile(r"""\b(?:name|tool|function)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""", re.IGNORECASE)
_WORD = re.compile(r"""\b(?:name|tool|function)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_PLAIN = re.compile(r"[\w.-]+")
# What the converter of OpenHands takes for one another.
_ALIASES = (
    frozenset({"bash", "execute_bash", "terminal"}),
    frozenset({"str_replace_editor", "file_editor"}),
)
# Parameters in which clients look for further elements.
NESTED = frozenset({"args", "arguments", "input", "kwargs", "parameters", "params"})
_CALLED = frozenset(key.casefold() for key in STRICT_NAMES)
_ARGUMENTS = frozenset(key.casefold() for key in STRICT_ARGUMENTS)
_OBJECTS = 1024  # beginnings of objects that are tried in one text
_DECODED = 1 << 17  # characters that are read for them without finding one


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag and where it is in the text that was searched.

    value    that of a "given" parameter
    bare     the names are no element's: they are in it, and not in its closer
    foreign  it is spelt as in a form that none of the dialects has, so a parser may read none there
    """

    kind: Kind
    names: tuple[str, ...]
    start: int
    end: int
    value: str = ""
    bare: bool = True
    foreign: bool = False


class Tags:
    """Finds the tags of a client's dialects. `tools`: what the request declares, `ruled`: the names that rules say."""

    def __init__(self, dialects: Sequence[str], tools: Toolbox, ruled: Sequence[str]) -> None:
        forms = list(map(grammar, sorted(dialects or all_dialects())))
        self._tools = tools
        self._names = tuple(dict.fromkeys((*ruled, *tools.names)))
        self._known: dict[str, frozenset[str]] = {}
        self._by_element: dict[str, str] = {}
        self._called: set[str] = set()  # elements that carry a call's name in an attribute
        self._objects: set[str] = set()
        self.function = False
        keys = {*NESTED, *(key for name in tools.names for key in tools.keys(name))}
        for form in forms:
            if isinstance(form, ToolElements):
                known: Mapping[str, tuple[str, ...]] = form.known
                self._known.update({name: frozenset(of_it) for name, of_it in known.items()})
                keys.update(*known.values())
                names = [*known, *(name for name in ruled if _PLAIN.fullmatch(name)), *tools.names]
                self._by_element.update({name.casefold(): name for name in names})
            elif isinstance(form, TagForm) and form.names == "assigned":
                self.function = True
            elif isinstance(form, TagForm):
                self._called.update(name.casefold().rpartition(":")[2] for name in (form.call, *form.misspelt))
            elif isinstance(form, MarkedJson):
                self._objects.update(tag.strip("</> ").casefold() for tag in (*form.opening, *form.closing))
        # Some parsers take such a tag up to the first `>`, whatever comes before that.
        named = "|".join(map(re.escape, sorted({*self._called, "parameter"})))
        but = r"\w|\s*+=" if self.function else r"\w"
        wide = rf"<(?P<name>(?:[\w.-]++:)?(?:{named}))(?!{but})"
        self._wide = re.compile(rf"{wide}(?P<attributes>[^>]*+)>", re.IGNORECASE) if self._called else None
        self._wide_begun = re.compile(wide, re.IGNORECASE) if self._called else None
        self._awaited = {*self._by_element, *self._called, *self._objects, *(key.casefold() for key in keys)}
        self._awaited |= {"function", "parameter"} if self.function or self._called else set()

    def __bool__(self) -> bool:
        """Whether careless parsers are known for any of the dialects."""
        return bool(self._by_element or self._called or self.function or self._objects)

    def found(self, text: str) -> Iterable[Tag]:
        """The tags in a text, in order."""
        tags = [tag for match in _TAG.finditer(text) if (tag := self._tag(match)) is not None]
        if self._wide is None:
            return tags
        ended = self._wide.finditer(text, 0, text.rfind(">") + 1)
        wide = [tag for match in ended if (tag := self._element(match, closes=False)) is not None]
        if not wide or set(wide) <= set(tags):
            return tags
        starts = [tag.start for tag in wide]

        def is_inside(tag: Tag) -> bool:
            place = bisect_left(starts, tag.start) - 1
            return place >= 0 and tag.start < wide[place].end

        others = [tag for tag in tags if tag.kind not in _ENDS or not is_inside(tag)]
        return sorted(dict.fromkeys([*wide, *others]), key=_place)

    def found_apart(self, text: str, ends: Sequence[int]) -> Iterable[Tag]:
        """The tags in a text in which blocks end, as clients have it that join them with nothing, and with a line end.

        `ends`: their places, in order.
        """
        tags = {(tag.kind, tag.start, tag.end, tag.value): tag for tag in self.found(text)}
        parts = [text[one:other] for one, other in zip([0, *ends], [*ends, len(text)], strict=True)]
        added = [place + number for number, place in enumerate(ends)]
        for tag in self.found("\n".join(parts)):
            start, end = (place - bisect_left(added, place) for place in (tag.start, tag.end))
            key = (tag.kind, start, end, tag.value)
            names = (*tags[key].names, *tag.names) if key in tags else tag.names
            tags[key] = replace(tag, names=tuple(dict.fromkeys(names)), start=start, end=end)
        return sorted(tags.values(), key=_place)

    def begun(self, text: str) -> int:
        """Where a tag begins of which more may come, the length of the text for none."""
        begun = len(text)
        for at in (text.rfind("<"), text.rfind("<", 0, max(text.rfind("<"), 0))):
            if at >= 0 and self._is_begun(text, at):
                first = text.rfind("<", 0, at)
                begun = first if first >= 0 and self._is_begun(text, first) else at
                break
        wide = self._wide_begun.search(text, text.rfind(">") + 1, begun) if self._wide_begun is not None else None
        return wide.start() if wide is not None else begun

    def _is_begun(self, text: str, at: int) -> bool:
        """Whether what follows may end a tag that counts. A long one counts by its name, which no blank is before."""
        if self.function and _FUNCTION_ENDED.match(text, at):
            return False
        begun = _BEGUN.match(text, at)
        if begun is None or len(text) - at <= LONGEST:
            return begun is not None
        name = "parameter" if begun["given"] else (begun["name"] or "").casefold()
        if text[at + 1].isspace():
            return False
        return name in self._awaited or name.rpartition(":")[2] in self._awaited

    def signs_of_end(self, begun: str) -> str:
        """The signs of which one must come before the tag that has begun can end."""
        if self._wide_begun is not None and self._wide_begun.match(begun):
            return ">"
        return "<>\n" if _FUNCTION.match(begun) else "<>"

    def _tag(self, match: re.Match[str]) -> Tag | None:
        start, end = match.span()
        if match["function"] is not None:
            return Tag("call", self.called(_bare(match["function"])), start, end) if self.function else None
        if match["key"] is not None:
            return Tag("given", (_bare(match["key"]),), start, end, match["value"]) if self.function else None
        return self._element(match, closes=bool(match["slash"]))

    def _element(self, match: re.Match[str], *, closes: bool) -> Tag | None:
        start, end = match.span()
        written, attributes = match["name"], match["attributes"]
        local = written.casefold().rpartition(":")[2]
        if written.casefold() in self._objects:
            return Tag("objects end" if closes else "objects", (), start, end)
        if local in self._called or (self.function and local == "function"):
            names = self._attribute(attributes)
            if not names and any(attributes.count(sign) % 2 for sign in "\"'"):
                names = self._names  # a `>` in an attribute hides the name, which may be any
            return Tag("end", (), start, end) if closes else Tag("call", names, start, end) if names else None
        if local == "parameter" and (self._called or self.function):
            names = self._attribute(attributes)
            if closes:
                return Tag("closer", (), start, end)
            has_form = self.function if attributes.lstrip().startswith("=") else bool(self._called)
            return Tag("value", names, start, end, foreign=not has_form) if names else None
        if not self._by_element:
            return None
        name = self._by_element.get(written.casefold())
        if name is not None:
            return Tag("end" if closes else "call", (name,), start, end, bare=False)
        return Tag("closer" if closes else "value", (written,), start, end, bare=False)

    @staticmethod
    def _attribute(attributes: str) -> tuple[str, ...]:
        """The names that a tag gives: as far as a parser reads that takes no blanks or quotes in one, and whole."""
        names = _WORD.findall(attributes)
        names += [next(filter(None, found), "").strip() for found in _NAME.findall(attributes)]
        if attributes.lstrip().startswith("="):
            names.append(_bare(attributes.lstrip()[1:]))
        return tuple(dict.fromkeys(names))

    @staticmethod
    def called(name: str) -> tuple[str, ...]:
        """A function's name, and those that OpenHands takes for it."""
        return (name, *(other for group in _ALIASES if name in group for other in sorted(group - {name})))

    def is_data(self, name: str, key: str) -> bool:
        """Whether a tool's parameter is text in which its clients look for no elements before it ends."""
        if key in NESTED or key not in {*self._tools.keys(name), *self._known.get(name, ())}:
            return False
        types = self._tools.types(name, key)
        return types is None or not any(kind in types for kind in ("object", "array"))


def _place(tag: Tag) -> tuple[int, int]:
    return tag.start, tag.end


def _bare(name: str) -> str:
    return name.strip().strip("\"'").strip()


def as_json(value: str) -> str:
    """A value as the rules are given it. Clients take the blanks around it away, and some read CDATA."""
    text = without_marks(value).strip()
    if text[:1] in {"{", "["}:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return quote(text)
        return text
    return quote(text)


def calls_in_objects(text: str) -> Iterator[tuple[tuple[str, ...], list[tuple[str, str]]]]:
    """The calls in JSON that are in a text, also further inside: their names and arguments, with all duplicates.

    Raises ValueError or RecursionError where there is more than can be looked at.
    """
    found: list[list[tuple[str, Any]]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(pairs)
        return Members(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=keep, parse_int=str, parse_float=str, strict=False)
    at, tries, decoded = text.find("{"), 0, 0
    while at >= 0:
        tries += 1
        if tries > _OBJECTS or decoded > _DECODED:
            raise ValueError("too many objects")
        try:
            _, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            decoded += error.pos - at
            end = at + 1
        at = text.find("{", end)
    for pairs in found:
        names = tuple(value for key, value in pairs if key.casefold() in _CALLED and isinstance(value, str))
        if names:
            yield names, [one for key, value in pairs if key.casefold() in _ARGUMENTS for one in members_of(value)]
