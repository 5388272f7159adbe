"""What a request of Cohere's says about the reply's reading, and a request in the words of Chat Completions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from toolcalls.request import Request
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import all_wires

_KEYS = {"stop_sequences": "stop"}  # what Chat Completions calls members
_CHOICES = {"REQUIRED": "required", "NONE": "none"}


def request_of(body: bytes) -> Request:
    """As Chat Completions has it; a reply may also quote the request's documents. Raises ValueError for what is no such
    request.
    """
    fields = rawjson.loaded(body)
    if not isinstance(fields, dict) or not isinstance(fields.get("messages"), list):
        raise ValueError("the request body has no list `messages`")
    asked = all_wires()["openai_chat"].request(to_chat(body))
    return replace(asked, quotable=(*asked.quotable, *_documents(fields)))


def to_chat(body: bytes) -> bytes:
    """A request in the words of Chat Completions. Contents, calls and tools are the same in both."""
    fields: Fields = {_KEYS.get(key, key): raw for key, raw in rawjson.fields(body).items()}
    choice = _CHOICES.get(rawjson.word(fields, "tool_choice"))
    return rawjson.written({**fields, "tool_choice": choice} if choice else fields)


def from_chat(body: bytes, came: bytes) -> bytes:
    """A request of Chat Completions in Cohere's words. `came`: the one that it was.

    A model can be made to call tools, or none, but no certain one. Beside calls there is no content of nothing.
    """
    names = {name: key for key, name in _KEYS.items()}
    fields: Fields = {names.get(key, key): raw for key, raw in rawjson.fields(body).items()}
    was = rawjson.fields(came)
    known = {bytes(raw) for raw in rawjson.items(was.get("messages"))}
    fields["messages"] = [
        raw if bytes(raw) in known else _without_nothing(raw) for raw in rawjson.items(fields["messages"])
    ]
    choice, word = rawjson.word(fields, "tool_choice"), rawjson.word(was, "tool_choice")
    if choice and choice == _CHOICES.get(word, word):
        fields["tool_choice"] = was["tool_choice"]
    elif choice == "auto":
        del fields["tool_choice"]
    elif choice:
        fields["tool_choice"] = "NONE" if choice == "none" else "REQUIRED"
    if "parallel_tool_calls" not in was:
        fields.pop("parallel_tool_calls", None)
    return rawjson.written(fields)


def _without_nothing(raw: Any) -> Any:
    message = rawjson.fields(raw)
    if "content" in message and rawjson.value(message["content"]) is None:
        return rawjson.without(message, "content")
    return raw


def _documents(fields: Mapping[str, Any]) -> Iterator[str]:
    """The texts of the request's documents, and of those among what tools gave back."""
    documents = fields.get("documents")
    for document in documents if isinstance(documents, list) else ():
        yield from _strings(document)
    for message in fields["messages"]:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "document":
                yield from _strings(part.get("document"))


def _strings(document: object) -> Iterator[str]:
    data = document.get("data", document) if isinstance(document, dict) else document
    yield from (text for text in rawjson.strings(data) if text)
