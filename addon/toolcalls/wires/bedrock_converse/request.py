"""What a request of the Converse API says about the reply's reading."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.values import rawjson
from toolcalls.wires.session_ids import session_in


def request_of(body: bytes) -> Request:
    """Tools that the client runs, the choice, and the texts of the system prompt and the messages by role. Raises
    ValueError for what is no such request. The model is in the path.
    """
    fields = rawjson.loaded(body)
    if not isinstance(fields, dict) or not isinstance(fields.get("messages"), list):
        raise ValueError("the request body has no list `messages`")
    messages = _objects(fields["messages"])

    def texts(role: str) -> tuple[str, ...]:
        said = ("\n".join(_texts(message.get("content"))) for message in messages if message.get("role") == role)
        return tuple(text for text in said if text)

    config = _object(fields.get("toolConfig"))
    last = messages[-1] if messages and messages[-1].get("role") == "assistant" else {}
    return Request(
        tools=tuple({tool.name: tool for tool in _tools(config.get("tools"))}.values()),
        tool_choice=_choice(_object(config.get("toolChoice"))),
        system="\n".join([*_texts(fields.get("system")), *texts("system")]),
        assistant=texts("assistant"),
        quotable=tuple(_quotable(messages)),
        prefill=tuple(_texts(last.get("content"))),
        response_format="textFormat" in _object(fields.get("outputConfig")),
        session=session_in(fields),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _tools(value: object) -> Iterator[Tool]:
    """The tools with a description of their own; those of the provider (`systemTool`) run there."""
    for item in _objects(value):
        tool = _object(item.get("toolSpec"))
        name, about = tool.get("name"), tool.get("description")
        schema = _object(tool.get("inputSchema")).get("json")
        if isinstance(name, str) and name:
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def _choice(choice: Mapping[str, Any]) -> str:
    """`auto`, `required`, or the name of the tool that must be called; the API has no `none`."""
    if "tool" in choice:
        name = _object(choice["tool"]).get("name")
        return name if isinstance(name, str) and name else "required"
    return "required" if "any" in choice else "auto"


def _texts(content: object) -> Iterator[str]:
    """The texts of a content."""
    for block in _objects(content):
        text = block.get("text")
        if isinstance(text, str) and text:
            yield text


# Blocks with texts that a reply may quote.
_QUOTED = ("toolResult", "document", "searchResult", "guardContent")
# Members that hold no text.
_DATA = frozenset({"bytes", "s3Location", "toolUseId", "status", "type", "format", "qualifiers"})


def _quotable(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What users said, and the results, documents and guarded texts of all messages."""
    for message in messages:
        if message.get("role") == "user":
            yield from _texts(message.get("content"))
        for block in _objects(message.get("content")):
            for kind in _QUOTED:
                yield from _strings(block.get(kind))


def _strings(value: object) -> Iterator[str]:
    """All strings in a value but for files, and ids and the like beside the texts."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            if one:
                yield one
        elif isinstance(one, list):
            pending.extend(reversed(one))
        elif isinstance(one, dict):
            pending.extend(reversed([member for key, member in one.items() if key not in _DATA]))
