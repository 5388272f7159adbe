"""A client of Ollama's chat that is stricter than all real ones together, for tests; no code of the wire is in it.

Every line is one JSON object with model, time, a message of the assistant whose `content` is a string, and `done`; a
call has a name and an object; the line that ends the reply comes last, with its reason and counts, and brings no calls.
A broken rule is an AssertionError. Below it, what an upstream sends.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STATS = {"total_duration": 9, "load_duration": 1, "prompt_eval_count": 2, "eval_count": 3}


@dataclass
class Reply:
    """What a reply has told its client."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    order: str = ""
    stats: dict[str, int] = field(default_factory=dict)


def received(body: bytes, *, ends: bool = True, whole: bool = False) -> Reply:
    """What a client makes of a body. `ends`: it ended as it should. `whole`: it is one object."""
    got = Reply()
    lines = [body] if whole else body.split(b"\n")
    if not whole:
        assert lines.pop() == b"" or not ends, "the last line is not closed"
    for line in lines:
        assert got.finish is None, "a line behind the last one"
        _take(got, json.loads(line), whole=whole)
    assert got.finish is not None or not ends, "the reply did not end"
    assert len(set(got.numbers)) == len(got.numbers), f"calls numbered {got.numbers}"
    return got


def _take(got: Reply, line: dict[str, Any], *, whole: bool) -> None:
    assert line["model"] == "m"
    assert line["created_at"]
    message = line["message"]
    assert message["role"] == "assistant"
    assert isinstance(message["content"], str)
    assert "tool_calls" not in message or message["tool_calls"], "an empty list of calls"
    got.reasoning += message.get("thinking", "")
    got.text += message["content"]
    got.order += "t" if message["content"] and not got.order.endswith("t") else ""
    for call in message.get("tool_calls", ()):
        assert not line["done"] or whole, "a call in the last line"
        function = call["function"]
        assert function["name"]
        assert isinstance(function["arguments"], dict)
        got.calls.append((function["name"], function["arguments"]))
        got.numbers.extend([function["index"]] if "index" in function else [])
        got.order += "c"
    if line["done"]:
        got.finish = line["done_reason"]
        got.stats = {key: line[key] for key in STATS}


# --- what an upstream sends -------------------------------------------------------------------------------------------


def line(message: str | Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One line; a string is text."""
    told = {"content": message} if isinstance(message, str) else dict(message)
    before = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    body = {**before, "message": {"role": "assistant", "content": "", **told}, "done": finish is not None}
    return body if finish is None else {**body, "done_reason": finish, **STATS}


def call(name: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A native call."""
    return {"function": {"name": name, "arguments": arguments, **more}}


def body_of(lines: Sequence[Mapping[str, Any]], end: bytes = b"\n") -> bytes:
    """Lines as a body."""
    return b"".join(_json(one) + end for one in lines)


def _json(payload: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(payload, separators=(",", ":")).encode()
