"""What each side of one exchange speaks, decided from evidence, and the evidence kept for the flow view.

A client that declares tools waits for native calls. A client that declares none speaks text when its system prompt
teaches a dialect or its history holds calls in one. The User-Agent alone decides nothing: today's versions of the
agents that once wrote calls as text declare tools and reject text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import Route
from toolcalls.values.toolbox import Toolbox

_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_AGENT_HEADERS = ("user-agent", "x-title", "http-referer", "referer")

# The model's latest turns tell what it is speaking; a long history is not searched on every request.
_TURNS = 8

type Kind = Literal["lift", "lower", "roundtrip", "process", "observe"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done to one reply, and why. `dialect` is what a text client is written to."""

    kind: Kind
    client: str
    upstream: str
    dialect: str | None
    evidence: tuple[str, ...]


def client_pattern(headers: Mapping[str, str], patterns: tuple[str, ...]) -> str | None:
    """The pattern that a client's headers match, with the header, as `cline (user-agent)`; None for no match.

    A pattern matches whole words of a header ("RooCode/3" has roo and code, "decline-bot" has no cline), in any case.
    """
    for header in _AGENT_HEADERS:
        words = [word.lower() for word in _TOKEN.findall(headers.get(header, ""))]
        for pattern in patterns:
            wanted = "".join(word.lower() for word in _TOKEN.findall(pattern))
            if wanted and _stands_in(wanted, words):
                return f"{pattern} ({header})"
    return None


def _stands_in(wanted: str, words: list[str]) -> bool:
    for first in range(len(words)):
        joined = ""
        for word in words[first:]:
            joined += word
            if joined == wanted:
                return True
            if len(joined) >= len(wanted):
                break
    return False


def decide(route: Route, request: Request, headers: Mapping[str, str], patterns: tuple[str, ...]) -> Decision:
    """What the route and the evidence make of one exchange. `headers` has lower-case names."""
    found: list[str] = []
    if request.tools:
        count = len(request.tools)
        found.append(f"the request declares {count} tool{'' if count == 1 else 's'}")
    if request.tool_choice == "none":
        found.append("tool_choice is none")
    agent = client_pattern(headers, patterns)
    if agent is not None:
        found.append(f"the client matches {agent}")
    spoken = None
    for name, dialect in all_dialects().items():
        if request.system and dialect.shown_in(request.system):
            found.append(f"the system prompt teaches {name}")
            spoken = spoken or name
        if any(dialect.shown_in(text) for text in request.assistant[-_TURNS:]):
            found.append(f"the history holds calls in {name}")
            spoken = spoken or name
    client: str = route.client
    if client == "auto":
        client = "native" if request.tools else "text" if spoken is not None and patterns else "unknown"
    else:
        found.append(f"the route says that the client speaks {client}")
    if route.upstream != "auto":
        found.append(f"the route says that the upstream speaks {route.upstream}")
    written = (route.client_dialect or spoken or "invoke") if client == "text" else None
    kind = _kind(client, route.upstream)
    if kind == "observe" and route.processes:
        kind = "process"
    if kind == "lower" and route.access is not None:
        kind = "roundtrip"
        found.append("there are access rules, so calls are read in the text, too: the client would make them")
    if not request.carries_calls and kind != "observe":
        found.append("the API has no place for calls")
        kind, written = "observe", None
    return Decision(kind, client, route.upstream, written, tuple(found))


def _kind(client: str, upstream: str) -> Kind:
    if client == "native":
        return "observe" if upstream == "native" else "lift"
    if client == "text":
        return "lower" if upstream == "native" else "roundtrip"
    return "observe"


def call_policy_of(route: Route, request: Request, decision: Decision) -> tuple[CallPolicy, Toolbox]:
    """The terms on which a reply is read, and the tools it may call.

    A text client declares its tools in the prompt, where every parameter is text; where not even that is in a form
    known here, every name will do: what is read there is written back as text.
    """
    tools = (*request.tools, *route.tools)
    textual = decision.client == "text" and not tools
    if textual:
        tools = tools_in(request.system)
    reading = replace(request, tools=tools)
    lift = decision.kind in {"lift", "roundtrip"}
    allow_undeclared = decision.client == "text" and not tools
    frames = decision.kind == "lift"  # a text client knows the frames of its own model
    call_policy = CallPolicy(
        replace(route, tools=()), reading, lift=lift, allow_undeclared=allow_undeclared, remove_frames=frames
    )
    return call_policy, Toolbox(tools, infer=route.infer_types and not textual, textual=textual)
