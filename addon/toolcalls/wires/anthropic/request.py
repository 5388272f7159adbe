"""What a request of the Messages API says about the reply's reading."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.values import rawjson
from toolcalls.wires.anthropic.blocks import fetched
from toolcalls.wires.constrained_text import MEMBERS, is_constrained
from toolcalls.wires.declared_tools import RequestReader
from toolcalls.wires.session_ids import SESSION_KEYS, session_in

# Tools that the provider defines and the client runs; all others of its own run at the provider and are never called.
_CLIENT_TOOLS = ("bash_", "computer_", "memory_", "text_editor_")
_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_RANGE = {"type": "array", "items": _INTEGER}
_EDITED = {
    "command": _STRING, "path": _STRING, "file_text": _STRING, "old_str": _STRING, "new_str": _STRING,
    "insert_line": _INTEGER, "insert_text": _STRING, "view_range": _RANGE,
}  # fmt: skip
# What is documented of those whose arguments are simple, since requests do not tell them: what they are for, their
# commands, their parameters. https://docs.claude.com/en/docs/agents-and-tools/tool-use/bash-tool and its neighbours.
_DOCUMENTED: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "bash_": (
        "Runs a command in a bash session that goes on from call to call; `restart` begins a new one.",
        (), {"command": _STRING, "restart": {"type": "boolean"}},
    ),
    "text_editor_": ("Views and edits files.", ("view", "create", "str_replace", "insert"), _EDITED),
    "memory_": (
        "Keeps files in /memories, to remember them later.",
        ("view", "create", "str_replace", "insert", "delete", "rename"),
        _EDITED | {"old_path": _STRING, "new_path": _STRING},
    ),
}  # fmt: skip
_CHOICES = {"any": "required"}


def request_of(body: bytes) -> Request:
    """Tools that the client runs, the choice, and the texts of the system prompt and the messages by role. Raises
    ValueError for what is no such request.
    """
    fields, declared = _BODIES.read(body)
    if not isinstance(fields, dict) or not isinstance(fields.get("messages"), list):
        raise ValueError("the request body has no list `messages`")
    messages = [message for message in fields["messages"] if isinstance(message, dict)]

    def texts(role: str) -> tuple[str, ...]:
        said = ("\n".join(_texts(message.get("content"))) for message in messages if message.get("role") == role)
        return tuple(text for text in said if text)

    model = fields.get("model")
    return Request(
        tools=tuple({tool.name: tool for tool in (*declared, *_tools([*_added(messages)]))}.values()),
        tool_choice=_choice(fields.get("tool_choice")),
        model=model if isinstance(model, str) else "",
        system="\n".join([*_texts(fields.get("system")), *texts("system")]),
        assistant=texts("assistant"),
        quotable=tuple(_quotable(messages)),
        prefill=tuple(text for last in messages[-1:] if _is_assistants(last) for text in _texts(last.get("content"))),
        response_format=_is_structured(fields),
        session=session_in(fields),
    )


def _is_assistants(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant"


def _tools(value: object) -> Iterator[Tool]:
    """The tools of a request that the client runs: its own, with a schema, and the provider's without."""
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name, schema, about = item.get("name"), item.get("input_schema"), item.get("description")
        kind = item.get("type") or "custom"
        if not isinstance(kind, str) or not isinstance(name, str) or not name:
            continue
        if kind == "custom":
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")
        elif kind.startswith(_CLIENT_TOOLS):
            yield _documented(name, kind)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _added(messages: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """The tools that are defined in a message (`tool_addition`), to be offered from there on."""
    for message in messages:
        for block in _listed(message.get("content")):
            tool = block.get("tool") if isinstance(block, dict) and block.get("type") == "tool_addition" else None
            if isinstance(tool, dict) and tool.get("type") == "tool_definition":
                yield tool.get("definition")


def _documented(name: str, kind: str) -> Tool:
    """A tool that the provider defines and the client runs, with its parameters where those are simple."""
    found = next((schema for prefix, schema in _DOCUMENTED.items() if kind.startswith(prefix)), None)
    if found is None:
        return Tool(name)
    about, commands, properties = found
    if not commands:
        return Tool(name, {"type": "object", "properties": properties}, about)
    properties = properties | {"command": {"type": "string", "enum": list(commands)}}
    return Tool(name, {"type": "object", "properties": properties, "required": ["command"]}, about)


def _choice(value: object) -> str:
    """`none`, `auto`, `required`, or the name of the tool that must be called."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(value, dict) and kind == "tool":
        name = value.get("name")
        return name if isinstance(name, str) else "required"
    return _CHOICES.get(kind, kind) if isinstance(kind, str) else "auto"


def _is_structured(fields: Mapping[str, Any]) -> bool:
    """Whether the request asks for JSON: `output_config.format`, in older versions `output_format`."""
    config = fields.get("output_config")
    asked = config.get("format") if isinstance(config, dict) else fields.get("output_format")
    return (isinstance(asked, dict) and asked.get("type", "text") != "text") or is_constrained(fields)


def _texts(content: object) -> Iterator[str]:
    """The texts of a content: a string, or blocks."""
    if isinstance(content, str) and content:
        yield content
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text:
            yield text


def _quotable(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What users said, what tools gave back (the provider's own, too), and the documents among both."""
    for message in messages:
        if message.get("role") != "user":
            for block in filter(rawjson.is_object, _listed(message.get("content"))):
                yield from fetched(block)
            continue
        content = message.get("content")
        yield from _texts(content)
        pending = list(reversed(content)) if isinstance(content, list) else []
        while pending:
            block = pending.pop()
            if not isinstance(block, dict):
                continue
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("data"), str) and source.get("type") == "text":
                yield source["data"]
            for holder in (block, source):
                inner = holder.get("content") if isinstance(holder, dict) else None
                yield from _texts(inner)
                pending.extend(reversed(inner) if isinstance(inner, list) else ())


_BODIES = RequestReader(
    ("messages", "model", "tool_choice", "system", "output_config", "output_format", *MEMBERS, *SESSION_KEYS), _tools
)
