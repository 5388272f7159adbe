"""Requests through format and rewriting, as the addon does it; on routes of each kind that rewrite."""

import json
from dataclasses import replace
from typing import Any

from toolcalls.requests.conversation import conversation_of, request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.history_mending import mended_history
from toolcalls.requests.rewriting import rewrite
from toolcalls.route import Mended, Route
from toolcalls.wires import all_wires

LOWER = Route(client="native", upstream="text", dialects=("hermes",), rewrite_request=True)
MEND = Route(rewrite_request=True)
LIFT = Route(client="text", upstream="native", client_dialect="tagged", rewrite_request=True)
# The prompt of a client that declares its tool in it.
CLINE = """You are Cline.

# Tools

## read_file
Description: Reads a file.
Parameters:
- path: (required) The path.
"""


def through(wire: str, body: bytes, route: Route) -> tuple[bytes, tuple[str, ...]]:
    """What the upstream is sent, and what was done."""
    request = request_of(all_wires()[wire], body)
    decision = decide(route, request, {}, ("cline",))
    call_policy, _ = call_policy_of(route, request, decision)
    made = rewrite(conversation_of(wire, body), replace(call_policy, route=route), decision)
    return made.conversation.written() if made.notes else body, made.notes


def sent(wire: str, request: dict[str, Any], route: Route) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same for a request that is not bytes yet; and two laws: it is the same every time, and then nothing to do."""
    body = json.dumps(request).encode()
    made, notes = through(wire, body, route)
    assert through(wire, body, route)[0] == made, "not deterministic"
    assert through(wire, made, route)[0] == made, "not idempotent"
    return json.loads(made), notes


IN_HISTORY: tuple[Mended, ...] = ("protocol", "json", "types", "names")


def mended(wire: str, body: dict[str, Any] | bytes, *kinds: Mended) -> tuple[bytes, tuple[str, ...]]:
    """A request whose history is mended, with these kinds or all of them, and what was done; then nothing is to do."""
    codec = all_wires()[wire]
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = request_of(codec, raw)
    route = Route(mend=kinds or IN_HISTORY, rewrite_request=True)
    call_policy, tools = call_policy_of(route, asked, decide(route, asked, {}, ()))
    made = mended_history(codec, conversation_of(wire, raw), replace(call_policy, route=route), tools)
    again = mended_history(codec, conversation_of(wire, made[0]), replace(call_policy, route=route), tools)
    assert again == (made[0], ()), "what is mended is sound"
    return made


def offered(wire: str, body: dict[str, Any], kept: set[str], choice: str | None = None) -> dict[str, Any]:
    """The body with only these tools."""
    raw = json.dumps(body).encode()
    conversation = conversation_of(wire, raw)
    tools = tuple(tool for tool in conversation.tools if tool.name in kept)
    changed = conversation.changed(tools=tools, tool_choice=choice or conversation.tool_choice)
    return dict(json.loads(changed.written()))
