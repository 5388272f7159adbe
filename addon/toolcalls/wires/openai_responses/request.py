"""What a request of the Responses API says about the reply's reading."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.values import rawjson
from toolcalls.wires import custom_schema
from toolcalls.wires.constrained_text import is_constrained
from toolcalls.wires.openai_responses.calls import CUSTOM
from toolcalls.wires.openai_responses.items import fetched
from toolcalls.wires.session_ids import session_in

# Items of a conversation that declare tools from there on: a client's (Codex's, with newer models), and what a search
# for tools has found.
DECLARING_ITEMS = ("additional_tools", "tool_search_output")

# What a request is about. Without any of them it is none of this API's.
_SUBJECTS = frozenset({"input", "instructions", "previous_response_id", "prompt", "conversation"})


def request_of(body: bytes) -> Request:
    """Tools (functions and custom ones, also in namespaces and in items), the choice, and the texts of instructions and
    input by role. Raises ValueError for what is no such request.
    """
    fields = rawjson.loaded(body)
    if not isinstance(fields, dict) or not _SUBJECTS & set(fields):
        raise ValueError("the request body has no `input`")
    given = fields.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    items = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    instructions = fields.get("instructions")
    system = [instructions] if isinstance(instructions, str) and instructions else []
    declaring = [item for item in items if item.get("type") in DECLARING_ITEMS]
    in_conversation = _once(tool for item in declaring for tool in _tools(item.get("tools")))
    tools = _once([*_tools(fields.get("tools")), *in_conversation])
    choice = fields.get("tool_choice")
    model = fields.get("model")
    return Request(
        tools=_distinct(_allowed(tools, choice)),
        tool_choice=_choice(choice),
        model=model if isinstance(model, str) else "",
        system="\n".join([*system, *_said(items, "system", "developer")]),
        assistant=tuple(_said(items, "assistant")),
        quotable=(*_said(items, "user"), *_results(items)),
        prefill=tuple(_prefill(items)),
        response_format=_is_structured(fields.get("text")) or is_constrained(fields),
        conversation_tools=_distinct(in_conversation),
        continues=_continued(fields),
        session=session_in(fields),
    )


def _tools(value: object, space: str = "") -> Iterator[Tool]:
    """The tools of a request that have a name and arguments of its own, also those in namespaces.

    Others are passed over: no model after another server knows what a built-in tool is called with.
    """
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        kind, name, schema, about = (item.get(key) for key in ("type", "name", "parameters", "description"))
        described = about if isinstance(about, str) else ""
        if kind == "namespace":
            yield from _tools(item.get("tools"), name if isinstance(name, str) else "")
        elif kind == "function" and isinstance(name, str) and name:
            yield Tool(name, schema if isinstance(schema, dict) else {}, described, space=space)
        elif kind == "custom" and isinstance(name, str) and name:
            yield Tool(name, custom_schema(item), described, form=CUSTOM.form, space=space)


def _once(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools, each as it was declared last: an item may declare again what an earlier one has."""
    return tuple({(tool.space, tool.name): tool for tool in tools}.values())


def _continued(fields: Mapping[str, Any]) -> str:
    """The id under which the server keeps the conversation so far, "" for none."""
    kept = fields.get("previous_response_id") or fields.get("conversation")
    id_ = kept.get("id") if isinstance(kept, dict) else kept
    return id_ if isinstance(id_, str) else ""


def _distinct(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools, those in namespaces with the namespace in front where the name is another tool's, too."""
    count = Counter(tool.name for tool in tools)
    return tuple(
        replace(tool, name=f"{tool.space}.{tool.name}") if tool.space and count[tool.name] > 1 else tool
        for tool in tools
    )


def _allowed(tools: tuple[Tool, ...], choice: object) -> tuple[Tool, ...]:
    """The tools that the choice leaves (`allowed_tools`)."""
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return tools
    listed = choice.get("tools")
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    return tuple(tool for tool in tools if tool.name in names)


def _choice(value: object) -> str:
    """`none`, `auto`, `required`, or the name of the tool that must be called; of one that is built in, its type."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else "auto"
    if value.get("type") == "allowed_tools":
        mode = value.get("mode")
        return mode if isinstance(mode, str) else "auto"
    kind, name = value.get("type"), value.get("name")
    if isinstance(kind, str) and kind not in {"", "function", "custom"}:
        return kind
    return name if kind and isinstance(name, str) else "required"


def _is_structured(value: object) -> bool:
    """Whether `text.format` asks for JSON: any type but text does."""
    form = value.get("format") if isinstance(value, dict) else None
    return isinstance(form, dict) and form.get("type", "text") != "text"


def _said(items: Iterable[Mapping[str, Any]], *roles: str) -> Iterator[str]:
    """The texts of messages."""
    for item in items:
        if item.get("role") in roles and item.get("type", "message") == "message":
            yield from filter(None, [_joined(item.get("content"))])


def _prefill(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of the messages at the end that are the assistant's."""
    at = len(items)
    while at and items[at - 1].get("role") == "assistant" and items[at - 1].get("type", "message") == "message":
        at -= 1
    for item in items[at:]:
        content = item.get("content")
        for part in content if isinstance(content, list) else [content]:
            if text := _joined(part if isinstance(part, str) else [part]):
                yield text


def _results(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of tool results, of whatever kind of tool, the provider's own among them."""
    for item in items:
        if str(item.get("type", "")).endswith("_call_output"):
            yield from filter(None, [_joined(item.get("output"))])
        else:
            yield from filter(None, fetched(item))


def _joined(content: object) -> str:
    """The texts in a content: of its parts, or what a shell has put out."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = (part.get(key) for part in parts for key in ("text", "stdout", "stderr"))
    return "\n".join(text for text in texts if isinstance(text, str))
