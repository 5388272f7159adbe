"""The content of a message: its blocks and the text in them; and why the message ended."""

from collections.abc import Iterable

from toolcalls.events import Finish
from toolcalls.values import rawjson
from toolcalls.values.conversion import members
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


def is_call(block: Fields) -> bool:
    """Whether a block is a call of a tool of the client's."""
    return rawjson.word(block, "type") == "tool_use"


def input_of(block: Fields) -> str:
    """The argument JSON that the block of a call holds; `{}` where it holds no object.

    Some gateways give the object as a string, which clients such as Claude Code take apart.
    """
    given = block.get("input")
    if rawjson.is_object(given):
        return rawjson.text_of(given)
    text = rawjson.word(block, "input")
    try:
        members(text)
    except ValueError:
        return "{}"
    return text


def gap(text: str) -> str:
    """An empty line before text, as far as it does not begin with one."""
    return "\n" * max(0, 2 - (len(text) - len(text.lstrip("\n"))))


def is_behind(shown: str, own: str) -> bool:
    """Whether calls stand, as text, behind the block's `own` text in what is `shown` of it."""
    return len(shown) > len(own) and not (own and shown.endswith(own))


def reason_of(stop_reason: str) -> str:
    """A stop reason in the hub's words, "" for none."""
    return _REASONS.get(stop_reason, stop_reason)


def ended(message: Fields, parts: Iterable[Part], *, lifted: bool, broken: bool, calls: int) -> Fields:
    """`message`, or what a stream says of its end, with the stop reason that fits what the client has got; itself
    where that is the one that it has, or where it has none.

    parts    hold the reason that the lane gives; where it says that the reply was stopped, that counts
    lifted   a call was made of text, or made anew
    broken   a call broke off
    calls    how many `tool_use` blocks there are
    """
    was = rawjson.word(message, "stop_reason")
    reason = _stop_reason(was, parts, lifted=lifted, broken=broken, calls=calls) if was else was
    if reason == was:
        return message
    met = {"stop_sequence": None} if "stop_sequence" in message else {}  # that one was met is no longer why
    return {**message, "stop_reason": rawjson.string(reason), **met}


def _stop_reason(was: str, parts: Iterable[Part], *, lifted: bool, broken: bool, calls: int) -> str:
    reason = next((event.reason for _, event in reversed(list(parts)) if isinstance(event, Finish)), "")
    stopped = reason == "stop" or (reason == "tool_calls" and was != "pause_turn")
    if was in _KEPT and not stopped:
        return was
    if was in _KEPT:
        was = "tool_use" if calls else "end_turn"
    if broken:
        return "max_tokens"
    if lifted:
        return "tool_use"
    return "end_turn" if was == "tool_use" and not calls else was
