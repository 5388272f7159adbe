"""The choices of a reply: their numbers, what they say, and why they ended."""

from collections.abc import Iterable
from typing import Any

import msgspec

from toolcalls.events import Event, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.openai_chat.calls import LEGACY

# What relatives say where a reply is not whole (Mistral, DeepSeek, Z.ai, OpenRouter, vLLM, SGLang), in the hub's words.
_REASONS = {
    "model_length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "sensitive": "content_filter",
    LEGACY: "tool_calls",
    **dict.fromkeys(("error", "abort", "network_error", "insufficient_system_resource"), "failed"),
}


def is_null(raw: msgspec.Raw | None) -> bool:
    return raw is None or bytes(raw) == b"null"


def lane_of(choice: Fields, place: int) -> int:
    """A choice's number; servers leave it out, or write null, or a text."""
    index = rawjson.value(choice.get("index"))
    return index if type(index) is int else place


def text_in(content: object) -> str:
    """The text of a content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def content_events(content: str | list[Any] | None) -> Iterable[Event]:
    """Text and reasoning of a content: a string, or the list of parts that Mistral sends beside its reasoning."""
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in content or ():
        kind = part.get("type") if isinstance(part, dict) else None
        text = text_in(part.get(kind)) if kind in ("text", "thinking") else ""
        if text:
            yield Text(text) if kind == "text" else Reasoning(text)


def fetched(annotations: object, executed: object) -> list[str]:
    """The texts that the provider's own tools gave back: `annotations` and `executed_tools` of a message or a delta.

    OpenRouter's annotations hold what a web search found and what was read of files (its SDK's `Annotation…`); Groq's
    Compound says what came of each tool (its SDK's `ExecutedTool`). Those of others say nothing but places.
    """
    found: list[str] = []
    for annotation in map(rawjson.fields, rawjson.items(annotations)):
        page, quoted, file = (
            rawjson.fields(annotation.get(key)) for key in ("url_citation", "file_annotation", "file")
        )
        parts = map(rawjson.fields, rawjson.items(file.get("content")))
        found += [rawjson.word(page, "title"), rawjson.word(page, "content"), rawjson.word(quoted, "quote")]
        found += [rawjson.word(part, "text") for part in parts]
    for tool in map(rawjson.fields, rawjson.items(executed)):
        found.append(rawjson.word(tool, "output"))
        found += rawjson.strings([tool.get("search_results"), tool.get("browser_results")])
        found += [rawjson.word(rawjson.fields(one), "text") for one in rawjson.items(tool.get("code_results"))]
    return [text for text in found if text]


def other_parts(content: msgspec.Raw | None) -> list[Any]:
    """The parts of a content that are no text."""
    return [part for part in rawjson.items(content) if rawjson.word(rawjson.fields(part), "type") != "text"]


def reason_of(finish_reason: str | None) -> str:
    """A finish reason in the hub's words, "" for none."""
    return _REASONS.get(finish_reason, finish_reason) if finish_reason else ""


def written_reason(choice: Fields, reason: str, *, legacy: bool) -> msgspec.Raw:
    """A finish reason of the hub as it is written: in the word that the choice has for it itself, if it has one.

    `legacy`: its first call is of the older form; clients of that form know no other.
    """
    own = choice.get("finish_reason")
    word = rawjson.value(own)
    if reason == "tool_calls" and (legacy or word == LEGACY):
        return rawjson.string(LEGACY if legacy else reason)
    return own if own is not None and isinstance(word, str) and reason_of(word) == reason else rawjson.string(reason)
