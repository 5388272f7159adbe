"""What a request of the Interactions API says about the reply's reading."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.values import rawjson
from toolcalls.wires.session_ids import session_in


def request_of(body: bytes) -> Request:
    """Functions that the client runs, the choice, and the texts of the system instruction and the input. Raises
    ValueError for what is no such request.
    """
    fields = rawjson.loaded(body)
    if not isinstance(fields, dict) or not isinstance(fields.get("input"), str | list | dict):
        raise ValueError("the request body has no `input`")
    steps = steps_in(fields["input"])

    def texts(kind: str) -> tuple[str, ...]:
        said = ("\n".join(_texts(step.get("content"))) for step in steps if step.get("type") == kind)
        return tuple(text for text in said if text)

    config = _object(fields.get("generation_config"))
    choice, allowed = choice_of(config.get("tool_choice"))
    tools = {tool.name: tool for tool in tools_of(fields.get("tools")) if allowed is None or tool.name in allowed}
    model, system = fields.get("model"), fields.get("system_instruction")
    last = steps[-1] if steps and steps[-1].get("type") == "model_output" else {}
    return Request(
        tools=tuple(tools.values()),
        tool_choice=choice,
        model=model if isinstance(model, str) else "",
        system=system if isinstance(system, str) else "\n".join(_texts(_object(system).get("parts"))),
        assistant=texts("model_output"),
        quotable=tuple(_quotable(steps)),
        prefill=tuple(_texts(last.get("content"))),
        response_format=_is_structured(fields),
        session=session_in(fields),
    )


def steps_in(given: object) -> list[Mapping[str, Any]]:
    """An input as steps: it is a text, one content, or a list of contents or of steps."""
    if isinstance(given, str):
        return [{"type": "user_input", "content": [{"type": "text", "text": given}]}]
    if isinstance(given, dict):
        return [{"type": "user_input", "content": [given]}]
    return [_step(one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _step(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """A step, or a content as the step of its own."""
    return {"type": "user_input", "content": [one]} if rawjson.word(one, "type") in CONTENTS else one


# What a user may say, without a step around it.
CONTENTS = frozenset({"text", "image", "audio", "document", "video"})


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def tools_of(value: object) -> Iterator[Tool]:
    """The functions in a request's `tools`; all others run at Google."""
    for tool in _objects(value):
        name, about, schema = tool.get("name"), tool.get("description"), tool.get("parameters")
        if tool.get("type") == "function" and isinstance(name, str) and name:
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def choice_of(choice: object) -> tuple[str, frozenset[str] | None]:
    """`auto`, `none` or `required`, and the names that may be called; None for all.

    A choice of one tool is one of several: the API has no word of its own for it. `validated` is `auto` with the
    promise that the schema is kept.
    """
    allowed = _object(_object(choice).get("allowed_tools"))
    names = allowed.get("tools")
    word = allowed.get("mode") if allowed else choice
    kind = {"any": "required", "none": "none"}.get(word if isinstance(word, str) else "", "auto")
    if not isinstance(names, list):
        return kind, None
    only = frozenset(name for name in names if isinstance(name, str))
    return (next(iter(only)) if kind == "required" and len(only) == 1 else kind), only


def _is_structured(fields: Mapping[str, Any]) -> bool:
    """Whether a request asks for JSON: by a schema, by the type of a text, or by a format of text that names one."""
    form = fields.get("response_format")
    formats = _objects(form) if isinstance(form, list) else [form] if isinstance(form, dict) and form else []
    kinds = [fields.get("response_mime_type"), *(one.get("mime_type") for one in formats)]
    schemas = [one for one in formats if rawjson.word(one, "type") not in {"text", "image", "audio"} or "schema" in one]
    return "application/json" in kinds or bool(schemas)


def _texts(content: object) -> Iterator[str]:
    """The texts of a content: a text, or a list of contents."""
    if isinstance(content, str):
        yield from [content] if content else []
    for one in _objects(content):
        text = one.get("text")
        if isinstance(text, str) and text:
            yield text


def _quotable(steps: list[Mapping[str, Any]]) -> Iterator[str]:
    """What users said and what tools gave back, Google's own, too."""
    for step in steps:
        kind = step.get("type")
        if kind == "user_input":
            yield from _texts(step.get("content"))
        elif isinstance(kind, str) and kind.endswith("_result"):
            yield from (text for text in rawjson.strings(step.get("result")) if text)
