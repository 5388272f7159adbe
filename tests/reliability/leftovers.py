"""Invariant 8: a reply leaves nothing after. What the product shares between replies is the same after each of them.

Shared is what hangs on its modules: containers, defaults of functions, and the objects of its own classes. That is
looked up once; after each input every container is compared with a copy of it. What may differ is what is remembered of
something that never changes: `cached_property`, and the caches of `functools`, which are not looked into. What hosts
share on purpose is beside the way of the bytes.
"""

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Any

_PACKAGE = "toolcalls"
_CONTAINERS = (list, dict, set, deque, bytearray)
_ON_PURPOSE = {
    # Functions of the user's that have been read from their files.
    "toolcalls.processors.reactor_runner.RUNNER",
    "toolcalls.flows.exchange_plan.RUNNER",
    "toolcalls.mitm.config_file.RUNNER",
    # The forms of texts, which never change: as a cache of `functools`, but bounded in characters.
    "toolcalls.text.request_text._variants_of",
    "toolcalls.text.request_text._readings_of",
}


@dataclass
class _Shared:
    """A container that replies share: where it stands, a copy of it, and the keys that may come to it."""

    place: str
    container: Any
    copy: Any
    may_come: frozenset[str] = frozenset()

    def changed(self) -> bool:
        """Whether it holds something else since this was last asked."""
        if self.container == self.copy:
            return False
        now, was, self.copy = self.container, self.copy, self.container.copy()
        return not self.may_come or _without(now, self.may_come) != _without(was, self.may_come)


def _without(members: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: member for key, member in members.items() if key not in keys}


class Lookout:
    """Knows what replies share, as it was when this was last asked."""

    def __init__(self) -> None:
        self._shared: list[_Shared] = []
        self._modules = 0  # how many the interpreter had at the last look-up: the product's are loaded when needed

    def changes(self) -> list[str]:
        """What is not as it was: each place, and what it holds now. The first time it is []."""
        found = [f"{one.place} holds {repr(one.container)[:200]}" for one in self._shared if one.changed()]
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._shared = list(_looked_up())
        return found


LOOKOUT = Lookout()  # of this process


def _looked_up() -> Iterator[_Shared]:
    """All containers that replies share, each once."""
    seen: set[int] = set()
    for name, module in sorted(sys.modules.items()):
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}."):
            for key, value in list(vars(module).items()):
                if not key.startswith("__") and f"{name}.{key}" not in _ON_PURPOSE:
                    yield from _within(f"{name}.{key}", value, seen)


def _within(place: str, thing: Any, seen: set[int]) -> Iterator[_Shared]:
    """The containers in a thing, as deep as they stand."""
    pending = [(place, thing)]
    while pending:
        place, thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, _CONTAINERS):
            yield _Shared(place, thing, thing.copy())
        if isinstance(thing, dict | MappingProxyType):
            pending += ((f"{place}[{key!r}]", value) for key, value in thing.items())
        elif isinstance(thing, list | tuple | set | frozenset | deque):
            pending += ((f"{place}[{at}]", value) for at, value in enumerate(thing))
        elif isinstance(thing, FunctionType):
            pending.append((f"{place}(…)", (thing.__defaults__, thing.__kwdefaults__)))
        elif isinstance(thing, type) and thing.__module__.startswith(_PACKAGE):
            pending += ((f"{place}.{key}", value) for key, value in vars(thing).items() if not key.startswith("__"))
        elif type(thing).__module__.startswith(_PACKAGE):
            classes = type(thing).__mro__
            members = getattr(thing, "__dict__", {})
            derived = {key for one in classes for key, value in vars(one).items() if isinstance(value, cached_property)}
            if members:
                yield _Shared(place, members, members.copy(), frozenset(derived))
            slots = [key for one in classes for key in getattr(one, "__slots__", ()) if hasattr(thing, key)]
            pending += ((f"{place}.{key}", getattr(thing, key)) for key in (*members, *slots))
