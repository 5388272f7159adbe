"""The tools and calls of the five routes, as the Responses API writes them."""

import json
from typing import Any


def tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": [*parameters], "additionalProperties": False}
    return {"type": "function", "name": name, "strict": True, "parameters": schema}


TOOLS = [tool("read_file", "path"), tool("now")]
NATIVE = [
    {"type": "function_call", "call_id": "call_a", "name": "read_file", "arguments": '{"path": "größe/日本 😀.md"}'},
    {"type": "function_call", "call_id": "call_b", "name": "now", "arguments": "{}"},
]


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def meant(response: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]


CREATE = {"type": "response.create", "model": "m", "input": "go", "tools": TOOLS}
