"""A request as turns: what was said, called and answered so far, whatever the API. One file = one wire's requests.

A format reads a request body into a `Conversation` and writes a changed one back into the body. What it does not know
(images, files, unknown blocks, unknown fields) stays as raw JSON where it stood; a turn that nobody changed is written
byte for byte, so a prompt cache still finds its prefix.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, Protocol

from toolcalls.request import Tool
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}  # in messages with blocks


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a turn. `raw` is the block it was in, with what else the block says; None for one without a block.

    `cache_control` is the mark that clients put on a block up to which the prompt is to be cached.
    """

    text: str
    raw: Any = None
    cache_control: Any = None


@dataclass(frozen=True, slots=True)
class PastCall:
    """A native call of an earlier reply. `arguments` is JSON text."""

    id: str
    name: str
    arguments: str
    raw: Any = None
    cache_control: Any = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered. `others` are the blocks of it that are no text; `is_error` says that the tool failed."""

    id: str
    text: str
    raw: Any = None
    others: "tuple[Other, ...]" = ()
    cache_control: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A block of any other kind."""

    raw: Any


type Block = Text | PastCall | Result | Other


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `raw` is it as it came; None for a new one, and for a changed one `changed` says so."""

    role: Role
    blocks: tuple[Block, ...]
    raw: Any = None
    changed: bool = False

    def with_blocks(self, blocks: Sequence[Block]) -> "Turn":
        return Turn(self.role, tuple(blocks), self.raw, changed=True)


@dataclass(frozen=True, slots=True)
class OpaqueTool:
    """A tool that no prompt can describe. `hosted`: only the provider runs it; otherwise the client does, and no
    request says which arguments it takes.
    """

    name: str
    hosted: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole request: its turns, the tools that it declares, and how it may choose (as `Request.tool_choice`).

    parallel   False: the client asked for one call a reply
    opaque_tools  tools that the request declares beside `tools`, or among them, and that no prompt can describe
    stop       texts at which generation stops
    own_system_prompt   a new system prompt goes to a place of its own, since the server keeps what the turns say
    """

    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    parallel: bool = True
    opaque_tools: tuple[OpaqueTool, ...] = ()
    stop: tuple[str, ...] = ()
    own_system_prompt: bool = False

    @property
    def system(self) -> str:
        """The text of all system turns."""
        return "\n".join(
            block.text
            for turn in self.turns
            if turn.role == "system"
            for block in turn.blocks
            if isinstance(block, Text)
        )

    def dropped(self, declared: Iterable[OpaqueTool]) -> frozenset[str]:
        """The names of the opaque tools that a body declares and this conversation no longer has."""
        return frozenset(tool.name for tool in declared) - {tool.name for tool in self.opaque_tools}


class Format(Protocol):
    """The requests of one wire."""

    def read(self, body: bytes) -> Conversation:
        """Raises ValueError for a body that is no such request."""

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        """`body` with the turns and tools of `conversation`; everything else of it stays.

        Tools that the conversation no longer has are left out, and members about tools where no tool is left. New tools
        are written in the wire's form; those that the body declares stay as they are there. Texts to stop at are left
        out unless `stop` has them. One call a reply is asked for where the API has a word for it.
        """


@dataclass(frozen=True, slots=True)
class BodySystem:
    """The raw form of the system prompt where it is a member of the body and no message."""

    raw: Any


def body_system(turns: Sequence[Turn]) -> tuple[Turn | None, Sequence[Turn]]:
    """The turn for the body's own system prompt, None where there is none, and the turns that are messages."""
    if turns and (isinstance(turns[0].raw, BodySystem) or (turns[0].role == "system" and turns[0].raw is None)):
        return turns[0], turns[1:]
    return None, turns


def system_and_messages(fields: Fields, blocks_of: Callable[[Any], Iterator[Block]]) -> Iterator[Turn]:
    """The turns of a body with `system` and `messages`.

    blocks_of   the blocks of a content, or of the system prompt
    """
    system = fields.get("system")
    if system is not None and (blocks := tuple(blocks_of(system))):
        yield Turn("system", blocks, BodySystem(system))
    for raw in rawjson.items(fields.get("messages")):
        message = rawjson.fields(raw)
        role = _ROLES.get(rawjson.word(message, "role"))
        if role is None:
            yield Turn("user", (Other(raw),), raw)
        else:
            yield Turn(role, tuple(blocks_of(message.get("content"))), raw)


def with_answers(
    turns: Sequence[Turn],
    message: Callable[[Turn], Fields],
    written: Callable[[Block], Any],
    blocks_of: Callable[[Any], list[Any]],
) -> Iterator[Any]:
    """The turns as messages of an API in which users give the answers of tools: new answers go to the front of the
    user's message after them.

    message, written   a turn that is new or changed, and a block, in the API's form
    blocks_of          the blocks of a written message's content
    """
    answers: list[Any] = []
    for turn in turns:
        if turn.role == "tool":
            answers.extend(written(block) for block in turn.blocks if isinstance(block, Result))
            continue
        if answers and turn.role == "user" and _may_answer(turn):
            made = message(turn)
            yield {**made, "content": [*answers, *blocks_of(made.get("content"))]}
            answers = []
            continue
        if answers:
            yield {"role": "user", "content": answers}
            answers = []
        yield turn.raw if turn.raw is not None and not turn.changed else message(turn)
    if answers:
        yield {"role": "user", "content": answers}


def _may_answer(turn: Turn) -> bool:
    """Whether a turn is new, or is a message of role `user`."""
    return turn.raw is None or rawjson.word(rawjson.fields(turn.raw), "role") == "user"


@cache
def formats() -> dict[str, Format]:
    """The formats by the name of their wire."""
    return {
        module.name: import_module(f"{__name__}.{module.name}").FORMAT
        for module in sorted(iter_modules(__path__), key=lambda module: module.name)
    }
