"""The engines that a form can be data of, and what each takes.

What a key may hold follows from the type of the engine's field, so an engine's new field is a key at once. What is no
plain data (a grammar of a dialect's own, a regular expression) cannot be said in a file.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from toolcalls.config.mistakes import Mistake
from toolcalls.config.nodes import Node
from toolcalls.config.readers import Reader, as_choice, as_list, as_mapping, as_text, expected, setting
from toolcalls.shapes import Dialect, Form
from toolcalls.shapes.code.delimited_object import DelimitedObject
from toolcalls.shapes.code.pythonic import Pythonic
from toolcalls.shapes.headers.name_in_element import NameInElement
from toolcalls.shapes.headers.name_in_header import Header
from toolcalls.shapes.headers.name_in_tag import NameInTag
from toolcalls.shapes.headers.name_in_words import NameInWords
from toolcalls.shapes.json.marked_json import MarkedJson
from toolcalls.shapes.json.unmarked_json import UnmarkedJson
from toolcalls.shapes.tags.content import Content, Decoded, Escaped, Printed, Verbatim
from toolcalls.shapes.tags.form import FunctionTags, TagForm
from toolcalls.shapes.tags.pair_form import PairForm
from toolcalls.shapes.tags.token_tags import TokenTags
from toolcalls.shapes.tags.tool_elements import ToolElements

LONGEST = 300  # characters of a text of the data
_ELEMENT = re.compile(r"[^\s<>=\"'/&]+")


@dataclass(frozen=True)
class Engine:
    """An engine as files name it.

    form      the family that its dialects belong to
    elements  fields that hold names of elements, without brackets
    closers   fields of which one must say what ends a call, where the engine does not know it by itself
    open_by   the field that says, when false, that nothing ends a call
    """

    shape: type[Any]
    form: Form
    elements: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    open_by: str = ""


_TAGS = ("wrappers", "call", "parameter", "misspelt", "respelt", "orphans")
ENGINES: Mapping[str, Engine] = {
    "tags": Engine(TagForm, "invoke", _TAGS),
    "function_tags": Engine(FunctionTags, "function tags", _TAGS),
    "token_tags": Engine(TokenTags, "invoke", _TAGS),
    "pairs": Engine(PairForm, "keys and values", ("call", "key", "value", "wrapper", "separator", "kind")),
    "elements": Engine(ToolElements, "elements", ("inner", "wrapper")),
    "json": Engine(MarkedJson, "JSON in tags", closers=("closing",), open_by="closed"),
    "open_json": Engine(UnmarkedJson, "JSON in the open"),
    "header": Engine(Header, "header and JSON"),
    "name_in_tag": Engine(NameInTag, "header and JSON", closers=("closing",)),
    "name_in_element": Engine(NameInElement, "header and JSON"),
    "name_in_words": Engine(NameInWords, "agents and gateways"),
    "python": Engine(Pythonic, "Python"),
    "delimited_object": Engine(DelimitedObject, "notations", closers=("closing",)),
}

# How a value is between its tags, by the word that a file has for it.
CONTENTS: Mapping[str, Content] = {
    "verbatim": Verbatim(),
    "escaped": Escaped(),
    "decoded": Decoded(),
    "lines": Printed("lines"),
    "inline": Printed("inline"),
    "block": Printed("block"),
    "printed": Printed("verbatim"),
}


class Unsayable(ValueError):
    """A dialect cannot be said as a file; the message says why."""


def settings(engine: Engine) -> dict[str, Field[Any]]:
    """The fields that a file may set, by key."""
    skipped = {"name"} | {one.name for one in fields(engine.shape) if one.init and _reads(engine, one.name) is None}
    return {one.name: one for one in fields(engine.shape) if one.init and one.name not in skipped}


def required(engine: Engine) -> tuple[str, ...]:
    """The keys without which it cannot be made."""
    known = settings(engine).values()
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    return tuple(dict.fromkeys((*needed, *(("opening",) if engine.shape in {MarkedJson, NameInElement} else ()))))


def readers(engine: Engine) -> dict[str, Reader]:
    """What reads each key's value."""
    found = {}
    for name in settings(engine):
        read = _reads(engine, name)
        if read is not None:
            found[name] = setting(name, _element(read) if name in engine.elements else read)
    return found


def built(engine: Engine, name: str, data: Mapping[str, Any]) -> Dialect:
    """The dialect. Raises ValueError for data that the engine cannot work with, with the reason."""
    try:
        dialect: Dialect = engine.shape(name, **data)
        openers = dialect.openers(("zqProbe9",))
    except Exception as error:
        raise ValueError(f"the engine cannot use it: {error}") from error
    for opener in openers:
        if not opener.strip():
            raise ValueError("a call would begin with nothing; expected marks or names of elements")
    if not openers:
        raise ValueError("nothing begins a call; expected marks or names of elements")
    return dialect


