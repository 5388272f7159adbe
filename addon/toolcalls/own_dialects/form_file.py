"""A form in a file: YAML with the engine's name, its data and examples → a name that carries the form.

    name: acme
    form: json
    data:
      opening: <|call|>
      closing: <|end|>
    examples:
    - text: '<|call|>{"name": "ls", "arguments": {"path": "."}}<|end|>'
      calls: [{name: ls, arguments: {path: .}}]
    - text: '`<|call|>` begins a call.'
      calls: []

Every mistake is one line with the file and the line. Examples are read each time that the file is: what contradicts
them is a mistake like any other.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from toolcalls.config import text_of
from toolcalls.config.keys import Keys
from toolcalls.config.mistakes import Mistake, config_error, did_you_mean, quote
from toolcalls.config.nodes import Node, document
from toolcalls.config.readers import (
    Reader,
    as_mapping,
    as_text,
    as_word,
    expected,
    flag,
    number,
    plain_value,
    require,
    setting,
)
from toolcalls.config.tools import ToolKeys
from toolcalls.dialects import OwnForm, OwnName
from toolcalls.own_dialects.engines import ENGINES, built, readers, required
from toolcalls.own_dialects.examples import Example, contradicts, tools_for
from toolcalls.request import Tool
from toolcalls.shapes import About

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PLACES = re.compile(r"\{(\w+)\}")
RESERVED = frozenset({"auto", "native", "text", "json"})  # what configurations and commands say in a name's place
MAX_EXAMPLES = 50
MAX_TEXT = 20_000  # characters of an example


def form_in(path: Path, taken: Collection[str], name: str | None = None) -> OwnName:
    """The form in a file. Raises ConfigError, also when the file cannot be read.

    taken   the names that other dialects have
    name    under which it is known, in place of the file's own
    """
    return form_of(text_of(path), str(path), taken, name)


def form_of(text: str, source: str, taken: Collection[str], name: str | None = None) -> OwnName:
    """The form in YAML text; `source` is the name that mistakes begin with. Raises ConfigError."""
    reading = _Reading(taken, name)
    keys = reading.keys
    try:
        form = reading.form(document(text))
    except Mistake as mistake:
        raise config_error(source, [*keys.mistakes, mistake]) from mistake
    if keys.mistakes or form is None:
        raise config_error(source, keys.mistakes)
    return form


class _Reading:
    """One reading of one file."""

    def __init__(self, taken: Collection[str], name: str | None) -> None:
        self.keys = Keys()
        self._taken = taken
        self._name = name
        self._top: dict[str, Reader] = {
            "version": setting("version", number("version", 1, 1)),
            "name": setting("name", self._name_of),
            "form": setting("form", _engine),
            "data": lambda node, where: {"data": (node, where)},
            "written_by": setting("written_by", lambda node, where: as_word(node, where, "words")),
            "source": setting("source", lambda node, where: as_word(node, where, "words")),
            "result": setting("result", _result),
            "one_call": flag("one_call"),
            "tools": ToolKeys(self.keys).tools,
            "examples": setting("examples", self._examples),
        }

    def form(self, root: Node) -> OwnName | None:
        """The whole file; None where mistakes were collected."""
        found = self.keys.read_mapping(root, "", self._top)
        require(root, "", "name", "form", "data", "examples")
        data = self._data(found)
        if self.keys.mistakes:
            return None
        node, _ = found["data"]
        name = self._name or found["name"]
        try:
            dialect = built(ENGINES[found["form"]], name, data)
        except ValueError as error:
            raise Mistake(node.line, f"data: {error}") from error
        examples: tuple[Example, ...] = found["examples"]
        first = next(one for one in examples if one.calls)
        about = About(
            form=ENGINES[found["form"]].form,
            written_by=found.get("written_by", ""),
            source=found.get("source", ""),
            example=first.text,
            one_call=found.get("one_call", False),
        )
        form = OwnName(name, OwnForm(dialect, about, found.get("result")))
        tools: tuple[Tool, ...] = found.get("tools", ()) or tools_for(examples)
        for number_, example in enumerate(examples):
            wrong = contradicts(form, example, tools)
            if wrong is not None:
                self.keys.add_mistake(Mistake(example.line, f"examples[{number_}]: {wrong}"))
        return None if self.keys.mistakes else form

    def _name_of(self, node: Node, where: str) -> str:
        name = as_text(node, where, "a name")
        return self.free(name, node, where) if self._name is None else name

    def free(self, name: str, node: Node, where: str) -> str:
        """The name, if it is a word that no other dialect has."""
        if not _NAME.fullmatch(name):
            raise expected("a word in lower case, with digits and _", node, where)
        if name in self._taken or name in RESERVED:
            raise Mistake(node.line, f"{where}: the name {quote(name)} is taken; expected another one")
        return name

    def _data(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """The engine's data, with what ends a call."""
        if "form" not in found or "data" not in found:
            return {}
        node, where = found["data"]
        engine = ENGINES[found["form"]]
        data = self.keys.read_mapping(node, where, readers(engine))
        given = as_mapping(node, where, may_be_empty=True)
        if not given:
            raise expected("the engine's data", node, where)
        require(node, where, *required(engine))
        for key in engine.closers:
            closes = data.get(key) or not data.get(engine.open_by, True)
            if not closes and not self.keys.mistakes:
                line = given[key][0] if key in given else node.line
                remedy = f", or {engine.open_by}: false if nothing does" if engine.open_by else ""
                raise Mistake(line, f"{where}.{key}: expected what ends a call{remedy}; found nothing")
        return data

    def _examples(self, node: Node, where: str) -> tuple[Example, ...]:
        found = self.keys.read_list(node, where, "a list of examples", self._example)
        if len(found) > MAX_EXAMPLES:
            raise Mistake(node.line, f"{where}: expected at most {MAX_EXAMPLES}; found {len(found)}")
        if not any(one.calls for one in found) and not self.keys.mistakes:
            raise Mistake(node.line, f"{where}: expected at least one with calls; found none")
        return found

    def _example(self, node: Node, where: str) -> Example:
        kinds: dict[str, Reader] = {
            "text": setting("text", _example_text),
            "calls": setting("calls", self._calls),
            "shown": setting("shown", as_text),
        }
        found = self.keys.read_mapping(node, where, kinds)
        require(node, where, "text", "calls")
        return Example(found.get("text", ""), found.get("calls", ()), found.get("shown"), node.line)

    def _calls(self, node: Node, where: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        return self.keys.read_list(node, where, "a list of calls, [] for none", self._call)

    def _call(self, node: Node, where: str) -> tuple[str, Mapping[str, Any]]:
        kinds: dict[str, Reader] = {
            "name": setting("name", lambda node, where: as_word(node, where, "a name")),
            "arguments": setting("arguments", _arguments),
        }
        found = self.keys.read_mapping(node, where, kinds)
        require(node, where, "name")
        return found.get("name", ""), found.get("arguments", {})


def check_name(name: str, taken: Collection[str]) -> str | None:
    """What is wrong with a name for a dialect of the configuration; None for nothing."""
    try:
        _Reading(taken, None).free(name, Node(1, name), "name")
    except Mistake as mistake:
        return str(mistake)
    return None


def _engine(node: Node, where: str) -> str:
    value = node.value
    if isinstance(value, str) and value in ENGINES:
        return value
    hint = did_you_mean(value, ENGINES) if isinstance(value, str) else ""
    raise expected(f"one of {', '.join(ENGINES)}", node, where, hint)


def _result(node: Node, where: str) -> str:
    """How a result is written: a text with the places {text}, {name} and {id}."""
    text = as_text(node, where)
    if text.count("{text}") != 1 or not text.partition("{text}")[0].strip():
        raise expected("a text with the place {text}, once and behind a mark", node, where)
    for place in _PLACES.findall(text):
        if place not in {"text", "name", "id"}:
            raise expected("no places but {text}, {name} and {id}", node, where)
    return text


def _example_text(node: Node, where: str) -> str:
    text = as_text(node, where)
    if len(text) > MAX_TEXT:
        raise expected(f"text of at most {MAX_TEXT} characters", node, where)
    return text


def _arguments(node: Node, where: str) -> Mapping[str, Any]:
    as_mapping(node, where, may_be_empty=True)
    values: Mapping[str, Any] = plain_value(node) or {}
    return values
