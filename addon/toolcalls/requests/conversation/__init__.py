"""A request as a conversation, whatever its API. One file = the requests of one API, read once and written back.

A `Conversation` reads what it is asked for. The members of the body are decoded once, without the JSON of single
blocks; the texts that the reply's reading needs come from there (`Conversation.request`). `turns` have their JSON as it
was written, for whoever reads arguments or changes something: what nobody changed leaves byte for byte, so that a
prompt cache still finds its prefix. Both are made by one reader, an API's `read_turns`: `rawjson` takes either form.

Where something new goes:

    a member of the body            the `members` of its API's reader, and the property here that says what it means
    a role                          the API's `_ROLES`; what each role may be: `Role`
    a block (a document, a call …)  the API's `_blocks`; what no rewriting needs to know is an `Other`
    what a reply may repeat         of each kind of turn and block: `Conversation.echoes`; in blocks and members of one
                                    API: its `fetched` and `documents`
    where calls and results stand   the API's `edit_history`
    an API that has only a prompt   a row of `prompts`
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Literal, Self

import msgspec

from toolcalls.request import Request, Texts, Tool
from toolcalls.requests.constrained_text import is_constrained
from toolcalls.requests.declared_tools import RequestReader
from toolcalls.requests.past_calls import Changes
from toolcalls.requests.session_ids import session_in
from toolcalls.requests.stop_texts import Place, stops_in
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Wire

Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}  # in messages with blocks


class Text(msgspec.Struct, frozen=True):
    """Text of a turn. `raw` is the block it was in, with what else the block says; None for one without a block.

    `cache_control` is the mark that clients put on a block up to which the prompt is to be cached.
    """

    text: str
    raw: Any = None
    cache_control: Any = None


class PastCall(msgspec.Struct, frozen=True):
    """A native call of an earlier reply. `arguments` is JSON text."""

    id: str
    name: str
    arguments: str
    raw: Any = None
    cache_control: Any = None


class Result(msgspec.Struct, frozen=True):
    """What a tool answered. `others` are the blocks of it that are no text; `is_error` says that the tool failed.

    `name` is the tool's where the result names it; `parts` are the texts of a result that came in several.
    """

    id: str
    text: str
    raw: Any = None
    others: "tuple[Other, ...]" = ()
    cache_control: Any = None
    is_error: bool = False
    name: str = ""
    parts: tuple[str, ...] = ()


class Other(msgspec.Struct, frozen=True):
    """A block of any other kind."""

    raw: Any


type Block = Text | PastCall | Result | Other


class Turn(msgspec.Struct):
    """One message. `raw` is it as it came; None for a new one, and for a changed one `changed` says so.

    given   its blocks, or what reads them from `raw` when somebody asks for them
    """

    role: Role
    given: tuple[Block, ...] | Callable[[Any], Iterable[Block]]
    raw: Any = None
    changed: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        if not isinstance(self.given, tuple):
            self.given = tuple(self.given(self.raw))
        return self.given

    @property
    def texts(self) -> list[str]:
        """Its texts, without those of calls and results."""
        return [block.text for block in self.blocks if isinstance(block, Text) and block.text]

    def with_blocks(self, blocks: Sequence[Block]) -> "Turn":
        return Turn(self.role, tuple(blocks), self.raw, changed=True)


class OpaqueTool(msgspec.Struct, frozen=True):
    """A tool that no prompt can describe. `hosted`: only the provider runs it; otherwise the client does, and no
    request says which arguments it takes.
    """

    name: str
    hosted: bool = True


class Conversation:
    """A whole request: its turns, the tools that it declares, how it may choose among them, and what else it says.

    Raises ValueError for a body that is no request of the API; what it reads later never raises.
    """

    reader: ClassVar[RequestReader]
    joint: ClassVar[str] = "\n"  # between the texts of one turn
    stop_places: ClassVar[tuple[Place, ...]] = ()  # where texts to stop at are
    carries_calls: ClassVar[bool] = True  # as `Request.carries_calls`

    def __init__(self, body: bytes) -> None:
        self.body = body
        read, self.declared = self.reader.read(body)
        if not isinstance(read, dict):
            raise ValueError("the request body is not an object")
        self.given: Mapping[str, Any] = read
        self._came: Self | None = None
        self.check()

    # --- what an API says ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises ValueError for a body of another API."""

    def read_turns(self, members: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns in the members of a body, which are plain data or raw JSON."""
        raise NotImplementedError

    def fetched(self, raw: Any) -> Iterable[str]:  # noqa: ARG002 - most APIs have some
        """The texts in a block that is no text of the user's or the model's: what the provider's own tools gave back,
        documents, search results, and what a text cites of these.
        """
        return ()

    def reply_texts(self, turn: Turn) -> Iterable[str]:
        """The text of an earlier reply, () for none."""
        text = self.joint.join(turn.texts)
        return (text,) if text else ()

    def result_texts(self, result: Result) -> Iterable[str]:
        """What a tool answered, as texts that the reply may repeat."""
        return result.parts if len(result.parts) > 1 else (result.text,)

    def documents(self) -> Iterable[str]:
        """Texts beside the turns that the reply may repeat."""
        return ()

    def written(self) -> bytes:
        """The body with what was changed; everything else of it stays.

        Tools that the conversation no longer has are left out, and members about tools where no tool is left. New tools
        are written in the API's form; those that the body declares stay as they are there. Texts to stop at are left
        out unless `stop` has them. One call a reply is asked for where the API has a word for it. Raises ValueError for
        what has no form in the API.
        """
        raise NotImplementedError

    def edit_history(self, fields: Fields, changes: Changes) -> Fields:  # noqa: ARG002 - a prompt has no calls
        """The members with their calls and results as `changes` makes them; the same object where all of them stay."""
        return fields

    def body_with(self, fields: Fields) -> bytes:
        """The body with these members."""
        return rawjson.written(fields)

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the client runs and the model may call."""
        return self.declared

    @cached_property
    def tool_choice(self) -> str:
        """As `Request.tool_choice`."""
        return "auto"

    @cached_property
    def parallel(self) -> bool:
        """False: the client asked for one call a reply."""
        return True

    @cached_property
    def opaque_tools(self) -> tuple[OpaqueTool, ...]:
        """Tools that the request declares beside `tools`, or among them, and that no prompt can describe."""
        return ()

    @cached_property
    def stop(self) -> tuple[str, ...]:
        """Texts at which generation stops."""
        return stops_in(self.fields, *self.stop_places)

    @cached_property
    def own_system_prompt(self) -> bool:
        """A new system prompt goes to a place of its own, since the server keeps what the turns say."""
        return False

    @property
    def model(self) -> str:
        return rawjson.word(self.given, "model")

    @property
    def session(self) -> str:
        """As `Request.session`."""
        return session_in(self.given)

    @property
    def is_structured(self) -> bool:
        """Whether the API's own members ask for JSON; what servers add to an API, `constrained_text` knows."""
        return False

    @property
    def kept_tools(self) -> tuple[Tool, ...]:
        """As `Request.conversation_tools`."""
        return ()

    @property
    def continues(self) -> str:
        """As `Request.continues`."""
        return ""

    # --- what is derived ----------------------------------------------------------------------------------------------

    @cached_property
    def fields(self) -> Fields:
        """The members of the body as they are written."""
        return rawjson.fields(self.body)

    @cached_property
    def said(self) -> tuple[Turn, ...]:
        """The turns for whoever only reads their texts: ids and arguments are not as they are written."""
        return tuple(self.read_turns(self.given))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self.read_turns(self.fields))

    @property
    def system(self) -> str:
        """The text of all system turns."""
        return "\n".join(text for turn in self.turns if turn.role == "system" for text in turn.texts)

    @property
    def request(self) -> Request:
        """What the reply's reading needs to know. It is not kept: it holds the conversation, and a cycle would keep
        large bodies alive.
        """
        last = self.said[-1:]
        return Request(
            tools=self.tools,
            tool_choice=self.tool_choice,
            model=self.model,
            system="\n".join(text for turn in self.said if turn.role == "system" for text in turn.texts),
            assistant=Texts([turn for turn in self.said if turn.role == "assistant"], self.reply_texts),
            quotable=Texts([*self._repeatable(), None], self._echoes),
            prefill=tuple(text for turn in last if turn.role == "assistant" for text in turn.texts),
            response_format=self.is_structured or is_constrained(self.given),
            carries_calls=self.carries_calls,
            conversation_tools=self.kept_tools,
            continues=self.continues,
            session=self.session,
        )

    def _repeatable(self) -> Iterator[Turn]:
        """The turns that a reply may repeat: not the system's words in front of all that a user says, which teach."""
        asked = False
        for turn in self.said:
            asked = asked or turn.role == "user"
            if asked or turn.role != "system":
                yield turn

    def _echoes(self, turn: Turn | None) -> list[str]:
        return [text for text in (self.documents() if turn is None else self.echoes(turn)) if text]

    def echoes(self, turn: Turn) -> Iterator[str]:
        """What a reply may repeat of a turn: what the user or the system said, what tools gave back, documents."""
        if turn.role in {"user", "system"}:
            yield from turn.texts
        for block in turn.blocks:
            if isinstance(block, PastCall):
                continue
            if isinstance(block, Result):
                yield from self.result_texts(block)
                for other in block.others:
                    yield from self.fetched(other.raw)
            elif block.raw is not None:
                yield from self.fetched(block.raw)

    # --- changes ------------------------------------------------------------------------------------------------------

    def changed(
        self,
        *,
        turns: Sequence[Turn] | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: str | None = None,
        parallel: bool | None = None,
        opaque_tools: Sequence[OpaqueTool] | None = None,
        stop: Sequence[str] | None = None,
    ) -> Self:
        """The conversation with other turns, tools and so on; what is None stays."""
        made = copy(self)
        made._came = self.came
        for name, value in (("turns", turns), ("tools", tools), ("opaque_tools", opaque_tools), ("stop", stop)):
            if value is not None:
                setattr(made, name, tuple(value))
        made.tool_choice = self.tool_choice if tool_choice is None else tool_choice
        made.parallel = self.parallel if parallel is None else parallel
        return made

    def with_changes(self, changes: Changes) -> bytes | None:
        """The body as it came, with changed calls and results; None where nothing changes."""
        made = self.edit_history(self.fields, changes)
        return None if made is self.fields else self.body_with(made)

    @property
    def came(self) -> Self:
        """The conversation as it was read."""
        return self if self._came is None else self._came

    @property
    def dropped(self) -> frozenset[str]:
        """The names of the tools and opaque tools that the body declares and the conversation no longer has."""
        return self.came._names - self._names

    @property
    def _names(self) -> frozenset[str]:
        return frozenset([*(tool.name for tool in self.tools), *(tool.name for tool in self.opaque_tools)])

    @property
    def added(self) -> list[Tool]:
        """The tools that the body does not declare."""
        known = {tool.name for tool in self.came.tools}
        return [tool for tool in self.tools if tool.name not in known]

    @property
    def calls(self) -> Iterator[PastCall]:
        return (block for turn in self.turns for block in turn.blocks if isinstance(block, PastCall))