def said(dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """The name of a dialect's engine, and its data as a file says it. Raises Unsayable."""
    found = next(((name, one) for name, one in ENGINES.items() if one.shape is type(dialect)), None)
    if found is None:
        raise Unsayable("its grammar is code of its own, and no data of an engine")
    name, engine = found
    known = settings(engine)
    data: dict[str, Any] = {}
    for one in fields(engine.shape):
        value = getattr(dialect, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if one.name == "name" or value == default or (one.name == "content" and _word_of(value) == _word_of(default)):
            continue
        if one.name not in known:
            raise Unsayable(f"its {one.name} is code of its own")
        data[one.name] = _plain(one.name, value)
    return name, data


# Values


def _reads(engine: Engine, name: str) -> Callable[[Node, str], Any] | None:
    """What reads the value of a field; None for what is no data."""
    if engine.shape is Header and name == "header":
        return _header
    return _reader(get_type_hints(engine.shape)[name])


def _reader(hint: Any) -> Callable[[Node, str], Any] | None:
    origin, parts = get_origin(hint), get_args(hint)
    if hasattr(hint, "__value__"):  # `type X = …`
        return _reader(hint.__value__)
    if hint is str:
        return _text
    if hint is bool:
        return _flag
    if hint is Content:
        return lambda node, where: CONTENTS[as_choice(node, where, tuple(CONTENTS))]
    if origin is Literal:
        return lambda node, where: as_choice(node, where, parts)
    if origin is tuple and parts[-1:] == (...,):
        return _list_of(_reader(parts[0]))
    if origin is tuple:
        return _row_of([_reader(part) for part in parts])
    if origin in {Union, UnionType}:
        return _either([_reader(part) for part in parts if part is not NoneType], empty=NoneType in parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_of(_reader(parts[1]))
    return None


def _text(node: Node, where: str) -> str:
    text = as_text(node, where)
    if len(text) > LONGEST:
        raise expected(f"text of at most {LONGEST} characters", node, where)
    return text


def _flag(node: Node, where: str) -> bool:
    if not isinstance(node.value, bool):
        raise expected("true or false", node, where)
    return node.value


type _Read = Callable[[Node, str], Any]


def _list_of(read: _Read | None) -> _Read | None:
    """A list, or one text where a list of one would do."""
    if read is None:
        return None

    def items(node: Node, where: str) -> tuple[Any, ...]:
        if isinstance(node.value, str):
            return (read(node, where),)
        return tuple(read(item, f"{where}[{i}]") for i, item in enumerate(as_list(node, where, "a text or a list")))

    return items


def _row_of(reads: list[_Read | None]) -> _Read | None:
    known = [read for read in reads if read is not None]
    if len(known) < len(reads):
        return None

    def row(node: Node, where: str) -> tuple[Any, ...]:
        items = as_list(node, where, f"a list of {len(known)}")
        if len(items) != len(known):
            raise Mistake(node.line, f"{where}: expected a list of {len(known)}; found one of {len(items)}")
        return tuple(read(item, f"{where}[{i}]") for i, (read, item) in enumerate(zip(known, items, strict=True)))

    return row


def _either(reads: list[_Read | None], *, empty: bool) -> _Read | None:
    known = [read for read in reads if read is not None]
    if len(known) < len(reads):
        return None

    def one(node: Node, where: str) -> Any:
        if node.value is None and empty:
            return None
        if len(known) > 1 and isinstance(node.value, str):
            return _text(node, where)
        return known[-1](node, where)

    return one


def _mapping_of(read: _Read | None) -> _Read | None:
    if read is None:
        return None
    return lambda node, where: {
        key: read(value, f"{where}.{key}") for key, (_, value) in as_mapping(node, where).items()
    }


def _element(read: _Read) -> _Read:
    """Names of elements, one or several."""

    def names(node: Node, where: str) -> Any:
        value = read(node, where)
        for name in (value,) if isinstance(value, str) else value:
            if name and not _ELEMENT.fullmatch(name):
                raise expected("the name of an element, without brackets", node, where)
        return value

    return names


def _header(node: Node, where: str) -> re.Pattern[str]:
    """What is between a name and its arguments, as the pattern of the whole header."""
    return header_pattern(_text(node, where))


def header_pattern(between: str) -> re.Pattern[str]:
    """A header of a name and these marks behind it."""
    return re.compile(rf"\s*(?P<name>[^\s<>{{}}\"]+)\s*{re.escape(between.strip())}\s*")


_BEHIND_NAME = header_pattern("").pattern.removesuffix(r"\s*")


def _between(pattern: re.Pattern[str]) -> str:
    """The marks of such a pattern. Raises Unsayable for any other."""
    marks = re.sub(r"\\(.)", r"\1", pattern.pattern.removeprefix(_BEHIND_NAME).removesuffix(r"\s*"))
    if header_pattern(marks).pattern != pattern.pattern:
        raise Unsayable("its header is a regular expression of its own")
    return marks


def _word_of(content: object) -> str | None:
    """The word for a content; None for one of a dialect's own."""
    return next(
        (word for word, one in CONTENTS.items() if type(one) is type(content) and vars(one) == vars(content)), None
    )


def _plain(name: str, value: Any) -> Any:
    """A field's value as YAML has it. Raises Unsayable for what is no data."""
    if isinstance(value, re.Pattern):
        return _between(value)
    if name == "content":
        word = _word_of(value)
        if word is None:
            raise Unsayable("its content is code of its own")
        return word
    if isinstance(value, tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(name, item) for key, item in value.items()}
    if value is None or isinstance(value, str | bool):
        return value
    raise Unsayable(f"its {name} is code of its own")


def texts_of(data: object) -> Iterator[str]:
    """All texts in data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, tuple):
        for item in data:
            yield from texts_of(item)
