"""What a request of Chat Completions says about the reply's reading."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.wires import custom_schema, function_tools
from toolcalls.wires.constrained_text import MEMBERS, is_constrained
from toolcalls.wires.declared_tools import RequestReader
from toolcalls.wires.openai_chat.calls import CUSTOM, LEGACY
from toolcalls.wires.openai_chat.choices import fetched, text_in
from toolcalls.wires.session_ids import SESSION_KEYS, session_in


def request_of(body: bytes) -> Request:
    """Tools (functions and custom ones), the choice, and the messages' texts by role. Raises ValueError for what is no
    such request.

    Cursor sends bodies of the Responses API here and wants chunks of this one, and tools in either form:
    https://github.com/BerriAI/litellm/pull/34029. Such a body is read as far as its reply asks for.
    """
    fields, declared = _BODIES.read(body)
    said = fields.get("messages", fields.get("input")) if isinstance(fields, dict) else None
    if isinstance(said, str) and "messages" not in fields:
        said = [{"role": "user", "content": said}]
    if not isinstance(said, list):
        raise ValueError("the request body has no list `messages`")
    messages = [_message(message) for message in said if isinstance(message, dict)]
    if isinstance(fields.get("instructions"), str) and "messages" not in fields:
        messages.insert(0, {"role": "system", "content": fields["instructions"]})

    def texts(*roles: str) -> tuple[str, ...]:
        found = (text_in(message.get("content")) for message in messages if message.get("role") in roles)
        return tuple(text for text in found if text)

    model = fields.get("model")
    choice = fields.get("tool_choice")
    return Request(
        tools=_allowed((*declared, *_functions(fields)), choice),
        tool_choice=choice_in(fields),
        model=model if isinstance(model, str) else "",
        system="\n".join(texts("system", "developer")),
        assistant=texts("assistant"),
        quotable=(*texts("user", "tool", "function"), *_fetched(messages)),
        prefill=tuple(_prefill(messages[-1] if messages else {})),
        response_format=_is_structured(fields.get("response_format"))
        or _is_structured(_format(fields.get("text")))
        or is_constrained(fields),
        session=session_in(fields),
    )


def _message(item: dict[str, Any]) -> dict[str, Any]:
    """A message; of the Responses API's items those that hold what a tool answered are the tool's."""
    if "role" not in item and str(item.get("type", "")).endswith("_call_output"):
        return {"role": "tool", "content": item.get("output")}
    return item


def _fetched(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The results of the provider's own tools in past replies."""
    for message in messages:
        if "annotations" in message or "executed_tools" in message:
            yield from fetched(message.get("annotations"), message.get("executed_tools"))


def _prefill(last: Mapping[str, Any]) -> Iterator[str]:
    """The texts of the last message where it is the assistant's."""
    content = last.get("content") if last.get("role") == "assistant" else None
    for part in content if isinstance(content, list) else [content]:
        if text := text_in(part if isinstance(part, str) else [part]):
            yield text


def tools_in(fields: Mapping[str, Any]) -> Iterator[Tool]:
    """The functions and custom tools that a request declares, in the order of `tools`; then those of `functions`."""
    yield from _tools(fields.get("tools"))
    yield from _functions(fields)


def _tools(listed: object) -> Iterator[Tool]:
    for item in _nested(listed):
        yield from function_tools([item])
        custom = item.get(CUSTOM) if isinstance(item, dict) else None
        name = custom.get("name") if isinstance(custom, dict) else None
        if isinstance(custom, dict) and isinstance(name, str) and name:
            about = custom.get("description")
            yield Tool(name, custom_schema(custom), about if isinstance(about, str) else "", form=CUSTOM)


def _functions(fields: Mapping[str, Any]) -> Iterator[Tool]:
    functions = fields.get("functions")
    for function in functions if isinstance(functions, list) else ():
        for tool in function_tools([{"function": function}]):
            yield replace(tool, form=LEGACY)


def choice_in(fields: Mapping[str, Any]) -> str:
    """How a request may choose among its tools, in the words of `choice_of`."""
    choice, older = fields.get("tool_choice"), fields.get(LEGACY)
    if choice is None and isinstance(older, dict):
        return choice_of({"function": older})
    return choice_of(older if choice is None else choice)


def _nested(tools: object) -> list[Any]:
    """The tools of a request, with those in the Responses API's flat form put into this API's."""
    return [
        {tool["type"]: tool}
        if isinstance(tool, dict) and tool.get("type") in ("function", CUSTOM) and tool["type"] not in tool
        else tool
        for tool in (tools if isinstance(tools, list) else ())
    ]


def _format(text: object) -> object:
    """What the Responses API says of the form of a reply's text."""
    return text.get("format") if isinstance(text, dict) else None


def _is_structured(value: object) -> bool:
    """Whether a `response_format` asks for JSON: any type but text does."""
    return isinstance(value, dict) and value.get("type", "text") != "text"


def allowed_tools(choice: object) -> dict[str, Any] | None:
    """What a `tool_choice` says that leaves some of the tools; None for another one."""
    if not isinstance(choice, dict):
        return None
    allowed = choice if choice.get("type") == "allowed_tools" and "tools" in choice else choice.get("allowed_tools")
    return allowed if isinstance(allowed, dict) else None


def _allowed(tools: tuple[Tool, ...], choice: object) -> tuple[Tool, ...]:
    """The tools that the choice leaves."""
    allowed = allowed_tools(choice)
    if allowed is None:
        return tools
    names = {tool.name for tool in tools_in({"tools": allowed.get("tools")})}
    return tuple(tool for tool in tools if tool.name in names)


def choice_of(value: object) -> str:
    """A request's `tool_choice`: "auto", "none", "required", or the name of the tool that is to be called.

    Of one that is neither a function nor a custom tool, that is its type.
    """
    if isinstance(value, dict):
        if (allowed := allowed_tools(value)) is not None:
            mode = allowed.get("mode")
            return mode if isinstance(mode, str) else "auto"
        kind = value.get("type")
        kind = kind if isinstance(kind, str) else ""
        flat = kind in {"function", CUSTOM} and "name" in value
        function = value if flat else value.get("function", value.get(CUSTOM))
        name = function.get("name") if isinstance(function, dict) else None
        other = kind if kind not in {"", "function", CUSTOM} else "required"
        return name if isinstance(name, str) else other
    return value if isinstance(value, str) else "auto"


_BODIES = RequestReader(
    (
        *("messages", "input", "instructions", "model", "tool_choice", "response_format", "text", "functions", LEGACY),
        *MEMBERS,
        *SESSION_KEYS,
    ),
    _tools,
)