# --- what APIs have in common -----------------------------------------------------------------------------------------


class BodySystem(msgspec.Struct, frozen=True):
    """The raw form of the system prompt where it is a member of the body and no message."""

    raw: Any


def body_system(turns: Sequence[Turn]) -> tuple[Turn | None, Sequence[Turn]]:
    """The turn for the body's own system prompt, None where there is none, and the turns that are messages."""
    if turns and (isinstance(turns[0].raw, BodySystem) or (turns[0].role == "system" and turns[0].raw is None)):
        return turns[0], turns[1:]
    return None, turns


def system_and_messages(members: Mapping[str, Any], blocks_of: Callable[[Any], Iterator[Block]]) -> Iterator[Turn]:
    """The turns of a body with `system` and `messages`.

    blocks_of   the blocks of a content, or of the system prompt
    """
    system = members.get("system")
    if system is not None and (said := tuple(blocks_of(system))):
        yield Turn("system", said, BodySystem(system))

    def blocks(message: Any) -> Iterator[Block]:
        return blocks_of(rawjson.fields(message).get("content"))

    for raw in rawjson.items(members.get("messages")):
        role = _ROLES.get(rawjson.word(rawjson.fields(raw), "role"))
        yield Turn("user", (Other(raw),), raw) if role is None else Turn(role, blocks, raw)


