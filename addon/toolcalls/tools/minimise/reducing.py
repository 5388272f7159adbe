"""Smaller and smaller examples that still show it, by delta debugging, within a limit of time.

Strategy: chunks are removed (`search`) of the tools, of the messages, of the parameters of each tool, and of the text
by lines, words and characters. A place at which the text was cut is an atom of its own, so cuts go as characters do.
All of it is repeated until nothing more goes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from toolcalls.flows.cases.example import Example
from toolcalls.tools.minimise.search import ROUNDS, WORDS, Clock, fewer
from toolcalls.tools.minimise.showing import Shows

_CUT = "\udfff"  # the atom of a place where the text is cut: no text of a reply holds it, as UTF-8 cannot
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def reduced(example: Example, shows: Shows, clock: Clock) -> Example:
    """The smallest example that was found. `example` itself must show it."""
    steps = _Steps(shows, clock)
    for _ in range(ROUNDS):
        before = example
        for step in (steps.cuts, steps.settings, steps.tools, steps.messages, steps.schemas, steps.text):
            example = step(example)
        if example == before or clock.over:
            break
    return example


class _Steps:
    """Each makes one thing of an example smaller, as far as it still shows it."""

    def __init__(self, shows: Shows, clock: Clock) -> None:
        self._shows = shows
        self._clock = clock

    def cuts(self, example: Example) -> Example:
        """Without any cut, where that does not matter; one by one they go with the text."""
        return self._first(example, [replace(example, cuts=())])

    def settings(self, example: Example) -> Example:
        """Without settings, a choice of tools and an end of its own, each where it does not matter."""
        for key, _ in example.settings:
            rest = tuple(one for one in example.settings if one[0] != key)
            example = self._first(example, [replace(example, settings=rest)])
        example = self._first(example, [replace(example, tool_choice="auto")])
        return self._first(example, [replace(example, finish="stop")])

    def tools(self, example: Example) -> Example:
        """The example with fewer tools."""
        kept = self._fewer(example.tools, lambda tools: replace(example, tools=tuple(tools)))
        return replace(example, tools=tuple(kept))

    def messages(self, example: Example) -> Example:
        """The example with fewer and shorter messages."""
        kept = self._fewer(example.messages, lambda messages: replace(example, messages=tuple(messages)))
        example = replace(example, messages=tuple(kept))
        for place in range(len(example.messages)):
            for split in (_LINES.findall, WORDS.findall, list[str]):
                example = self._message(example, place, split)
        return example

    def _message(self, example: Example, place: int, split: Callable[[str], list[str]]) -> Example:
        role, text = example.messages[place]

        def having(atoms: Sequence[str]) -> Example:
            shorter = (role, "".join(atoms))
            return replace(example, messages=(*example.messages[:place], shorter, *example.messages[place + 1 :]))

        return having(self._fewer(split(text), having))

    def schemas(self, example: Example) -> Example:
        """Each tool with fewer and simpler parameters."""
        for place in range(len(example.tools)):
            example = self._first(example, (_with_schema(example, place, one) for one in _smaller(example, place)))
            for key in [*((example.tools[place][1] or {}).get("properties") or {})]:
                found = (_with_schema(example, place, one) for one in _without(example.tools[place][1] or {}, key))
                example = self._first(example, found)
        return example

    def text(self, example: Example) -> Example:
        """Less text, and fewer cuts in it: lines, words, characters."""
        for pattern in (_LINES, WORDS, None):
            atoms: list[str] = []
            for number, piece in enumerate(example.pieces):
                atoms += [_CUT] if number else []
                atoms += list(piece) if pattern is None else pattern.findall(piece)
            example = _marked(example, self._fewer(atoms, _marking(example)))
        return example

    def _first(self, example: Example, smaller: Iterable[Example]) -> Example:
        """The first of these that shows it, else the example."""
        return next((one for one in smaller if one != example and self._shows(one)), example)

    def _fewer[Atom](self, atoms: Sequence[Atom], made: Callable[[Sequence[Atom]], Example]) -> list[Atom]:
        return fewer(atoms, lambda some: self._shows(made(some)), self._clock)


def _with_schema(example: Example, place: int, schema: dict[str, Any] | None) -> Example:
    name, _ = example.tools[place]
    return replace(example, tools=(*example.tools[:place], (name, schema), *example.tools[place + 1 :]))


def _smaller(example: Example, place: int) -> Iterator[dict[str, Any]]:
    """Simpler schemas for a whole tool, the simplest first."""
    schema = example.tools[place][1]
    if not schema:
        return
    yield {"type": "object", "properties": {}}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        kept = {key: value for key, value in properties.items() if isinstance(value, dict)}
        short = {key: {"type": value["type"]} if _typed(value) else value for key, value in kept.items()}
        yield {"type": "object", "properties": short}


def _without(schema: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """A schema without a parameter, or with nothing but its type."""
    properties = schema["properties"]
    fewer = {name: value for name, value in properties.items() if name != key}
    for smaller in (
        fewer,
        {**properties, key: {"type": properties[key]["type"]}} if _typed(properties[key]) else fewer,
    ):
        made: dict[str, Any] = {"type": "object", "properties": smaller}
        if isinstance(schema.get("required"), list):
            made["required"] = [one for one in schema["required"] if one in smaller]
        yield made


def _typed(schema: Any) -> bool:
    """Whether a parameter's schema says its type, in one word."""
    return isinstance(schema, dict) and isinstance(schema.get("type"), str)


def _marking(example: Example) -> Callable[[Sequence[str]], Example]:
    return lambda atoms: _marked(example, atoms)


def _marked(example: Example, atoms: Sequence[str]) -> Example:
    """The example with the text that atoms make up, cut where one of them says so."""
    texts = [piece for piece in "".join(atoms).split(_CUT) if piece]
    return replace(example, text="".join(texts), cuts=tuple(accumulate(map(len, texts[:-1]))))
