"""What a reply's reading needs to know of its request: the tools, the choice, and the texts that may be quoted.

Derived from a request's conversation, from a file of the command line, or made by hand in a test; frozen data.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, overload


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. `schema` is the JSON Schema of its argument object ({} when it declares none).

    `form` is the wire's own word for calls of it where it is no function (`CallStart.form`), `space` the namespace that
    it is declared in, "" for none.
    """

    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    form: str = ""
    space: str = ""


class Texts[Part](Sequence[str]):
    """Texts that are read from the parts of something when they are asked for: the first, the latest, or all."""

    __slots__ = ("_all", "_parts", "_texts_of")

    def __init__(self, parts: Sequence[Part], texts_of: Callable[[Part], Iterable[str]]) -> None:
        self._parts = parts
        self._texts_of = texts_of
        self._all: tuple[str, ...] | None = None

    def _read(self) -> tuple[str, ...]:
        if self._all is None:
            self._all = tuple(chain.from_iterable(map(self._texts_of, self._parts)))
        return self._all

    def _latest(self, count: int) -> tuple[str, ...]:
        found: list[str] = []
        for part in reversed(self._parts):
            found[:0] = self._texts_of(part)
            if len(found) >= count:
                return tuple(found[-count:])
        self._all = tuple(found)
        return self._all

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if self._all is None and place == 0:
            return next(iter(self))
        if (
            isinstance(place, slice)
            and self._all is None
            and place.stop is None
            and -len(self._parts) < (place.start or 0) < 0
        ):
            return self._latest(-place.start)
        return self._read()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all) if self._all is not None else chain.from_iterable(map(self._texts_of, self._parts))

    def __len__(self) -> int:
        return len(self._read())

    def __bool__(self) -> bool:
        return any(True for _ in islice(self, 1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._read())


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model, as far as it matters here.

    `system` is the text of all system and developer messages, `assistant` the texts of the model's earlier turns,
    `quotable` the texts of user messages and tool results (of the provider's own tools, too): what an echo (condition
    5) may repeat. `response_format` says that the reply shall be JSON of the client's own making (structured output),
    so that JSON in it is no call.
    `carries_calls` is False where the API has no place for calls, so that its replies can only be observed.

    `prefill` are the texts of the last message where that is the assistant's own: the reply goes on after them.

    `conversation_tools` are those of the tools that the conversation itself declares, so that a server which keeps the
    conversation keeps them. `continues` is the id of a kept conversation, or of its latest reply; "" for none.

    `session` is the id that the body gives to the session of its agent, "" for none.
    """

    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    model: str = ""
    system: str = ""
    assistant: Sequence[str] = ()
    quotable: Sequence[str] = ()
    prefill: tuple[str, ...] = ()
    response_format: bool = False
    carries_calls: bool = True
    conversation_tools: tuple[Tool, ...] = ()
    continues: str = ""
    session: str = ""

    @property
    def names_tool(self) -> bool:
        """Whether the choice among the tools names one."""
        return self.tool_choice not in {"auto", "none", "required", ""}
