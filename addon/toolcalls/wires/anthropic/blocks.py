"""The content of a message: its blocks and the text in them; and why the message ended."""

from collections.abc import Iterable, Sequence
from typing import Any

from toolcalls.events import CallPiece, CallStart, Finish, Reason
from toolcalls.values import rawjson
from toolcalls.values.conversion import is_object
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part

# Stop reasons in the words of the hub; all others pass as they are.
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_WORDS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
# They tell the client more than that there are calls.
_KEPT = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})


def is_text(block: Fields) -> bool:
    """Whether a block is text that the client is shown; thinking is another kind."""
    return rawjson.word(block, "type") == "text"


def fetched(block: Fields) -> list[str]:
    """The texts that a tool of the provider's own gave back, where a block holds its result, and what a text block
    cites of documents, pages and search results; [] for any other block.

    Web search and fetch, code execution, MCP and others call it `…_tool_result`.
    """
    if is_text(block):
        return [text for citation in rawjson.items(block.get("citations")) if (text := cited(citation))]
    return rawjson.strings(block.get("content")) if rawjson.word(block, "type").endswith("_tool_result") else []


def cited(citation: object) -> str:
    """What a citation repeats of its source, "" where it says nothing of it."""
    return rawjson.word(rawjson.fields(citation), "cited_text")


def is_other(kind: str) -> bool:
    """Whether blocks of a type are neither text nor thinking nor calls of the client's."""
    return kind not in {"text", "tool_use", "thinking", "redacted_thinking", ""}


def is_call(block: Fields) -> bool:
    """Whether a block is a call of a tool of the client's."""
    return rawjson.word(block, "type") == "tool_use"


def input_of(block: Fields) -> str:
    """The argument JSON that the block of a call holds; `{}` where it holds nothing.

    Some gateways give the object as a string, which clients such as Claude Code take apart. What is neither is given as
    it is, so that rules see what a client may make of it.
    """
    given = block.get("input")
    text = rawjson.word(block, "input")
    if given is None or bytes(given) == b"null" or (rawjson.is_string(given) and not text.strip()):
        return "{}"
    return text if is_object(text) else rawjson.text_of(given)


def damages_of(block: Fields, ids: set[str]) -> tuple[list[Reason], list[Reason]]:
    """What is wrong with the block of a call beside its name and its object: with its id alone, and what its arguments
    are or whose id it has. `ids` are those of the calls before it.
    """
    id_ = rawjson.word(block, "id")
    first: list[Reason] = [] if id_ else ["no_id"]
    then: list[Reason] = ["repeated_id"] if id_ and id_ in ids else []
    ids.add(id_)
    given = block.get("input")
    if given is None or rawjson.is_object(given) or bytes(given) == b"null":
        return first, then
    text = rawjson.word(block, "input")
    if not text.strip() and rawjson.is_string(given):
        return first, [*then, "empty_arguments"]
    return first, [*then, "double_encoded" if is_object(text) else "bad_arguments"]


def as_mended(block: Fields, start: CallStart | None, piece: CallPiece | None) -> Fields:
    """The block of a call as its events have it, where these were mended."""
    made = block
    if start is not None and start.mended:
        given = {"id": start.id, "name": start.name}
        changes = {key: rawjson.string(word) for key, word in given.items() if word != rawjson.word(block, key)}
        made = {**made, **changes} if changes else made
    if piece is not None and piece.mended:
        made = {**made, "input": rawjson.json_text(piece.json)}
    return made


def all_mended(content: Sequence[Any], parts: Iterable[Part]) -> list[Any]:
    """The blocks of a message, with what was mended of its calls."""
    made = list(content)
    for _, event in parts:
        if not isinstance(event, CallStart | CallPiece) or not event.mended or not 0 <= event.entry < len(made):
            continue
        block = rawjson.fields(made[event.entry])
        if isinstance(event, CallStart):
            made[event.entry] = as_mended(block, event, None)
        else:
            made[event.entry] = as_mended(block, None, event)
    return made


def gap(text: str) -> str:
    """The line ends to put before `text`, so that an empty line is before it."""
    return "\n" * max(0, 2 - (len(text) - len(text.lstrip("\n"))))


def is_behind(shown: str, own: str) -> bool:
    """Whether `shown` has calls, written as text, after the block's `own` text."""
    return len(shown) > len(own) and not (own and shown.endswith(own))


def reason_of(stop_reason: str) -> str:
    """A stop reason in the hub's words, "" for none."""
    return _REASONS.get(stop_reason, stop_reason)


def ended(message: Fields, parts: Iterable[Part], *, lifted: bool, broken: bool, calls: int) -> Fields:
    """`message`, or what a stream says of its end, with the stop reason that fits what the client has got; itself
    where that is the one that it has.

    parts    hold the reason that the lane gives; where it says that the reply was stopped, that counts
    lifted   a call was made of text, or made anew
    broken   a call broke off
    calls    how many `tool_use` blocks there are
    """
    was = rawjson.word(message, "stop_reason")
    if was:
        reason = _stop_reason(was, parts, lifted=lifted, broken=broken, calls=calls)
    else:
        reason = word_of(parts)
    if reason == was:
        return message
    met = {"stop_sequence": None} if "stop_sequence" in message else {}  # that one was met is no longer why
    return {**message, "stop_reason": rawjson.string(reason), **met}


def word_of(parts: Iterable[Part]) -> str:
    """The stop reason that parts give, in the words of this API; "" for none."""
    return _WORDS.get(_reason_in(parts), "")


def _reason_in(parts: Iterable[Part]) -> str:
    return next((event.reason for _, event in reversed(list(parts)) if isinstance(event, Finish)), "")


def _stop_reason(was: str, parts: Iterable[Part], *, lifted: bool, broken: bool, calls: int) -> str:
    reason = _reason_in(parts)
    stopped = reason == "stop" or (reason == "tool_calls" and was != "pause_turn")
    if was in _KEPT and not stopped:
        return was
    if was in _KEPT:
        was = "tool_use" if calls else "end_turn"
    if broken:
        return "max_tokens"
    if lifted or (reason == "tool_calls" and calls):
        return "tool_use"
    return "end_turn" if was == "tool_use" and not calls else was
