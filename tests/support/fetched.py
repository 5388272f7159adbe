"""What the provider's own tools gave back (web fetch and search, MCP, code, files), and replies in which it stands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from support import anthropicclient, geminiclient, responsesclient
from toolcalls.wires.frames import Form

type Block = dict[str, Any]

_DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{}"}}
_SEARCHED = {"type": "web_search_result", "url": "http://x", "title": "{}", "encrypted_content": "e", "page_age": None}
# What came of the provider's tools, with the text in the place of "{}".
ANTHROPIC: dict[str, Block] = {
    "web fetch": {
        "type": "web_fetch_tool_result",
        "content": {"type": "web_fetch_result", "url": "http://x", "content": _DOCUMENT},
    },
    "web search": {"type": "web_search_tool_result", "content": [_SEARCHED]},
    "MCP": {"type": "mcp_tool_result", "is_error": False, "content": [{"type": "text", "text": "{}"}]},
    "code": {
        "type": "code_execution_tool_result",
        "content": {"type": "code_execution_result", "stdout": "{}", "stderr": "", "return_code": 0, "content": []},
    },
    "shell": {
        "type": "bash_code_execution_tool_result",
        "content": {"type": "bash_code_execution_result", "stdout": "", "stderr": "{}", "return_code": 1},
    },
    "file": {
        "type": "text_editor_code_execution_tool_result",
        "content": {"type": "text_editor_code_execution_view_result", "file_type": "text", "content": "{}"},
    },
}
RESPONSES: dict[str, Block] = {
    "file search": {"type": "file_search_call", "queries": ["q"], "results": [{"file_id": "f", "text": "{}"}]},
    "MCP": {"type": "mcp_call", "server_label": "s", "name": "n", "arguments": "{ }", "output": "{}"},
    "code": {"type": "code_interpreter_call", "code": "1", "outputs": [{"type": "logs", "logs": "{}"}]},
    "web search": {"type": "web_search_call", "action": {"type": "search", "sources": [{"type": "url", "url": "{}"}]}},
    "shell": {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "{}", "stderr": ""}]},
}
GEMINI: dict[str, Block] = {
    "code": {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "{}"}},
    "a tool": {"toolResponse": {"id": "t", "response": {"output": ["{}"]}}},
}
RESULTS = {"anthropic": ANTHROPIC, "openai_responses": RESPONSES, "gemini": GEMINI}


def filled(shape: Any, text: str) -> Any:
    """A result that holds this text."""
    if isinstance(shape, Mapping):
        return {key: filled(member, text) for key, member in shape.items()}
    if isinstance(shape, list):
        return [filled(member, text) for member in shape]
    return f"It says:\n{text}\nThat was it.\n" if shape == "{}" else shape


def _anthropic(content: Sequence[str | Block]) -> list[dict[str, Any]]:
    blocks = [
        anthropicclient.text(one[:6], one[6:]) if isinstance(one, str) else anthropicclient.block(one)
        for one in content
    ]
    return anthropicclient.stream(blocks)


def _responses(content: Sequence[str | Block]) -> list[dict[str, Any]]:
    """A stream's events; items of the provider's begin without what comes of them."""
    made = responsesclient.stream(list(content))
    for event in made:
        if event["type"] == "response.output_item.added" and "status" in event["item"]:
            event["item"] = {key: event["item"][key] for key in event["item"] if key in _BEGUN}
    return made


_BEGUN = {"id", "type", "status", "role", "content"}


def _gemini(content: Sequence[str | Block], form: geminiclient.Body) -> bytes:
    if form == "whole":
        return geminiclient.body_of([geminiclient.reply(list(content), "STOP")], form)
    frames = [geminiclient.reply([one]) for one in content]
    return geminiclient.body_of([*frames, geminiclient.reply([""], "STOP")], form)


# A wire, a form, and a body with these texts and results.
BODIES: dict[str, tuple[str, Form, Callable[[Sequence[str | Block]], bytes]]] = {
    "anthropic": ("anthropic", "sse", lambda content: anthropicclient.written(_anthropic(content))),
    "anthropic, at once": (
        "anthropic",
        "sse",
        lambda content: anthropicclient.written(anthropicclient.at_once(_anthropic(content))),
    ),
    "anthropic, whole": ("anthropic", "whole", lambda content: anthropicclient.whole(_anthropic(content))),
    "responses": ("openai_responses", "sse", lambda content: responsesclient.written(_responses(content))),
    "responses, whole": ("openai_responses", "whole", lambda content: responsesclient.whole(_responses(content))),
    "gemini": ("gemini", "sse", lambda content: _gemini(content, "sse")),
    "gemini, array": ("gemini", "json_array", lambda content: _gemini(content, "json_array")),
    "gemini, whole": ("gemini", "whole", lambda content: _gemini(content, "whole")),
}
CASES = [(key, kind) for key, (wire, _, _) in BODIES.items() for kind in RESULTS[wire]]


def request(wire: str, result: Block | None) -> dict[str, Any]:
    """The body of a request in whose history a result stands."""
    history = [] if result is None else [result]
    if wire == "anthropic":
        return {"messages": [{"role": "assistant", "content": history}, {"role": "user", "content": "And now?"}]}
    if wire == "gemini":
        turns = [{"role": "model", "parts": history}, {"role": "user", "parts": [{"text": "And now?"}]}]
        return {"contents": turns}
    return {"input": [*history, {"role": "user", "content": "And now?"}]}
