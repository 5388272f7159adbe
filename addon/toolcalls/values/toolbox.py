"""The tools that a reply may call, by name, with what reading and writing their arguments needs to know."""

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from toolcalls.events import Repair
from toolcalls.request import Tool
from toolcalls.values.call_meaning import NOTHING_DECLARED, Declared
from toolcalls.values.conversion import Types
from toolcalls.values.schema import declared_keys, parameter_types, required_keys
from toolcalls.values.tool_names import SEPARATOR, ToolNames, letters
from toolcalls.values.validation import Validator

_MAX_NEAREST = 20  # names of a reply for which close ones are looked for
_MAX_LETTERS = 64  # of such a name
_CLOSE = 0.6  # how alike names must be, from 0 to 1

LOCAL = "local"  # the server of tools that belong to no server (Forge)

_FEW = 100  # names of tools
_PLAIN = re.compile(r"\w+")


def _plain(text: str) -> str:
    """A text without what may be spelt otherwise in its words."""
    return text.replace("__", ".").replace("_", "").replace("-", "").lower()


@dataclass(frozen=True, slots=True)
class Named:
    """The declared tool that a name means.

    name       the declared one
    repair     what was wrong with the name that came
    arguments  arguments that were written into that name, "" for none
    """

    name: str
    repair: Repair
    arguments: str = ""


