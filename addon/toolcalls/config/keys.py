"""The keys of mappings: each has one reader, and mistakes are collected key by key."""

from collections.abc import Callable, Mapping
from typing import Any

from toolcalls.config.mistakes import MAX_MISTAKES, Mistake, did_you_mean, quote
from toolcalls.config.nodes import Node
from toolcalls.config.readers import Reader, as_list, as_mapping


class Keys:
    """The keys of one document as they are read.

    mistakes   those so far. With one no Config comes out, so what stands in for a wrong value is never seen
    lines      of the keys, by place (`routes[0].match.host`)
    places     the keys that may stand in a place, by what mistakes call it
    """

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []
        self.lines: dict[str, int] = {}
        self.places: dict[str, Mapping[str, Reader]] = {}

    def note(self, mistake: Mistake) -> None:
        """One more mistake. Raises it where it is the last that is shown."""
        if len(self.mistakes) == MAX_MISTAKES - 1:
            raise mistake  # the last one that is shown: it ends the reading
        self.mistakes.append(mistake)

    def collect(self, node: Node, where: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
        """What the keys of a mapping set. A key that is wrong is noted and sets nothing."""
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
                self.note(mistake)
        return found

    def each[T](self, node: Node, where: str, what: str, read: Callable[[Node, str], T]) -> list[T]:
        """What `read` makes of each item; one that is wrong is noted and left out. Each has its own name, if any."""
        found: list[T] = []
        names: set[str] = set()
        for i, item in enumerate(as_list(node, where, what)):
            try:
                made = read(item, f"{where}[{i}]")
                name = getattr(made, "name", None)
                if name is not None and name in names:
                    raise Mistake(item.line, f"{where}[{i}]: the name {quote(name)} is taken already")
            except Mistake as mistake:
                self.note(mistake)
                continue
            names.add(str(name))
            found.append(made)
        return found

    def _unknown(self, key: str, here: Mapping[str, Reader]) -> str:
        for place, keys in self.places.items():
            if key in keys:
                return f"unknown key {quote(key)} in this place; it belongs in {place}"
        return f"unknown key {quote(key)}" + (did_you_mean(key, here) or f"; expected one of {', '.join(here)}")
