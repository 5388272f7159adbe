"""The items of a response that are no calls: messages with text parts, reasoning; and the response around them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolcalls.events import Finish
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part

NOTHING: tuple[Any, ...] = ()  # an empty array; all replies share it, so nothing can be put into it
MESSAGE: Fields = {"type": "message", "status": "in_progress", "role": "assistant", "content": NOTHING}

# Statuses and reasons of this API in the words of the hub.
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


_THOUGHTS = ("content", "summary")  # of a reasoning item

# Items of what the provider runs itself, with the members that hold what came of it.
_RESULTS = {
    "file_search_call": ("results",),
    "web_search_call": ("results", "action"),
    "mcp_call": ("output", "error"),
    "code_interpreter_call": ("outputs",),
}


def fetched(item: Mapping[str, Any]) -> list[str]:
    """The texts that a tool of the provider's own gave back; [] for any other item."""
    kind = rawjson.word(item, "type")
    members = ("output",) if kind.endswith("_call_output") else _RESULTS.get(kind, ())
    return [text for key in members for text in rawjson.strings(item.get(key))]


def thought_in(item: Fields) -> str | None:
    """What a reasoning item says, all of it, else its summary; None for any other item."""
    if rawjson.word(item, "type") != "reasoning":
        return None
    rows = ([rawjson.word(rawjson.fields(part), "text") for part in rawjson.items(item.get(key))] for key in _THOUGHTS)
    return next(("\n".join(row) for row in rows if any(row)), "")


def is_other(item: Fields) -> bool:
    """Whether an item that is no call of the client's says or does more than text and reasoning do."""
    if rawjson.word(item, "type") == "message":
        return any(not is_text(part) for part in parts_of(item))
    return rawjson.word(item, "type") not in {"", "reasoning"}


def text_part(like: Mapping[str, Any], text: str) -> Fields:
    """The text part `like` with another text; what the API says of its tokens is dropped."""
    part = dict(like) or {"type": "output_text", "text": "", "annotations": NOTHING}
    return {**part, "text": rawjson.string(text), **({"logprobs": NOTHING} if "logprobs" in part else {})}


def is_text(part: Mapping[str, Any]) -> bool:
    """Whether a part of a message is text; others are refusals."""
    return rawjson.word(part, "type") == "output_text"


def parts_of(item: Fields) -> list[Fields]:
    """The parts of a message, [] for any other item."""
    if rawjson.word(item, "type") != "message":
        return []
    return [rawjson.fields(part) for part in rawjson.items(item.get("content"))]


def texts_of(item: Fields) -> list[Fields]:
    """The text parts of a message, [] for any other item."""
    return [part for part in parts_of(item) if is_text(part)]


def thought_part(text: str) -> Fields:
    return {"type": "reasoning_text", "text": rawjson.string(text)}


def thought_item(id_: str, text: str | None) -> Fields:
    """A reasoning item; one without a text has just begun."""
    content = NOTHING if text is None else [thought_part(text)]
    return {"id": rawjson.string(id_), "type": "reasoning", "summary": NOTHING, "content": content}


class Message:
    """A message of the upstream's, and what the client sees of it: nothing yet, one message, or several with calls
    between them. `held` are the frames that open it or a part of it and that the client has not got.

    slot   the items that the client has got in the upstream's item's place
    own    it is one of ours, for text that has none
    whole  it came as a whole
    part   of one that came as a whole: the part that comes next
    """

    def __init__(self, item: Fields, slot: list[Any], *, own: bool = False, whole: bool = False) -> None:
        self.item = item
        self.slot = slot
        self.own = own
        self.whole = whole
        self.part: Fields = {}
        self.held: list[Fields] = []
        self.segment: Segment | None = None
        self.count = 0  # segments so far
        self.changed = own  # the client does not see it as it is

    def id(self) -> msgspec.Raw:
        """An id for the next segment; the first has the message's own."""
        name = rawjson.word(self.item, "id") or "msg"
        self.count += 1
        return rawjson.string(name if self.count == 1 else f"{name}_{self.count}")


class Segment:
    """One message that the client sees. Its text is in pieces until its part is closed.

    base   the content_index, in the upstream's message, of its own first part
    came   the part that is open, as it came as a whole; {} where it did not
    """

    def __init__(self, id_: msgspec.Raw, place: int, base: int) -> None:
        self.id = id_
        self.place = place
        self.base = base
        self.content: list[Any] = []
        self.part: Fields | None = None
        self.came: Fields = {}
        self.pieces: list[str] = []
        self.has_text_done = False  # `output_text.done` is out

    @property
    def text(self) -> str:
        """The text of the part that is open."""
        return "".join(self.pieces)

    @property
    def position(self) -> Fields:
        """The members that say where the part is that is open or comes next."""
        return {"item_id": self.id, "output_index": self.place, "content_index": len(self.content)}

    def begin(self, part: Fields, came: Fields | None = None) -> None:
        """Begin a text part."""
        self.part, self.came, self.pieces, self.has_text_done = part, came or {}, [], False

    def closed(self) -> list[Any]:
        """The content with the part that is open, as far as it came."""
        if self.part is None:
            return self.content
        same = bool(self.came) and rawjson.word(self.came, "text") == self.text
        return [*self.content, self.came if same else text_part(self.part, self.text)]


class Thought:
    """Reasoning of ours, as far as it came. `item` is the item that also is in the whole response."""

    def __init__(self, item: Fields, place: int) -> None:
        self.item = item
        self.place = place
        self.pieces: list[str] = []

    @property
    def position(self) -> Fields:
        """The members that say where the only part of its content is."""
        return {"item_id": self.item["id"], "output_index": self.place, "content_index": 0}


def response_with(response: Fields, output: list[Any], made: list[Any], *, cut: bool, stopped: bool = False) -> Fields:
    """The whole response with other items.

    cut       one of its calls broke off, which no other member says
    stopped   it met its limit after the end that the client is given
    """
    changes: Fields = {}
    if made is not output:
        changes["output"] = made
        if "output_text" in response:  # some servers send what the SDK computes
            parts = [part for item in map(rawjson.fields, made) for part in texts_of(item)]
            changes["output_text"] = rawjson.string("".join(rawjson.word(part, "text") for part in parts))
    if cut and rawjson.word(response, "status") == "completed":
        changes |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if stopped and not cut:
        changes |= {"status": "completed", "incomplete_details": None}
    return {**response, **changes} if changes else response


def is_stopped(response: Fields, parts: Sequence[Part]) -> bool:
    """Whether a response that met a limit is reported as ended by itself: a processor stopped it before."""
    reason = next((event.reason for _, event in reversed(parts) if isinstance(event, Finish)), "")
    return rawjson.word(response, "status") == "incomplete" and reason in {"stop", "tool_calls"}


def reason_of(response: Fields, *, calls: bool) -> str:
    """Why a response ended, in the words of the hub."""
    status = rawjson.word(response, "status")
    if status == "incomplete":
        return _REASONS.get(rawjson.word(rawjson.fields(response.get("incomplete_details")), "reason"), "length")
    if status in {"failed", "cancelled"}:
        return "failed"
    return "tool_calls" if calls else "stop"
