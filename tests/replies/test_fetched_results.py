"""Calls that stand word for word in a result of the provider's own tools: in the request, or in the same reply."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from support import anthropicclient, geminiclient, responsesclient
from support.exchanges import in_pieces, of_request, run
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.sampling import some
from toolcalls.replies.exchange import Exchange
from toolcalls.route import PolicyName, Route
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
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
TOOLBOX = Toolbox(TOOLS)
POLICIES: tuple[PolicyName, ...] = ("standard", "strict", "lenient")


def request(wire: str, result: Block | None) -> dict[str, Any]:
    """A request in whose history a result stands."""
    history = [] if result is None else [result]
    if wire == "anthropic":
        return {"messages": [{"role": "assistant", "content": history}, {"role": "user", "content": "And now?"}]}
    if wire == "gemini":
        turns = [{"role": "model", "parts": history}, {"role": "user", "parts": [{"text": "And now?"}]}]
        return {"contents": turns}
    return {"input": [*history, {"role": "user", "content": "And now?"}]}


def exchange(wire: str, form: Form, policy: PolicyName, result: Block | None = None) -> Exchange:
    asked = all_wires()[wire].request(json.dumps(request(wire, result)).encode())
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS)
    return of_request(all_wires()[wire], asked, route, form=form, seed=b"x")


def found(one: Exchange) -> list[tuple[str, str | None]]:
    return [(verdict.status, verdict.reason) for _, verdict in one.verdicts if verdict.name == CALL.name]


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_a_call_that_stands_in_a_result_of_the_history_is_an_echo(key: str, kind: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in some(DIALECTS, 6, f"{key} {kind}"):
        call = written(dialect)
        for policy in POLICIES:
            for size in (0, 1, 11):
                one = exchange(wire, form, policy, filled(RESULTS[wire][kind], call))
                sent = body([call])
                assert run(one, in_pieces(sent, size)) == sent, (dialect, policy, size)
                assert set(found(one)) == {("declined", "echo")}, (dialect, policy, size)
        one = exchange(wire, form, "standard", filled(RESULTS[wire][kind], "nothing of it"))
        run(one, [body([call])])
        assert found(one) == [("lifted", None)], dialect


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_a_call_that_stands_in_a_result_earlier_in_the_reply_is_an_echo(key: str, kind: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in some(DIALECTS, 6, f"{key} {kind} reply"):
        call = written(dialect)
        for policy in POLICIES:
            for size in (0, 1, 11):
                one = exchange(wire, form, policy)
                sent = body(["Let me see.\n", filled(RESULTS[wire][kind], call), f"\n{call}"])
                assert run(one, in_pieces(sent, size)) == sent, (dialect, policy, size)
                if policy == "standard" and all_wires()[wire].sequential_lanes:
                    assert set(found(one)) <= {("declined", "echo")}, (dialect, size)
        one = exchange(wire, form, "standard")
        run(one, [body(["See.\n", filled(RESULTS[wire][kind], "nothing of it"), f"\n{call}"])])
        if all_wires()[wire].sequential_lanes:
            assert found(one) == [("lifted", None)], dialect


@pytest.mark.parametrize("key", [key for key in BODIES if not key.startswith("gemini")])
def test_what_comes_later_in_the_reply_makes_no_echo(key: str) -> None:
    wire, form, body = BODIES[key]
    for kind, result in RESULTS[wire].items():
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body([written("hermes"), filled(result, written("hermes"))]), size))
            assert found(one) == [("lifted", None)], kind


def test_what_one_reply_fetched_is_nothing_to_the_next() -> None:
    wire, form, body = BODIES["anthropic"]
    first = exchange(wire, form, "standard")
    run(first, [body([filled(ANTHROPIC["MCP"], written("hermes")), written("hermes")])])
    second = Exchange(first.wire, first.call_policy, first.decision, TOOLBOX, form=form, seed=b"y")
    run(second, [body([written("hermes")])])
    assert (found(first), found(second)) == ([("declined", "echo")], [("lifted", None)])