def arguments_in(given: Any) -> str:
    """The JSON text of a call's arguments as it is written: `{}` where it is no object, and in plain data."""
    return rawjson.text_of(given) if isinstance(given, msgspec.Raw) and rawjson.is_object(given) else "{}"


def paired(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns with ids for calls that have none, and with these in the results that answer them.

    A result answers the call of its id. One without an id answers the first call of its name that has no answer yet,
    without a name the first at all; so does one with an id that no call has, among the calls without one. Calls that
    nobody answered before the model's next turn have no answer.
    """
    count, before = 0, ""
    waiting: list[tuple[PastCall, bool]] = []  # with whether the id was there
    for turn in turns:
        if turn.role == "assistant" != before:
            waiting.clear()
        before = turn.role
        blocks: list[Block] = []
        for block in turn.blocks:
            made = block
            if isinstance(block, PastCall):
                count += 1
                made = block if block.id else msgspec.structs.replace(block, id=f"call {count}")
                waiting.append((made, bool(block.id)))
            elif isinstance(block, Result):
                found = next((one for one in waiting if block.id and one[0].id == block.id), None) or next(
                    (one for one in waiting if block.name in {"", one[0].name} and not (block.id and one[1])), None
                )
                if found is not None:
                    waiting.remove(found)
                    made = msgspec.structs.replace(block, id=found[0].id)
            blocks.append(made)
        yield Turn(turn.role, tuple(blocks), turn.raw)


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
def _readers() -> dict[str, Callable[[bytes], Conversation]]:
    """What reads the requests of each wire, by its name."""
    found: dict[str, Callable[[bytes], Conversation]] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        found |= import_module(f"{__name__}.{module.name}").CONVERSATIONS
    return found


def conversation_of(wire: str, body: bytes) -> Conversation:
    """A request of a wire. Raises ValueError for what is none."""
    return _readers()[wire](body)


def request_of(wire: Wire, body: bytes) -> Request:
    """What a reply's reading needs to know of its request. Raises ValueError for what is none."""
    return conversation_of(wire.name, body).request
