"""Nested elements and JSON, each as the other.

Types come from the schema, place by place; only where it says nothing do the dialect's own `Rules` hold. Elements in an
element are an object's members, or an array's items where the schema says array: then they are called `item`, or all
alike and unlike the items' own keys (`<edits><edit>…</edit></edits>`). A name that comes twice is an array. Values keep
the spelling that the model gave them (see `values`).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolcalls.shapes import Unwritable
from toolcalls.shapes.arguments import Arguments
from toolcalls.shapes.tags.raw import undelimited
from toolcalls.shapes.tags.xml_trees import Element, Section, raw_read, read, text_of
from toolcalls.text.scanner import SPACE
from toolcalls.values.conversion import Types, items, members, quote, to_json, to_text
from toolcalls.values.toolbox import Toolbox

ITEM = "item"
TEXT = "$text"
QUOTED_EMPTY = '""'
NAME = re.compile(r"[A-Za-z_][\w.-]*")
_ARRAY, _OBJECT, _STRING = "array", "object", "string"


@lru_cache(maxsize=64)
def opening_tags(names: tuple[str, ...]) -> tuple[str, ...]:
    """The opening tags of elements of those names that a tag can have."""
    return tuple(f"<{name}>" for name in dict.fromkeys(names) if NAME.fullmatch(name))


class WrongStructure(ValueError):
    """The elements are no value of the kind that is asked for."""


class MixedContent(WrongStructure):
    """They are no structure at all: text is beside them, or they are nested too deep."""


@dataclass(frozen=True)
class SchemaPlace:
    """A place in a tool's arguments, and what its schema says there. `path`: keys, None for the items of an array."""

    tools: Toolbox
    tool: str
    path: tuple[str | None, ...]

    @property
    def types(self) -> Types | None:
        """The declared types, None where nothing is declared."""
        key, *inner = self.path
        return self.tools.types(self.tool, str(key), *inner)

    @property
    def is_text(self) -> bool:
        """Whether the schema says that no elements are here."""
        types = self.types
        return types is not None and not types & {_ARRAY, _OBJECT}

    @property
    def is_array(self) -> bool:
        """Whether the schema says that here stands an array and no object."""
        types = self.types
        return types is not None and _ARRAY in types and _OBJECT not in types

    def member(self, name: str) -> "SchemaPlace":
        """A member of the object here."""
        return SchemaPlace(self.tools, self.tool, (*self.path, name))

    def item(self) -> "SchemaPlace":
        """An item of the array here."""
        return SchemaPlace(self.tools, self.tool, (*self.path, None))

    def knows(self, name: str) -> bool:
        """Whether the schema declares a member of this name."""
        return self.member(name).types is not None

    def element(self, name: str) -> "SchemaPlace":
        """Where the value of an element stands that is called `name` and is in the element of this place."""
        if not self.is_array:
            return self.member(name)
        return self.item().member(name) if name != ITEM and self.item().knows(name) else self.item()

    def text_at(self, path: tuple[str, ...]) -> bool:
        """Whether the element that these names lead to holds text and no elements."""
        place = self
        for name in path:
            place = place.element(name)
        return place.is_text


@dataclass(frozen=True)
class Rules:
    """What a dialect says where the schema says nothing.

    untyped        the JSON of a text; `marked`: it was in CDATA
    items_array    elements that are all called `item` are an array, also without a schema
    mixed          text beside elements is kept as `$text`; else it makes the whole value a text
    other_items    the items of an array may have any name but one of their own keys
    own_items      how far inside (1: the parameter itself) an element is one item of its array when its children are
                   the items' own keys; further out such an element is refused
    line_ends      the line ends around a text on lines of its own are layout
    quoted_empty   `""` is how an empty string is written
    """

    untyped: Callable[[str, bool], str]
    items_array: bool = True
    mixed: bool = False
    other_items: bool = True
    own_items: int = 1
    line_ends: bool = False
    quoted_empty: bool = False


def to_value(element: Element, place: SchemaPlace, rules: Rules) -> str:
    """The JSON of what is in an element. Raises WrongStructure."""
    children = element.children
    if not children:
        text = element.text
        return _leaf(undelimited(text) if rules.line_ends else text, element.marked, place, rules)
    beside = element.text.strip(SPACE)
    if place.is_array:
        return _array(children, beside, place, rules)
    types = place.types
    # Where the schema takes an array and an object, or says nothing, the names alone say that it is an array.
    either = rules.items_array if types is None else _ARRAY in types and not place.knows(ITEM)
    if either and not beside and all(child.name == ITEM for child in children):
        return f"[{','.join(to_value(child, place.item(), rules) for child in children)}]"
    if beside and not rules.mixed:
        raise MixedContent("there is text beside elements")
    return to_object(children, place.member, rules, beside)


def to_object(children: Iterable[Element], member: Callable[[str], SchemaPlace], rules: Rules, beside: str = "") -> str:
    """The JSON object of some elements, in the order in which their names come first. Raises WrongStructure."""
    groups: dict[str, list[Element]] = {}
    for child in children:
        groups.setdefault(child.name, []).append(child)
    written = []
    for name, group in groups.items():
        place = member(name)
        for value in combined([to_value(element, place, rules) for element in group], place):
            written.append(f"{quote(name)}:{value}")
    if beside:
        written.append(f"{quote(TEXT)}:{quote(beside)}")
    return f"{{{','.join(written)}}}"


