"""The tools that a reply may call, by name, with what reading and writing their arguments needs to know."""

from collections.abc import Iterable

from toolcalls.request import Tool
from toolcalls.values.conversion import Types
from toolcalls.values.schema import declared_keys, parameter_types, required_keys


class Toolbox:
    """An index over a request's tools. Answers are remembered: one reply asks the same few questions often.

    infer     values without a schema are typed by the dialect's own rule
    textual   the tools are declared in prose: to the client every value is text, whatever JSON it was
    """

    def __init__(self, tools: Iterable[Tool] = (), *, infer: bool = True, textual: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._types: dict[tuple[str | None, ...], Types | None] = {}
        self.infer = infer
        self.textual = textual

    def __bool__(self) -> bool:
        return bool(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The declared names, in the request's order."""
        return tuple(self._tools)

    def resolve(self, name: str) -> str:
        """The tool that a written name means: itself when declared, else what follows its last `:`."""
        name = name.strip()
        return name if name in self._tools else name.rpartition(":")[2]

    def key(self, name: str, written: str) -> str:
        """The parameter that a written key means: itself, or what follows its namespace when only that is declared."""
        keys = self.keys(name)
        short = written.rpartition(":")[2]
        return short if short in keys and written not in keys else written

    def keys(self, name: str) -> tuple[str, ...]:
        """The declared parameters of a tool, () when it declares none or is unknown."""
        tool = self._tools.get(name)
        return declared_keys(tool.schema) if tool else ()

    def form(self, name: str) -> str:
        """The form of a tool's calls (`Tool.form`), "" for a function and for a tool that is unknown."""
        tool = self._tools.get(name)
        return tool.form if tool else ""

    def space(self, name: str) -> str:
        """The namespace that a tool is declared in, "" for none."""
        tool = self._tools.get(name)
        return tool.space if tool else ""

    def required(self, name: str) -> tuple[str, ...]:
        """The parameters that a tool requires."""
        tool = self._tools.get(name)
        return required_keys(tool.schema) if tool else ()

    def types(self, name: str, key: str, *inside: str | None) -> Types | None:
        """The JSON types that the schema declares for a parameter, None where it says nothing about it.

        inside   the way to a place in its value: a key for each object, None for the items of an array
        """
        place = (name, key, *inside)
        if place not in self._types:
            tool = self._tools.get(name)
            self._types[place] = parameter_types(tool.schema, key, *inside) if tool else None
        return self._types[place]
