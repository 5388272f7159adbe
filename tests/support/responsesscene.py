"""The tools and calls of the five routes, as the Responses API writes them."""

import json
from typing import Any


def tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": [*parameters], "additionalProperties": False}
    return {"type": "function", "name": name, "strict": True, "parameters": schema}


# Tools that are in the conversation itself, as Codex declares them for newer models.
SCRIPT = {"type": "custom", "name": "exec", "description": "Runs JavaScript."}
BROUGHT = [
    {"type": "namespace", "name": "functions", "tools": [SCRIPT, tool("now")]},
    {"type": "namespace", "name": "clock", "tools": [tool("sleep", "seconds")]},
]
BRINGS = {"type": "additional_tools", "role": "developer", "tools": BROUGHT}
SAYS = {"type": "message", "role": "user", "content": "Go."}
BRINGING = {"model": "m", "tool_choice": "auto", "stream": True, "input": [BRINGS, SAYS]}

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
