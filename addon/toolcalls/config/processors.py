"""The keys of processors: `access`, `loops`, `reactors`, `filters`, `steering`.

A reactor's file is parsed, not run: it must exist, be Python and have the function.
"""

import ast
import re
from pathlib import Path
from typing import Any, get_args

from toolcalls.config.ineffective import RESERVED_NAMES
from toolcalls.config.keys import Keys
from toolcalls.config.mistakes import Mistake, did_you_mean, quote
from toolcalls.config.nodes import Node
from toolcalls.config.readers import (
    Reader,
    as_glob,
    as_mapping,
    as_pattern,
    as_patterns,
    as_text,
    as_texts,
    as_word,
    expected,
    flag,
    number,
    one_of,
    require,
    setting,
)
from toolcalls.route import Access, AccessRule, Condition, Filter, LoopAction, Loops, Reactor


def _tool_patterns(node: Node, where: str) -> dict[str, Any]:
    """One regular expression or a list of them, for the names of tools."""
    if not isinstance(node.value, list):
        return {"tools": (as_pattern(node, where),)}
    if not node.value:
        raise Mistake(node.line, f"{where}: expected at least one regular expression; found an empty list")
    return {"tools": as_patterns(node, where)}


def _seconds(node: Node, where: str) -> dict[str, Any]:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 60:
        raise expected("a number of seconds, more than 0 and at most 60", node, where)
    return {"time_limit": float(value)}


def _takes_one(arguments: ast.arguments) -> bool:
    """Whether a function can be called with one argument."""
    places = [*arguments.posonlyargs, *arguments.args]
    needed = len(places) - len(arguments.defaults)
    return needed <= 1 and bool(places or arguments.vararg) and None not in arguments.kw_defaults


def _count(name: str) -> Reader:
    """How many times are too many: 0 for never, or 2 and more, since once is no repetition."""

    def read(node: Node, where: str) -> dict[str, Any]:
        if node.value == 1:
            raise expected("0 for never, or a whole number from 2", node, where)
        return number(name, 0, 60)(node, where)

    return read


