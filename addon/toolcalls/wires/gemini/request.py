"""What a request says about the reply's reading."""

from collections.abc import Iterable, Iterator
from typing import Any

from toolcalls.request import Request, Tool
from toolcalls.values import rawjson
from toolcalls.wires.session_ids import session_in

# Parts that hold what tools of the provider's own gave back.
RESULTS = ("codeExecutionResult", "code_execution_result", "toolResponse", "tool_response")
_CHOICES = {"NONE": "none", "ANY": "required"}


def request_of(body: bytes) -> Request:
    """Function declarations, the mode, and the contents' texts by role. Raises ValueError for what is no such
    request.
    """
    fields = rawjson.loaded(body)
    outer = fields if isinstance(fields, dict) else {}
    fields = outer["request"] if isinstance(outer.get("request"), dict) else outer
    if not isinstance(fields.get("contents"), list | dict | str):
        raise ValueError("the request body has no `contents`")
    given = fields["contents"]
    contents = given if isinstance(given, list) else [given]
    model = outer.get("model")
    config = either(fields, "generationConfig", "generation_config")
    return Request(
        tools=tuple(_allowed(tools_of(fields.get("tools")), either(fields, "toolConfig", "tool_config"))),
        tool_choice=choice_of(either(fields, "toolConfig", "tool_config")),
        model=model if isinstance(model, str) else "",
        system="\n".join(_texts(either(fields, "systemInstruction", "system_instruction"))),
        assistant=tuple("".join(_texts(one)) for one in contents if _role(one) == "model" and any(_texts(one))),
        quotable=(
            *(text for one in contents if _role(one) != "model" for text in _texts(one, answers=True)),
            *(text for one in contents for text in _fetched(one)),
        ),
        prefill=tuple(text for one in contents[-1:] if _role(one) == "model" for text in _texts(one)),
        response_format=_is_structured(config),
        session=session_in(outer) or session_in(fields),
    )


def either(fields: Any, *keys: str) -> Any:
    """The member under the first of its spellings that is there: JSON's own, or the one of protocol buffers."""
    return next((fields[key] for key in keys if isinstance(fields, dict) and key in fields), None)


def tools_of(value: object) -> Iterator[Tool]:
    """The functions that a request's `tools` declare; tools that Google runs itself are passed over."""
    for item in value if isinstance(value, list) else (value,):
        declared = either(item, "functionDeclarations", "function_declarations")
        for function in declared if isinstance(declared, list) else ():
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and name:
                schema = either(function, "parametersJsonSchema", "parameters_json_schema")
                schema = _json_schema(function.get("parameters")) if schema is None else schema
                about = function.get("description")
                yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def _json_schema(schema: object, depth: int = 0) -> object:
    """An OpenAPI schema (`type: "STRING"`, `nullable`) as JSON Schema; what is malformed stays as it is."""
    if depth > 64 or not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if isinstance(kind := made.get("type"), str):
        made["type"] = [kind.lower(), "null"] if made.get("nullable") is True else kind.lower()
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = _json_schema(made[key], depth + 1)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: _json_schema(inner, depth + 1) for key, inner in made["properties"].items()}
    if isinstance(branches := made.get("anyOf"), list):
        made["anyOf"] = [_json_schema(branch, depth + 1) for branch in branches]
    return made


def choice_of(config: object) -> str:
    """A request's `toolConfig` in the words of `Request.tool_choice`."""
    calling = either(config, "functionCallingConfig", "function_calling_config")
    mode = calling.get("mode") if isinstance(calling, dict) else None
    names = either(calling, "allowedFunctionNames", "allowed_function_names")
    if mode == "ANY" and isinstance(names, list) and len(names) == 1 and isinstance(names[0], str):
        return names[0]
    return _CHOICES.get(mode, "auto") if isinstance(mode, str) else "auto"


def _allowed(tools: Iterable[Tool], config: object) -> Iterator[Tool]:
    """The tools that a request's `toolConfig` leaves the model, where it leaves several; one is a choice."""
    calling = either(config, "functionCallingConfig", "function_calling_config")
    names = either(calling, "allowedFunctionNames", "allowed_function_names")
    some = isinstance(names, list) and bool(names) and choice_of(config) in {"auto", "required"}
    return (tool for tool in tools if not some or tool.name in names)


def _is_structured(config: object) -> bool:
    """Whether a generation's settings ask for JSON: by a media type, or by a schema."""
    kind = either(config, "responseMimeType", "response_mime_type")
    if isinstance(kind, str) and kind.partition(";")[0].strip() == "application/json":
        return True
    schema = either(config, "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
    return isinstance(schema, dict)


def _role(content: object) -> str:
    return str(content.get("role") or "user") if isinstance(content, dict) else "user"


def _texts(content: object, *, answers: bool = False) -> Iterator[str]:
    """The texts of a content; with `answers` also those that functions answered."""
    if isinstance(content, str):
        yield content
        return
    parts = content.get("parts") if isinstance(content, dict) else content
    for part in parts if isinstance(parts, list) else (parts,):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("thought") is not True:
            yield part["text"]
        elif isinstance(part, dict) and answers:
            answer = either(part, "functionResponse", "function_response")
            yield from rawjson.strings(answer.get("response") if isinstance(answer, dict) else None)


def _fetched(content: object) -> Iterator[str]:
    """The texts that tools of the provider's own gave back."""
    parts = content.get("parts") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        yield from rawjson.strings(either(part, *RESULTS))
