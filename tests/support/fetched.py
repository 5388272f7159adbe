"""What the provider's own tools gave back (web fetch and search, MCP, code, files), and replies in which it stands."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from support import anthropicclient, chatclient, geminiclient, responsesclient
from toolcalls.wires.frames import Form

type Block = dict[str, Any]

_DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{}"}}
_SEARCHED = {"type": "web_search_result", "url": "http://x", "title": "{}", "encrypted_content": "e", "page_age": None}


def _citing(**where: Any) -> Block:
    citations = [{**where, "cited_text": "{}"}]
    return {"type": "text", "text": "Quoted.", "citations": citations}


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
    "a citation of a document": _citing(type="char_location", document_index=0, document_title=None),
    "a citation of a page": _citing(type="page_location", document_index=0, start_page_number=1, end_page_number=2),
    "a citation of the web": _citing(type="web_search_result_location", url="http://x", encrypted_index="e"),
    "a citation of a search": _citing(type="search_result_location", source="http://x", search_result_index=0),
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
_PAGE = {"url": "http://x", "title": "t", "content": "{}", "start_index": 0, "end_index": 0}
_EXECUTED = {"index": 0, "type": "search", "arguments": "{ }"}
CHAT: dict[str, Block] = {
    "a citation of the web": {"annotations": [{"type": "url_citation", "url_citation": _PAGE}]},
    "a file": {
        "annotations": [
            {"type": "file", "file": {"hash": "h", "name": "n", "content": [{"type": "text", "text": "{}"}]}}
        ]
    },
    "a quotation of a file": {
        "annotations": [{"type": "file_annotation", "file_annotation": {"file_id": "f", "quote": "{}"}}]
    },
    "an output": {"executed_tools": [{**_EXECUTED, "output": "{}"}]},
    "web search": {
        "executed_tools": [{**_EXECUTED, "search_results": {"results": [{"url": "http://x", "content": "{}"}]}}]
    },
    "a browser": {"executed_tools": [{**_EXECUTED, "browser_results": [{"title": "{}", "url": "http://x"}]}]},
    "code": {"executed_tools": [{**_EXECUTED, "code_results": [{"text": "{}", "png": "iVBO"}]}]},
}
RESULTS = {"anthropic": ANTHROPIC, "openai_responses": RESPONSES, "gemini": GEMINI, "openai_chat": CHAT}


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


def _with_deltas(content: Sequence[str | Block]) -> list[dict[str, Any]]:
    """The same, with citations as a stream brings them."""
    events: list[dict[str, Any]] = []
    for event in _anthropic(content):
        block = event.get("content_block", {})
        if "citations" not in block:
            events.append(event)
            continue
        events.append({**event, "content_block": {**block, "text": "", "citations": []}})
        text = {"type": "text_delta", "text": block["text"]}
        cited = [{"type": "citations_delta", "citation": citation} for citation in block["citations"]]
        events += [{"type": "content_block_delta", "index": event["index"], "delta": delta} for delta in (*cited, text)]
    return events


def _chat(content: Sequence[str | Block]) -> bytes:
    """Results are the members of a delta, with the text after them or without one."""
    deltas = [{"content": one} if isinstance(one, str) else one for one in content]
    chunks = [chatclient.chunk(delta) for delta in ({"role": "assistant", "content": ""}, *deltas)]
    return b"".join(map(chatclient.event, chunks)) + chatclient.ending()


def _whole_chat(content: Sequence[str | Block]) -> bytes:
    message: Block = {"role": "assistant", "content": "".join(one for one in content if isinstance(one, str))}
    for one in content:
        message |= {} if isinstance(one, str) else one
    return json.dumps({"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


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
    "anthropic, citations in deltas": (
        "anthropic",
        "sse",
        lambda content: anthropicclient.written(_with_deltas(content)),
    ),
    "anthropic, at once": (
        "anthropic",
        "sse",
        lambda content: anthropicclient.written(anthropicclient.at_once(_anthropic(content))),
    ),
    "anthropic, whole": ("anthropic", "whole", lambda content: anthropicclient.whole(_anthropic(content))),
    "responses": ("openai_responses", "sse", lambda content: responsesclient.written(_responses(content))),
    "responses, whole": ("openai_responses", "whole", lambda content: responsesclient.whole(_responses(content))),
    "chat": ("openai_chat", "sse", _chat),
    "chat, whole": ("openai_chat", "whole", _whole_chat),
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
    if wire == "openai_chat":
        said = [] if result is None else [{"role": "assistant", "content": "I looked.", **result}]
        return {"messages": [{"role": "user", "content": "Look."}, *said, {"role": "user", "content": "And now?"}]}
    if wire == "gemini":
        turns = [{"role": "model", "parts": history}, {"role": "user", "parts": [{"text": "And now?"}]}]
        return {"contents": turns}
    return {"input": [*history, {"role": "user", "content": "And now?"}]}
