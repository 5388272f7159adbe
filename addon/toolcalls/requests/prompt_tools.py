"""Tools that a prompt declares, as agents do that write their calls as text.

Read: the Cline family's sections (`## read_file`, `Description: …`, `Parameters:`, `- path: (required) …`), all of
whose parameters are strings; and those of OpenHands (`---- BEGIN FUNCTION #1: terminal ----`, `  (1) command (string,
required): …`), which name types and allowed values: `fn_call_converter` in
https://github.com/OpenHands/software-agent-sdk. What the latter say of an object's or a list's inside stays in the
parameter's description. Also JSON Schemas, as the templates of Hermes, Qwen, Llama and Mistral write them into the
prompt: objects with a name and an object of parameters, bare or as OpenAI's `{"type": "function", "function": …}`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from toolcalls.request import Tool

_SECTION = re.compile(r"^#{2,3} ([A-Za-z_][\w.-]*)[ \t]*$", re.MULTILINE)
_PARAMETERS = re.compile(r"^Parameters:[ \t]*(?:None)?[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"^- ([A-Za-z_][\w.-]*): ?\((required|optional)\)", re.MULTILINE)

_FUNCTION = re.compile(r"^---- BEGIN FUNCTION #\d+: ([^\n]+?) ----\n", re.MULTILINE)
_FUNCTION_END = re.compile(r"^---- END FUNCTION #\d+ ----$", re.MULTILINE)
_NUMBERED = re.compile(r"^  \((\d+)\) ([^\s()]+) \(([^()\n]*), (required|optional)\):[ ]?", re.MULTILINE)
_ALLOWED = re.compile(r"^Allowed values: \[`([^\n]*)`\]$\n?", re.MULTILINE)
_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_OBJECT = re.compile(r'\{\s*"(?:type|function|name|description)"\s*:')
_MAX_OBJECTS = 1000  # of a prompt; each is read once
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_DECODER = json.JSONDecoder()

_UNSAID = "No description provided"


def tools_in(prompt: str) -> tuple[Tool, ...]:
    """The tools that `prompt` declares, in its order; () for a prompt that declares none in a form known here."""
    return tuple(_functions(prompt)) or tuple(_sections(prompt)) or tuple(_schemas(prompt))


def _schemas(prompt: str) -> Iterator[Tool]:
    """The tools in JSON Schema. An object that holds others is read whole, so a parameter is no tool."""
    at = 0
    for _ in range(_MAX_OBJECTS):
        head = _OBJECT.search(prompt, at)
        if head is None:
            return
        try:
            found, at = _DECODER.raw_decode(prompt, head.start())
        except (ValueError, RecursionError):
            at = head.end()
            continue
        tool = found.get("function") if found.get("type") == "function" else found
        if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
            schema = next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), dict)), None)
            if schema is not None and isinstance(schema.get("properties"), dict):
                yield Tool(name, schema, str(tool.get("description") or ""))


def _sections(prompt: str) -> Iterator[Tool]:
    """The tools of prompts like those of the Cline family."""
    if "Parameters:" not in prompt:
        return
    heads = list(_SECTION.finditer(prompt))
    ends = [*(head.start() for head in heads[1:]), len(prompt)]
    for head, end in zip(heads, ends, strict=False):
        section = prompt[head.end() : end]
        start = _PARAMETERS.search(section)
        if start is None:
            continue
        parameters = _PARAMETER.findall(section, start.end())
        schema = {
            "type": "object",
            "properties": {key: {"type": "string"} for key, _ in parameters},
            "required": [key for key, need in parameters if need == "required"],
        }
        yield Tool(head[1], schema)


def _functions(prompt: str) -> Iterator[Tool]:
    """The tools of prompts like OpenHands'."""
    if "BEGIN FUNCTION #" not in prompt:  # the expression looks at each line of a long prompt
        return
    at = 0
    while (head := _FUNCTION.search(prompt, at)) is not None:
        end = _FUNCTION_END.search(prompt, head.end())
        if end is None:
            return
        yield _function(head[1], prompt[head.end() : end.start()])
        at = end.end()


def _function(name: str, section: str) -> Tool:
    """A tool, of what is between the lines around it. Its description may say "Parameters:", too."""
    listed = f"\n{section}".rfind("\nParameters:\n  (1) ")
    found = list(_counted(section, listed + len("Parameters:\n"))) if listed >= 0 else []
    about = section[: found[0].start() if found else len(section)].strip()
    about = about.removesuffix("No parameters are required for this function.").removesuffix("Parameters:")
    properties: dict[str, Any] = {}
    for parameter, end in zip(found, [*(one.start() for one in found[1:]), len(section)], strict=False):
        properties[parameter[2]] = _property(parameter[3], section[parameter.end() : end].strip())
    schema = {
        "type": "object",
        "properties": properties,
        "required": [parameter[2] for parameter in found if parameter[4] == "required"],
    }
    return Tool(name, schema, about.removeprefix("Description:").strip())


def _counted(section: str, start: int) -> Iterator[re.Match[str]]:
    """The heads of parameters, numbered from 1. What else looks like one is in a description."""
    number = 1
    for head in _NUMBERED.finditer(section, start):
        if int(head[1][:9]) == number:
            number += 1
            yield head


def _property(types: str, about: str) -> dict[str, Any]:
    """A parameter's schema, of its type in words and what is said of it."""
    schema = _schema(types)
    allowed = _ALLOWED.search(about)
    if allowed is not None:
        about = (about[: allowed.start()] + about[allowed.end() :]).strip()
        schema["enum"] = [_allowed(word, schema) for word in allowed[1].split("`, `")]
    if about and about != _UNSAID:
        schema["description"] = about
    return schema


def _schema(types: str) -> dict[str, Any]:
    """The schema for a type in words: `string`, `array[integer]`, `string or null`; {} for no type of JSON."""
    kinds = [kind.strip() for kind in types.split(" or ")]
    if len(kinds) == 1 and kinds[0].startswith("array[") and kinds[0].endswith("]"):
        return {"type": "array", "items": _schema(kinds[0][6:-1])}
    names = [kind.partition("[")[0] for kind in kinds]
    if not set(names) <= _TYPES:
        return {}
    items: dict[str, Any] = {"items": {}} if "array" in names else {}  # OpenAI's API refuses a list without
    return {"type": names[0] if len(names) == 1 else list(dict.fromkeys(names)), **items}


def _allowed(word: str, schema: dict[str, Any]) -> Any:
    """A value as it is listed: in quotation marks nowhere, so what it is the type says."""
    if schema.get("type") not in {"integer", "number", "boolean"}:
        return word
    try:
        return json.loads(word.lower())
    except ValueError:
        return word
