"""What a request says, as a row of short messages that can be compared: who spoke, how much, the beginning of it.

Where the wire's own format (`turns`) reads the body, it is used; for other wires any list of messages is taken that the
APIs have (`messages`, `input`, `contents`), and a message is the strings that are in it. A message's digest is of
what it says, without marks for caches, which clients move from message to message. Work is linear in the body, and done
in small parts (`body`); most of a request is what the one before it said, and known messages are not made anew.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from toolcalls.insight.any_message import NAME, calls_and_answers, role_of, strings, word
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.request_body import Body, body_of
from toolcalls.requests.conversation import Block, Conversation, PastCall, Result, Text, conversation_of
from toolcalls.requests.session_ids import SESSION_KEYS
from toolcalls.values import rawjson

EXCERPT = 280  # characters of a message that are shown
KEPT = 64 * 1024  # characters of a message that are kept, to say how another one differs from it
_OPENING = (4, 64)  # messages among which the user's first is looked for, before all are read
_SETTING = 2048  # bytes of a setting that are looked at
_BEHIND = 512  # characters after what is shown that are searched, too, so that no secret is cut in two

_IN_USER_ID = re.compile(r"session_([A-Za-z0-9-]{8,64})\Z")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """One message. `size` is in characters, `calls` are names, `results` is how many results of tools it holds.

    `kept` is the text as it came, compressed (zlib), up to `KEPT` characters; b"" where `excerpt` is all of it. Most
    messages are never looked at, and to search all of them for secrets takes longer than all else that is done here.
    """

    role: str
    digest: str
    size: int
    excerpt: str
    calls: tuple[str, ...] = ()
    results: int = 0
    kept: bytes = b""

    def __reduce__(self) -> tuple[type["Message"], tuple[Any, ...]]:
        """Its fields in order: a report's processes send each other tens of thousands of messages, and what a dataclass
        does by itself takes longer than all else that is sent.
        """
        return Message, (self.role, self.digest, self.size, self.excerpt, self.calls, self.results, self.kept)

    @property
    def text(self) -> str:
        """Its text without secrets, as far as it is kept."""
        if not self.kept:
            return self.excerpt
        return redacted_text(zlib.decompress(self.kept).decode("utf-8", "surrogatepass"))[:KEPT]


class Known(Protocol):
    """Messages by role and digest: a mapping, or what looks one up like it."""

    def get(self, key: tuple[str, str], /) -> Message | None:
        """The message, None where it is not known."""


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """What one request says.

    messages     system texts first where the API keeps them apart
    tools        names, each with a digest of its declaration
    settings     what else it says, by name: the beginning of the JSON, and a digest of it
    answered     the ids of the calls whose results it brings
    session      the id of the session where the body holds one, "" where it does not
    unread       why there are no messages, "" when there are or need not be
    left_out     number of earlier messages left out
    """

    messages: tuple[Message, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    answered: tuple[str, ...] = ()
    model: str = ""
    session: str = ""
    size: int = 0
    unread: str = ""
    left_out: int = 0
    settings: tuple[tuple[str, str, str], ...] = ()

    @property
    def count(self) -> int:
        """How many messages the request has."""
        return self.left_out + len(self.messages)


def request_summary(wire: str, body: bytes, known: Known | None = None) -> RequestSummary:
    """A request's body. One that cannot be read gives `unread`, never an error. `known` messages are not made anew."""
    parts = body_of(body)
    if parts is None:
        return RequestSummary(size=len(body), unread="the request is no JSON object")
    try:
        messages = list(_messages(wire, parts, {} if known is None else known))
        tools = list(_tools(map(rawjson.value, parts.tools)))
    except RecursionError:
        return RequestSummary(size=len(body), unread="the request is nested too deeply")
    return RequestSummary(
        messages=tuple(message for message, _ in messages),
        tools=tuple(tools),
        answered=tuple(id_ for _, ids in messages for id_ in ids),
        model=excerpt(parts.model, NAME),
        session=excerpt(_session(parts), NAME),
        size=len(body),
        unread="" if messages else "the request has no messages",
        left_out=parts.left_out,
        settings=tuple(
            (excerpt(key, NAME), excerpt(raw[:_SETTING].decode("utf-8", "replace"), NAME), _digest_of(raw))
            for key, raw in parts.settings.items()
        ),
    )


def request_opening(wire: str, body: bytes) -> RequestSummary:
    """A request as far as it names its session: the model, the session's id, the messages up to the user's first.

    It costs a small part of `request_summary` where a request is long. Where a later message makes the request one that
    its API does not have, the user's first message may be read otherwise than there.
    """
    parts = body_of(body)
    if parts is None:
        return RequestSummary(size=len(body), unread="the request is no JSON object")
    try:
        messages = next(filter(None, (_up_to_user(wire, one) for one in _beginnings(parts))), [])
    except RecursionError:
        return RequestSummary(size=len(body), unread="the request is nested too deeply")
    return RequestSummary(
        messages=tuple(messages),
        model=excerpt(parts.model, NAME),
        session=excerpt(_session(parts), NAME),
        size=len(body),
        left_out=parts.left_out,
    )


