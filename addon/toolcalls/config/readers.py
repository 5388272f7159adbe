"""What a value may be: functions that return it, or raise the mistake that says what was expected and what was found.

`as_…` functions return the value of a node. The others (`flag`, `number`, `one_of`, …) make the reader of a key.
`where` is the place that a mistake names (`routes[0].match`).
"""

import re
from collections.abc import Callable, Collection
from typing import Any

from toolcalls.config.mistakes import Mistake, did_you_mean, quote, short
from toolcalls.config.nodes import Node
from toolcalls.text.patterns import compiled

MAX_PATTERN = 1_000

# Reads a key's value: from a node and its place to the fields that it sets, by name.
type Reader = Callable[[Node, str], dict[str, Any]]


def _found(node: Node) -> str:
    match node.value:
        case None:
            return "nothing"
        case bool(value):
            return str(value).lower()
        case str(text):
            return quote(text)
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case number:
            return short(str(number))


def expected(what: str, node: Node, where: str, hint: str = "") -> Mistake:
    """The mistake for a node that is not `what`."""
    return Mistake(node.line, f"{where + ': ' if where else ''}expected {what}; found {_found(node)}{hint}")


def as_list(node: Node, where: str, what: str) -> list[Node]:
    """The items of a list, which `what` describes."""
    if not isinstance(node.value, list):
        raise expected(what, node, where)
    return node.value


def as_mapping(node: Node, where: str, *, may_be_empty: bool = False) -> dict[str, tuple[int, Node]]:
    """The values of a mapping by key, each with its key's line."""
    if may_be_empty and node.value is None:  # a section whose lines are all commented out
        return {}
    if not isinstance(node.value, dict):
        raise expected("a mapping of keys to values", node, where)
    return node.value


def as_text(node: Node, where: str, what: str = "text") -> str:
    if not isinstance(node.value, str):
        raise expected(f"{what} (in quotes if need be)", node, where)
    return node.value


def as_word(node: Node, where: str, what: str) -> str:
    """Text that fits on one line of a log: not blank, printable, short."""
    text = as_text(node, where, what)
    if not text.strip() or not text.isprintable() or len(text) > 200:
        raise expected(f"{what} of 1 to 200 printable characters", node, where)
    return text


def as_choice(node: Node, where: str, names: Collection[str], or_else: str = "", hidden: Collection[str] = ()) -> str:
    """One of `names`, which the mistake lists, or of `hidden`, which it calls `or_else`."""
    if isinstance(node.value, str) and (node.value in names or node.value in hidden):
        return node.value
    hint = did_you_mean(node.value, [*names, *hidden]) if isinstance(node.value, str) else ""
    one = "one of " if len(names) > 1 else ""
    raise expected(f"{one}{', '.join(names)}{or_else}", node, where, hint)


def flag(name: str) -> Reader:
    def read(node: Node, where: str) -> dict[str, Any]:
        if not isinstance(node.value, bool):
            raise expected("true or false", node, where)
        return {name: node.value}

    return read


def optional_flag(name: str, otherwise: str) -> Reader:
    """A key that is true, false or null, which means what `otherwise` says."""

    def read(node: Node, where: str) -> dict[str, Any]:
        if node.value is not None and not isinstance(node.value, bool):
            raise expected(f"true, false or null ({otherwise})", node, where)
        return {name: node.value}

    return read


def one_of(name: str, names: Collection[str]) -> Reader:
    """A key that is one of `names`."""
    return lambda node, where: {name: as_choice(node, where, names)}


def some_of(name: str, names: Collection[str]) -> Reader:
    """A list of some of `names`; null is what the policy says."""

    def read(node: Node, where: str) -> dict[str, Any]:
        if node.value is None:
            return {name: None}
        items = as_list(node, where, f"null (what the policy says) or a list of {', '.join(names)}")
        return {name: tuple(dict.fromkeys(as_choice(item, f"{where}[{i}]", names) for i, item in enumerate(items)))}

    return read


def list_of(name: str, names: Collection[str]) -> Reader:
    """A list of some of `names`, which may be empty."""

    def read(node: Node, where: str) -> dict[str, Any]:
        items = as_list(node, where, f"a list of {', '.join(names)}, or [] for none")
        return {name: tuple(dict.fromkeys(as_choice(item, f"{where}[{i}]", names) for i, item in enumerate(items)))}

    return read


def number(name: str, low: int, high: int | None = None) -> Reader:
    """A key that is a whole number."""

    what = str(low) if low == high else f"a whole number, {low} {'or more' if high is None else f'to {high}'}"

    def read(node: Node, where: str) -> dict[str, Any]:
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
            raise expected(what, node, where)
        return {name: value}

    return read


def as_glob(node: Node, where: str) -> str:
    """A pattern with `*`, `?` and `[…]`."""
    text = as_text(node, where, "a pattern")
    if not text or len(text) > MAX_PATTERN:
        raise expected(f"a pattern of 1 to {MAX_PATTERN} characters", node, where)
    if "[" in re.sub(r"\[(?:!.|[^!])[^\]]*\]", "", text, flags=re.DOTALL):
        raise expected('a pattern in which every "[" is closed by a "]"', node, where)
    return text


def as_patterns(node: Node, where: str, what: str = "a list") -> tuple[str, ...]:
    """A list of regular expressions."""
    items = as_list(node, where, f"{what} of regular expressions")
    return tuple(as_pattern(item, f"{where}[{i}]") for i, item in enumerate(items))


def as_pattern(node: Node, where: str) -> str:
    """A regular expression that compiles."""
    pattern = as_text(node, where, "a regular expression")
    try:
        if not pattern or len(pattern) > MAX_PATTERN:
            raise expected(f"a regular expression of 1 to {MAX_PATTERN} characters", node, where)
        compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise expected("a regular expression", node, where, f" ({reason})") from error
    return pattern


def as_texts(node: Node, where: str, what: str) -> tuple[str, ...]:
    """A text or a list of texts, none of them empty."""
    items = node.value if isinstance(node.value, list) else [node]
    found = tuple(as_text(item, where, what) for item in items)
    if not found or not all(found):
        raise expected(f"{what} or a list of such", node, where)
    return found


def setting(name: str, read: Callable[[Node, str], Any]) -> Reader:
    """A key whose value `read` returns."""
    return lambda node, where: {name: read(node, where)}


def plain_value(node: Node) -> Any:
    """The plain value of a node, as `json.loads` would give it."""
    match node.value:
        case dict(fields):
            return {key: plain_value(value) for key, (_, value) in fields.items()}
        case list(items):
            return [plain_value(item) for item in items]
        case scalar:
            return scalar


def require(node: Node, where: str, *keys: str) -> None:
    """Raise the mistake that names the first of these keys that a mapping lacks."""
    for key in keys:
        if key not in as_mapping(node, where):
            raise Mistake(node.line, f'{where + ": " if where else ""}expected the key "{key}"; found none')
