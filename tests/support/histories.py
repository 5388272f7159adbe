"""A history with calls and results as each API has it, told in no API's words, and read back by hand."""

import json
from collections.abc import Callable
from typing import Any

EDIT = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "edits": {"type": "array", "items": {"type": "string"}}},
    "required": ["path"],
}
SCHEMAS: dict[str, Any] = {"edit": EDIT, "now": {"type": "object", "properties": {}}}

type Call = tuple[str | None, str, Any]  # the id, the name, the arguments as they are in the body
type Result = tuple[str | None, str, str]  # the id, the tool's name, what it said


def _with_id(key: str, id_: str | None) -> dict[str, Any]:
    return {} if id_ is None else {key: id_}


def chat(calls: list[Call], results: list[Result]) -> dict[str, Any]:
    made = [
        {**_with_id("id", id_), "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in calls
    ]
    told = [{"role": "tool", **_with_id("tool_call_id", i), "name": name, "content": said} for i, name, said in results]
    declared = [{"type": "function", "function": {"name": n, "parameters": schema}} for n, schema in SCHEMAS.items()]
    turns = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": made}, *told]
    return {"model": "m", "messages": turns, "tools": declared, "temperature": 1e0}


def messages(calls: list[Call], results: list[Result]) -> dict[str, Any]:
    made = [{"type": "tool_use", **_with_id("id", i), "name": name, "input": given_} for i, name, given_ in calls]
    told = [{"type": "tool_result", **_with_id("tool_use_id", i), "content": said} for i, _, said in results]
    declared = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]
    turns = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": made},
        {"role": "user", "content": told},
    ]
    return {"model": "m", "max_tokens": 9, "messages": turns, "tools": declared}


def responses(calls: list[Call], results: list[Result]) -> dict[str, Any]:
    made = [
        {"type": "function_call", "id": f"fc_{place}", **_with_id("call_id", id_), "name": name, "arguments": arguments}
        for place, (id_, name, arguments) in enumerate(calls)
    ]
    told = [{"type": "function_call_output", **_with_id("call_id", i), "output": said} for i, _, said in results]
    declared = [{"type": "function", "name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
    return {"model": "m", "input": [{"role": "user", "content": "go"}, *made, *told], "tools": declared}


def gemini(calls: list[Call], results: list[Result]) -> dict[str, Any]:
    made = [{"functionCall": {**_with_id("id", id_), "name": name, "args": given_}} for id_, name, given_ in calls]
    told = [
        {"functionResponse": {**_with_id("id", id_), "name": name, "response": {"output": said}}}
        for id_, name, said in results
    ]
    declared = [{"name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
    turns = [("user", [{"text": "go"}]), ("model", made), ("user", told)]
    contents = [{"role": role, "parts": parts} for role, parts in turns]
    return {"contents": contents, "tools": [{"functionDeclarations": declared}]}


def ollama(calls: list[Call], results: list[Result]) -> dict[str, Any]:
    made = [{**_with_id("id", id_), "function": {"name": name, "arguments": given_}} for id_, name, given_ in calls]
    told = [
        {"role": "tool", **_with_id("tool_call_id", id_), "tool_name": name, "content": said}
        for id_, name, said in results
    ]
    declared = chat([], [])["tools"]
    turns = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "", "tool_calls": made}, *told]
    return {"model": "m", "messages": turns, "tools": declared}


TELL: dict[str, Callable[[list[Call], list[Result]], dict[str, Any]]] = {
    "openai_chat": chat,
    "anthropic": messages,
    "openai_responses": responses,
    "gemini": gemini,
    "ollama": ollama,
}
AS_TEXT = {"openai_chat", "openai_responses"}  # their arguments are JSON in a string
BY_NAME = {"openai_chat", "gemini", "ollama"}  # their results name the tool
GOOD = {"path": "a.py", "edits": ["x"]}
ANSWERS: list[Result] = [("c1", "edit", "one"), ("c2", "now", "two")]


def sound(wire: str) -> tuple[list[Call], list[Result]]:
    arguments = json.dumps(GOOD) if wire in AS_TEXT else GOOD
    return [("c1", "edit", arguments), ("c2", "now", "{}" if wire in AS_TEXT else {})], ANSWERS


def parts_of(wire: str, body: bytes) -> tuple[list[Call], list[Result]]:
    """The calls and results of a body, read by hand. Arguments are what they mean."""
    data = json.loads(body)
    if wire == "openai_responses":
        calls = [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in data["input"] if "arguments" in i]
        return calls, [(i["call_id"], "", i["output"]) for i in data["input"] if "output" in i]
    if wire == "gemini":
        parts = [part for content in data["contents"] for part in content["parts"]]
        made = [part["functionCall"] for part in parts if "functionCall" in part]
        told = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return (
            [(call.get("id"), call["name"], call["args"]) for call in made],
            [(one.get("id"), one["name"], one["response"]["output"]) for one in told],
        )
    if wire == "anthropic":
        blocks = [block for message in data["messages"] if message["content"] != "go" for block in message["content"]]
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        return calls, [(b["tool_use_id"], "", b["content"]) for b in blocks if b["type"] == "tool_result"]
    calls = []
    results = []
    for message in data["messages"]:
        for call in message.get("tool_calls") or ():
            arguments = call["function"]["arguments"]
            read = json.loads(arguments) if wire in AS_TEXT else arguments
            calls.append((call.get("id"), call["function"]["name"], read))
        if message["role"] == "tool":
            name = message.get("name") or message.get("tool_name", "")
            results.append((message.get("tool_call_id"), name, message["content"]))
    return calls, results