class Toolbox:
    """An index over a request's tools. Answers are remembered: one reply asks the same few questions often.

    infer     values without a schema are typed by the dialect's own rule
    textual   the tools are declared in prose: to the client every value is text, unless its form shows the type
    escaped   who writes the calls escapes values between tags, as in XML; None where that is not known
    """

    def __init__(
        self, tools: Iterable[Tool] = (), *, infer: bool = True, textual: bool = False, escaped: bool | None = None
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._resolved: dict[str, str] = {}
        self._nearest: dict[str, tuple[str, ...]] = {}
        self._types: dict[tuple[str | None, ...], Types | None] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._validators: dict[str, Validator | None] = {}
        self._declared: dict[str, Declared] = {}
        self.infer = infer
        self.escaped = escaped
        self.textual = textual

    @property
    def types_by_form(self) -> bool:
        """Whether a form in which a text and a number look different types values for which there is no schema."""
        return self.infer or self.textual

    def __bool__(self) -> bool:
        return bool(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The declared names, in the request's order."""
        return tuple(self._tools)

    def __contains__(self, name: str) -> bool:
        """Whether a tool of this name is declared, or has it as well (`spelt`)."""
        return name in self._tools

    def declares(self, name: str) -> bool:
        """Whether a tool is declared by this very name."""
        return name in self._names

    def resolve(self, written: str) -> str:
        """The tool that a written name means.

        It is itself when declared; else the only declared one from which it differs by a prefix up to a separator
        (`functions.`, `mcp__server__`), or by case, `-`, `_` and blanks; else what follows its last `:`. A colon
        after the name belongs to the text around it.
        """
        name = written.strip()
        if name in self._tools:
            return name
        name = name.rstrip(":")
        if name not in self._resolved:
            self._resolved[name] = self._names.meant(name) or name.rpartition(":")[2]
        return self._resolved[name]

    def means_tool(self, written: str) -> bool:
        """Whether a written name means a declared tool (`resolve`)."""
        return self.resolve(written) in self._tools

    @cached_property
    def _names(self) -> ToolNames:
        return ToolNames(self._tools)

    def spelt(self, written: Iterable[str]) -> "Toolbox":
        """The same tools, which have these names as well. Each means one of them (`resolve`)."""
        names = self._names
        also = copy(self)
        also._names = names
        also._tools = {**self._tools, **{name: self._tools[self.resolve(name)] for name in written}}
        also._keys, also._types, also._validators, also._declared = {}, {}, {}, {}
        return also

    def may_be_named_in(self, text: str) -> bool:
        """Whether some word of a text may name a tool, however it is spelt (`named_by`): one pass over the text."""
        plain, parts = _plain(text), self._last_parts
        if len(parts) <= _FEW:  # each is searched for in a fraction of the time that all words take
            return any(part in plain for part in parts)
        return not parts.isdisjoint(_PLAIN.findall(plain))

    @cached_property
    def _last_parts(self) -> frozenset[str]:
        """What the last part of a word that names a tool has in it, in the spelling of `may_be_named_in`."""
        return frozenset(parts[-1] for parts in (_PLAIN.findall(_plain(tool)) for tool in self._tools) if parts)

    def named_by(self, word: str) -> str:
        """The declared tool that a word of a text names, "" for none: `resolve` for words of which there are many."""
        if word in self._tools:
            return word
        if not self._last_parts.intersection(_PLAIN.findall(_plain(word))[-1:]):
            return ""
        behind = [word[separator.end() :] for separator in SEPARATOR.finditer(word)]
        if not any(one in self._tools or self._names.spelt(one) for one in (word, *behind)):
            return ""
        return self._names.meant(word)

    def nearest(self, name: str) -> tuple[str, ...]:
        """The declared tools whose names come close to one that is not declared, the closest first; three at most.

        Asked for many names, as no model has them, it answers () from some on.
        """
        if name not in self._nearest and len(self._nearest) < _MAX_NEAREST:
            by_letters = {letters(tool): tool for tool in reversed(self._tools)}
            parts = [name, *(name[separator.end() :] for separator in SEPARATOR.finditer(name))]
            close = get_close_matches(letters(parts[-1][:_MAX_LETTERS]), by_letters, cutoff=_CLOSE)
            self._nearest[name] = tuple(by_letters[one] for one in close)
        return self._nearest.get(name, ())

    def served(self, server: str, tool: str) -> str:
        """The name of a server's tool: the declared one that names both, else `server.tool`.

        The server `local`, or none, has the tools without a server.
        """
        if server in {"", LOCAL}:
            return tool
        names = [f"{server}{separator}{tool}" for separator in (".", "__", "/", ":", "_", "-")]
        names += [f"mcp__{server}__{tool}", f"mcp_{server}_{tool}"]
        return next((name for name in names if name in self._tools), names[0])

    def key(self, name: str, written: str) -> str:
        """The parameter that a written key means: itself, or what follows its namespace when only that is declared."""
        keys = self.keys(name)
        short = written.rpartition(":")[2]
        return short if short in keys and written not in keys else written

    def keys(self, name: str) -> tuple[str, ...]:
        """The declared parameters of a tool, () when it declares none or is unknown."""
        if name not in self._keys and name in self._tools:
            self._keys[name] = declared_keys(self._tools[name].schema)
        return self._keys.get(name, ())

    def takes_nothing(self, name: str) -> bool:
        """Whether a tool is declared, and without any parameter."""
        tool = self._tools.get(name)
        return tool is not None and not tool.form and not (declared_keys(tool.schema) or required_keys(tool.schema))

    def form(self, name: str) -> str:
        """The form of a tool's calls (`Tool.form`), "" for a function and for a tool that is unknown."""
        tool = self._tools.get(name)
        return tool.form if tool else ""

    def space(self, name: str) -> str:
        """The namespace that a tool is declared in, "" for none."""
        tool = self._tools.get(name)
        return tool.space if tool else ""

    def in_space(self, space: str, name: str) -> str:
        """The name of a tool that a namespace declares: with the namespace in front where the request has it so."""
        full = f"{space}.{name}"
        return full if full in self._tools else name

    def required(self, name: str) -> tuple[str, ...]:
        """The parameters that a tool requires."""
        tool = self._tools.get(name)
        return required_keys(tool.schema) if tool else ()

    def validator(self, name: str) -> Validator | None:
        """Checks arguments of a tool by its schema; None where that is unknown, empty, or described in prose."""
        if name not in self._validators and name in self._tools:
            schema = self._tools[name].schema
            self._validators[name] = Validator(schema) if schema and not self.textual else None
        return self._validators.get(name)

    def declared(self, name: str) -> Declared:
        """What the schema of a tool says about its arguments."""
        if name not in self._tools:
            return NOTHING_DECLARED
        if name not in self._declared:
            schema = self._tools[name].schema
            self._declared[name] = Declared(schema, (schema,))
        return self._declared[name]

    def types(self, name: str, key: str | None, *inside: str | None) -> Types | None:
        """The JSON types that the schema declares for a parameter, None where it says nothing about it.

        inside   the way to a place in its value: a key for each object, None for the items of an array
        """
        place = (name, key, *inside)
        if place not in self._types:
            tool = self._tools.get(name)
            self._types[place] = parameter_types(tool.schema, key, *inside) if tool else None
        return self._types[place]