class ProcessorKeys:
    """The readers of these keys. Paths of reactors are relative to `folder`."""

    def __init__(self, keys: Keys, folder: Path) -> None:
        self._keys = keys
        self._folder = folder

    @property
    def readers(self) -> dict[str, Reader]:
        """The reader of each key."""
        return {
            "access": self._access,
            "loops": self._loops,
            "reactors": self._reactors,
            "filters": self._filters,
            "steering": one_of("steering", ("reply", "request")),
        }

    def _access(self, node: Node, where: str) -> dict[str, Any]:
        readers: dict[str, Reader] = {
            "default": one_of("default", ("allow", "deny")),
            "message": setting("message", as_text),
            "rules": lambda node, where: {"rules": self._keys.read_list(node, where, "a list of rules", self._rule)},
        }
        return {"access": None if node.value is None else Access(**self._keys.read_mapping(node, where, readers))}

    def _rule(self, node: Node, where: str) -> AccessRule:
        readers: dict[str, Reader] = {
            "name": setting("name", lambda node, where: as_word(node, where, "a name")),
            "action": one_of("action", ("allow", "block")),
            "tools": _tool_patterns,
            "model": setting("model", as_glob),
            "agent": setting("agent", as_glob),
            "arguments": self._conditions,
            "priority": number("priority", -1000, 1000),
            "message": setting("message", as_text),
        }
        found = self._keys.read_mapping(node, where, readers)
        require(node, where, "name", "action")
        if (name := found.get("name")) in RESERVED_NAMES:
            raise Mistake(
                as_mapping(node, where)["name"][0], f"{where}.name: {quote(name)} is a word of the addon's own"
            )
        return AccessRule(**{"name": where, "action": "block", **found})

    def _conditions(self, node: Node, where: str) -> dict[str, Any]:
        found: list[Condition] = []
        for key, (_, value) in as_mapping(node, where).items():
            place = f"{where}.{key}"
            if not isinstance(value.value, dict):
                found.append(Condition(key, matches=as_pattern(value, place)))
                continue
            readers: dict[str, Reader] = {
                "matches": setting("matches", as_pattern),
                "outside": setting("outside", lambda node, where: as_texts(node, where, "a path")),
                "inside": setting("inside", lambda node, where: as_texts(node, where, "a path")),
            }
            if not value.value:
                raise expected("matches, outside or inside", value, place)
            found.append(Condition(key, **self._keys.read_mapping(value, place, readers)))
        return {"arguments": tuple(found)}

    def _loops(self, node: Node, where: str) -> dict[str, Any]:
        numbers: dict[str, Reader] = {key: _count(key) for key in ("same_call", "same_result", "cycle", "message")}
        readers: dict[str, Reader] = {
            **numbers,
            "action": one_of("action", get_args(LoopAction)),
            "tools": _tool_patterns,
            "progress": flag("progress"),
            "text": setting("text", as_text),
        }
        return {"loops": None if node.value is None else Loops(**self._keys.read_mapping(node, where, readers))}

    def _reactors(self, node: Node, where: str) -> dict[str, Any]:
        return {"reactors": self._keys.read_list(node, where, "a list of reactors", self._reactor)}

    def _reactor(self, node: Node, where: str) -> Reactor:
        readers: dict[str, Reader] = {
            "file": setting("file", lambda node, where: as_word(node, where, "a path")),
            "function": setting("function", lambda node, where: as_word(node, where, "a function's name")),
            "tools": _tool_patterns,
            "time_limit": _seconds,
        }
        found = self._keys.read_mapping(node, where, readers)
        fields = as_mapping(node, where)
        for key in ("file", "function"):
            require(node, where, key)
            if key not in found:  # its mistake is collected
                return Reactor("", "")
        path = (self._folder / Path(found["file"]).expanduser()).absolute()
        line = fields["file"][0]
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except OSError as error:
            raise Mistake(line, f"{where}.file: {path} cannot be read: {error.strerror}") from error
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Mistake(line, f"{where}.file: {path} is not Python: {error}") from error
        functions = {item.name: item for item in tree.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
        function = functions.get(found["function"])
        if function is None:
            hint = did_you_mean(found["function"], list(functions))
            raise expected("the name of a function in the file", fields["function"][1], f"{where}.function", hint)
        if isinstance(function, ast.AsyncFunctionDef) or not _takes_one(function.args):
            fault = "is async" if isinstance(function, ast.AsyncFunctionDef) else "cannot be called with a call alone"
            found_there = f"{function.name} ({path.name}:{function.lineno}) {fault}"
            text = f"{where}.function: expected a plain function of one call; {found_there}"
            raise Mistake(fields["function"][0], text)
        return Reactor(**{**found, "file": str(path)})

    def _filters(self, node: Node, where: str) -> dict[str, Any]:
        return {"filters": self._keys.read_list(node, where, "a list of filters", self._filter)}

    def _filter(self, node: Node, where: str) -> Filter:
        readers: dict[str, Reader] = {
            "name": setting("name", lambda node, where: as_word(node, where, "a name")),
            "literal": setting("literal", as_text),
            "pattern": setting("pattern", as_pattern),
            "replace": setting("replace", as_text),
            "max_length": number("max_length", 1, 10_000),
            "calls": flag("calls"),
        }
        found = self._keys.read_mapping(node, where, readers)
        fields = as_mapping(node, where)
        require(node, where, "name")
        if ("literal" in fields) == ("pattern" in fields):
            raise Mistake(node.line, f"{where}: expected either literal or pattern")
        if found.get("literal") == "":
            raise expected("text of at least one character", fields["literal"][1], f"{where}.literal")
        if "pattern" in found:
            try:
                re.sub(found["pattern"], found.get("replace", ""), "")
            except (re.error, IndexError) as error:
                line = fields["replace"][0]
                raise Mistake(line, f"{where}.replace: expected groups that the pattern has ({error})") from error
        return Filter(**{"name": where, **found})
