"""Reads mappings and lists key by key: each key has one reader, and mistakes are collected."""

from collections.abc import Callable, Mapping
from typing import Any

from toolcalls.config.mistakes import MAX_MISTAKES, Mistake, did_you_mean, quote
from toolcalls.config.nodes import Node
from toolcalls.config.readers import Reader, as_list, as_mapping


class Keys:
    """The keys of one document, as they are read.

    mistakes   those so far. With one there is no Config, so a placeholder for a wrong value is never seen
    lines      the lines of the keys, by place (`routes[0].match.host`)
    places     the keys that each place accepts, by the name of the place in mistakes
    """

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []
        self.lines: dict[str, int] = {}
        self.places: dict[str, Mapping[str, Reader]] = {}

    def add_mistake(self, mistake: Mistake) -> None:
        """Collect a mistake. Raises it if it is the last one that is shown, which ends the reading."""
        if len(self.mistakes) == MAX_MISTAKES - 1:
            raise mistake
        self.mistakes.append(mistake)

    def read_mapping(self, node: Node, where: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
        """The fields that the keys of a mapping set. A wrong key sets nothing; its mistake is collected."""
        found: dict[str, Any] = {}
        for key, (line, value) in as_mapping(node, where, may_be_empty=True).items():
            place = f"{where}.{key}" if where else key
            self.lines[place] = line
            try:
                if key not in readers:
                    raise Mistake(line, self._unknown(key, readers))
                settings = readers[key](value, place)
                for twice in found.keys() & settings.keys():
                    raise Mistake(line, f"{place}: another key beside it has set {twice}; expected one of the two")
                found |= settings
            except Mistake as mistake:
                self.add_mistake(mistake)
        return found

    def read_list[T](self, node: Node, where: str, what: str, read: Callable[[Node, str], T]) -> tuple[T, ...]:
        """Each item of a list as `read` returns it. Wrong items are left out, their mistakes collected.

        Items that have a name must have different ones.
        """
        found: list[T] = []
        names: set[str] = set()
        for i, item in enumerate(as_list(node, where, what)):
            try:
                made = read(item, f"{where}[{i}]")
                name = getattr(made, "name", None)
                if name is not None and name in names:
                    raise Mistake(item.line, f"{where}[{i}]: the name {quote(name)} is taken already")
            except Mistake as mistake:
                self.add_mistake(mistake)
                continue
            names.add(str(name))
            found.append(made)
        return tuple(found)

    def _unknown(self, key: str, here: Mapping[str, Reader]) -> str:
        for place, keys in self.places.items():
            if key in keys:
                return f"unknown key {quote(key)} in this place; it belongs in {place}"
        return f"unknown key {quote(key)}" + (did_you_mean(key, here) or f"; expected one of {', '.join(here)}")