def _beginnings(parts: Body) -> Iterator[tuple[Body, bool]]:
    """Ever longer beginnings of a body, and whether each is all of it."""
    for count in _OPENING:
        if count < len(parts.messages):
            yield parts.beginning(count), False
    yield parts, True


def _up_to_user(wire: str, beginning: tuple[Body, bool]) -> list[Message]:
    """The messages up to the user's first, [] for none. The last one of a beginning may have more to come, since some
    APIs say one turn in several items.
    """
    parts, is_all = beginning
    made: list[Message] = []
    for message, _ in _messages(wire, parts, {}):
        if made and made[-1].role == "user":
            return made
        made.append(message)
    return made if is_all and made and made[-1].role == "user" else []


def excerpt(text: str, length: int = EXCERPT) -> str:
    clean = redacted_text(text[: length + _BEHIND])
    return clean if len(clean) <= length else clean[:length] + "…"


def digest_of(value: Any) -> str:
    """A short digest of plain data."""
    return _digest_of(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def _digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=9).hexdigest()


def _digest_of_texts(role: str, texts: list[str]) -> str:
    """A short digest of who says what. Each text comes after its length, so that no two messages are one."""
    found = blake2b(role.encode("utf-8", "surrogatepass"), digest_size=9)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(b"\0%d\0" % len(data))
        found.update(data)
    return found.hexdigest()


def _session(body: Body) -> str:
    """An id under a name of its own, or the one in Claude Code's `metadata.user_id`: JSON with `session_id`, or a text
    that ends with it. The rest of a user's id names an account, and is nobody's business.
    """
    if key := next(filter(None, map(body.text, SESSION_KEYS)), ""):
        return key
    user_id = rawjson.word(rawjson.fields(body.members.get("metadata")), "user_id")
    if user_id.startswith("{"):
        return rawjson.word(rawjson.fields(user_id.encode("utf-8", "surrogatepass")), "session_id")
    found = _IN_USER_ID.search(user_id[-200:])
    return found[1] if found else ""


def _read(wire: str, body: bytes) -> Conversation | None:
    try:
        conversation = conversation_of(wire, body)
        return conversation if conversation.turns else None
    except (LookupError, ValueError, RecursionError):
        return None


def _messages(wire: str, parts: Body, known: Known) -> Iterator[tuple[Message, list[str]]]:
    """The messages, each with the ids of the calls whose results it brings."""
    conversation = _read(wire, parts.json)
    return _any(parts, known) if conversation is None else _native(conversation, known)


def _native(conversation: Conversation, known: Known) -> Iterator[tuple[Message, list[str]]]:
    for turn in conversation.turns:
        texts = [_said(block) for block in turn.blocks]
        calls = tuple(block.name[:NAME] for block in turn.blocks if isinstance(block, PastCall))
        ids = [block.id for block in turn.blocks if isinstance(block, Result)]
        yield _message(turn.role, texts, calls, len(ids), known), ids


def _said(block: Block) -> str:
    if isinstance(block, Text | Result):
        return block.text
    if isinstance(block, PastCall):
        return f"{block.name} {block.arguments}"
    return " ".join(strings(block.raw))


def _any(body: Body, known: Known) -> Iterator[tuple[Message, list[str]]]:
    """The messages in the body of any API, by the names that their members usually have."""
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        if said := rawjson.value(body.members.get(key)):
            yield _message("system", list(strings(said)), (), 0, known), []
    for key in ("messages", "input", "contents"):
        if said := body.text(key):
            yield _message("user", [said], (), 0, known), []
    for item in map(rawjson.value, body.messages):
        calls, ids = calls_and_answers(item)
        yield _message(role_of(item), list(strings(item)), tuple(calls), len(ids), known), ids


def _message(role: str, texts: list[str], calls: tuple[str, ...], results: int, known: Known) -> Message:
    digest = _digest_of_texts(role, texts)
    found = known.get((role, digest))
    if found is not None:
        return found
    text = "\n".join(filter(None, texts))
    kept = b""
    if len(text) > EXCERPT:
        kept = zlib.compress(text[: KEPT + _BEHIND].encode("utf-8", "surrogatepass"), 1)
    return Message(role, digest, sum(map(len, texts)), excerpt(text), calls, results, kept)


def _tools(declared: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for item in declared:
        if not isinstance(item, dict):
            continue
        inner = item.get("functionDeclarations", item.get("function_declarations"))
        if isinstance(inner, list):
            yield from _tools(inner)
            continue
        function = item.get("function")
        named = function if isinstance(function, dict) else item
        name = word(named.get("name")) or word(item.get("type")) or "(no name)"
        yield name[:NAME], digest_of({key: member for key, member in item.items() if key != "cache_control"})