def combined(values: list[str], place: SchemaPlace) -> list[str]:
    """The values of all elements of one name in one object as one, or as they are where the schema takes no array."""
    types = place.types
    if len(values) == 1:
        return values
    if place.is_array:
        parts = [value[1:-1] if value.startswith("[") else value for value in values]
        return [f"[{','.join(part for part in parts if part.strip(SPACE))}]"]
    if types is None or _ARRAY in types:
        return [f"[{','.join(values)}]"]
    return values


class Members:
    """Members of a call's arguments that may come several times, once for each item of an array.

    A value waits until an element of another name comes. Where its own name comes again after that, the member is
    written a second time at the end, with all items: of two members of one name the last one counts.
    """

    def __init__(self, arguments: Arguments, place: Callable[[str], SchemaPlace]) -> None:
        self._arguments = arguments
        self._place = place
        self._values: dict[str, list[str]] = {}
        self._waiting = ""  # whose next item may come at once
        self._again: dict[str, None] = {}  # what came again

    def add(self, key: str, json: str) -> None:
        """Add one value of `key`, as JSON."""
        if key != self._waiting:
            self.write()
            if key in self._values:
                self._again[key] = None
            else:
                self._waiting = key
        self._values.setdefault(key, []).append(json)

    def write(self) -> None:
        """Write the member that waits, since an element of another name has come."""
        if self._waiting:
            self._put(self._waiting)
        self._waiting = ""

    def end(self) -> None:
        """Write the member that waits, and once more, with all items, each one that came again."""
        self.write()
        for key in self._again:
            self._put(key)

    def _put(self, key: str) -> None:
        for json in combined(self._values[key], self._place(key)):
            self._arguments.member(key, json)


def argument(sections: Sequence[Section], place: SchemaPlace, rules: Rules) -> str:
    """The JSON of one argument from all that is in its element. Raises WrongStructure."""
    text = text_of(sections)
    if place.is_text:
        return _leaf(text, any(section.marked for section in sections), place, rules)
    return _structure(read(sections, place.text_at), text, place, rules)


def raw_argument(text: str, place: SchemaPlace, rules: Rules) -> str:
    """The same where neither entities nor CDATA mean anything."""
    return _structure(raw_read(text, place.text_at), text, place, rules)


def _structure(tree: Element | None, text: str, place: SchemaPlace, rules: Rules) -> str:
    try:
        return quote(text) if tree is None else to_value(tree, place, rules)
    except MixedContent:
        return quote(text)


def _array(children: list[Element], beside: str, place: SchemaPlace, rules: Rules) -> str:
    item = place.item()
    names = {child.name for child in children}
    if beside:
        raise MixedContent("there is text beside the items of an array")
    if names == {ITEM} or (rules.other_items and len(names) == 1 and not item.knows(children[0].name)):
        return f"[{','.join(to_value(child, item, rules) for child in children)}]"
    if len(place.path) < rules.own_items:
        raise WrongStructure("an array of objects has no element for its items")
    return f"[{to_object(children, item.member, rules)}]"


def _leaf(text: str, marked: bool, place: SchemaPlace, rules: Rules) -> str:
    types = place.types
    if types is None:
        return rules.untyped(text, marked)
    if rules.quoted_empty and text == QUOTED_EMPTY and not marked and _STRING in types:
        return QUOTED_EMPTY
    if not text.strip(SPACE) and _STRING not in types:
        for kind, empty in ((_ARRAY, "[]"), (_OBJECT, "{}"), ("null", "null")):
            if kind in types:
                return empty
    fitted = to_json(text, types)
    if place.is_array and _STRING not in types and fitted[:1] not in ("[", "n"):
        return f"[{_leaf(text, marked, place.item(), rules)}]"
    return fitted


# --- JSON as elements -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How values are written as elements.

    text       a text as it comes after the tag of a place; whether it was a string in JSON
    repeated   an array of scalars is written as its name once an item, and the items of an array of objects are called
               by its singular where the schema says array; else arrays are written as `<item>`s
    mark       comes before every tag
    nulls      False: the form leaves out members that are null, so there is no way to write them
    """

    text: Callable[[str, bool, SchemaPlace], str]
    repeated: bool = False
    mark: str = ""
    nulls: bool = True

    def member(self, key: str, raw: str, place: SchemaPlace) -> str:
        """One member of an object as elements. Raises Unwritable."""
        if not NAME.fullmatch(key):
            raise Unwritable(f"{place.tool}: {key!r} is not a name that a tag can have")
        value = raw.strip(SPACE)
        if value == "null" and not self.nulls:
            raise Unwritable(f"{place.tool}: {key} is null, and the form leaves such members out")
        if self.repeated and value.startswith("["):
            values = items(value)
            flat = not any(value[:1] in ("{", "[") for value in values)
            if flat and (len(values) > 1 or (values and place.is_array)):
                return "".join(self._element(key, value, place.item()) for value in values)
        return self._element(key, value, place)

    def _element(self, name: str, value: str, place: SchemaPlace) -> str:
        return f"{self.mark}<{name}>{self._inside(name, value, place)}{self.mark}</{name}>"

    def _inside(self, name: str, value: str, place: SchemaPlace) -> str:
        if value.startswith("{"):
            return "".join(self.member(key, raw, place.member(key)) for key, raw in members(value))
        if value.startswith("["):
            values = items(value)
            called = _singular(name) if self.repeated and place.is_array else ITEM
            if place.item().knows(called) or not all(raw.startswith("{") for raw in values):
                called = ITEM
            return "".join(self._element(called, raw, place.item()) for raw in values)
        return self.text(*to_text(value), place)


def _singular(name: str) -> str:
    """What an item of an array of this name is called, `item` where the name is no plural."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(("sses", "xes", "ches", "shes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and len(name) > 1 and not name.endswith("ss") else ITEM
