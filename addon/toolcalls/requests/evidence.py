"""What each side of one exchange speaks, decided from evidence, and the evidence kept for the flow view.

A client that declares tools waits for native calls. A client that declares none speaks text when its system prompt
teaches a dialect, when its history holds calls in one, or when one of its headers matches a pattern of the
configuration. A header decides nothing against the rest: today's versions of the agents that once wrote calls as text
declare tools and reject text.

What a text client speaks is the dialect that the route names, else what its prompt teaches, else what its history
holds. Where several fit, nothing is changed. A model may have leaked what the history holds, so only a dialect that the
route or the prompt names is one that calls in other dialects are written in.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from toolcalls.dialects import about, is_own
from toolcalls.events import Reason
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request
from toolcalls.requests.escaped_values import escapes_values
from toolcalls.requests.opened_reasoning import may_start_in_reasoning
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.requests.spoken_dialects import taught_in, used_in
from toolcalls.requests.taught_wrappers import wrappers_in
from toolcalls.route import Mended, Route
from toolcalls.values.toolbox import Toolbox

_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_AGENT_HEADERS = ("user-agent", "x-title", "http-referer", "referer")

# The model's latest turns tell what it is speaking; a long history is not searched on every request.
_TURNS = 8

_DEFAULT_DIALECT = "invoke"  # of a text client, where only the route says that it is one
_UNCLEAR = "it is not clear which of these dialects the client reads, so calls stay as they are"
_UNKNOWN = "it is not known which dialect the client reads, so calls stay as they are"
_LEFT = "neither the route nor the prompt names a dialect, so calls in any other dialect stay as they are"

type Kind = Literal["lift", "lower", "roundtrip", "process", "observe"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done to one reply, and why.

    dialect      what calls are written in for a text client; None where it is not known, so that none are
    alternatives the dialects of which a text client may read any; () where `dialect` is known, or nothing is
    translates   calls in other dialects are written in `dialect`, too, and not left as they are
    one_call     a text client is given one call a message
    """

    kind: Kind
    client: str
    upstream: str
    dialect: str | None
    evidence: tuple[str, ...]
    alternatives: tuple[str, ...] = ()
    translates: bool = True
    one_call: bool = False

    @property
    def client_dialects(self) -> tuple[str, ...]:
        """The dialects that a text client may read; () for a native one, and where nothing is known of it."""
        return self.alternatives if self.dialect is None else (self.dialect,)


def client_pattern(headers: Mapping[str, str], patterns: tuple[str, ...]) -> str | None:
    """The pattern that a client's headers match, with the header, as `cline (user-agent)`; None for no match.

    A pattern matches whole words of a header ("RooCode/3" has roo and code, "decline-bot" has no cline), in any case.
    """
    for header in _AGENT_HEADERS:
        if (value := headers.get(header)) and (pattern := _pattern_in(value, patterns)) is not None:
            return f"{pattern} ({header})"
    return None


@lru_cache(64)  # an agent says the same with each request
def _pattern_in(value: str, patterns: tuple[str, ...]) -> str | None:
    """The pattern that a header's value matches, None for none."""
    words = [word.lower() for word in _TOKEN.findall(value)]
    for pattern in patterns:
        wanted = "".join(word.lower() for word in _TOKEN.findall(pattern))
        if wanted and _stands_in(wanted, words):
            return pattern
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


def decide(
    route: Route,
    request: Request,
    headers: Mapping[str, str],
    patterns: tuple[str, ...],
    *,
    recognised: str | None = None,
) -> Decision:
    """What the route and the evidence make of one exchange.

    headers      by their names in lower case
    recognised   the pattern, with its header, that an earlier request of the session matched; None for none
    """
    found: list[str] = []
    if request.tools:
        count = len(request.tools)
        found.append(f"the request declares {count} tool{'' if count == 1 else 's'}")
    if request.tool_choice == "none":
        found.append("tool_choice is none")
    agent = client_pattern(headers, patterns)
    if agent is not None:
        found.append(f"the client matches {agent}")
    elif recognised is not None and any(recognised.startswith(f"{pattern} (") for pattern in patterns):
        agent = recognised
        found.append(f"the client matched {recognised} in an earlier request of this session")
    known = (*route.named, *filter(None, (route.client_dialect,)))
    own = tuple(filter(is_own, dict.fromkeys(known)))
    taught = taught_in(request.system, own)
    used = used_in(request.assistant[-_TURNS:], request.system, own)
    if taught:
        found.append(f"the system prompt teaches {_any_of(taught)}")
    if used:
        found.append(f"the history holds calls in {_any_of(used)}")
    spoken = taught or used
    client: str = route.client
    if client == "auto":
        by_text = bool(patterns) and bool(spoken or agent)
        client = "native" if request.tools else "text" if by_text else "unknown"
    else:
        found.append(f"the route says that the client speaks {client}")
    if route.upstream != "auto":
        found.append(f"the route says that the upstream speaks {route.upstream}")
    kind = _kind(client, route.upstream)
    if kind == "observe" and route.processes:
        kind = "process"
    if kind == "lower" and route.access is not None:
        kind = "roundtrip"
        found.append("there are access rules, so calls are read in the text, too: the client would make them")
    if not request.carries_calls and kind != "observe":
        found.append("the API has no place for calls")
        kind = "observe"
    written: str | None = None
    alternatives: tuple[str, ...] = ()
    translates = False
    if client == "text" and kind != "observe":
        written = route.client_dialect or (spoken[0] if len(spoken) == 1 else None)
        if written is None and not spoken and route.client == "text":
            written, translates = _DEFAULT_DIALECT, True
        translates = translates or route.client_dialect is not None or len(taught) == 1
        if written is None:
            alternatives = spoken
            found.append(_UNCLEAR if spoken else _UNKNOWN)
        elif not translates:
            found.append(_LEFT)
    one_call = client == "text" and _takes_one_call(route, alternatives if written is None else (written,), found)
    return Decision(kind, client, route.upstream, written, tuple(found), alternatives, translates, one_call)


def _takes_one_call(route: Route, dialects: Sequence[str], found: list[str]) -> bool:
    """Whether a text client is given one call a message. What says so is added to the evidence."""
    if route.multiple_calls is not None or not dialects or not all(about(dialect).one_call for dialect in dialects):
        return route.multiple_calls is False
    found.append(f"clients that read {_any_of(dialects)} take one call a message")
    return True


def _any_of(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _kind(client: str, upstream: str) -> Kind:
    if client == "native":
        return "observe" if upstream == "native" else "lift"
    if client == "text":
        return "lower" if upstream == "native" else "roundtrip"
    return "observe"


def _mended_by(route: Route, request: Request, decision: Decision) -> tuple[Mended, ...]:
    """What is mended. Where nothing else is changed, that is for clients that call natively."""
    may_mend = decision.kind != "observe" or (decision.client == "native" and request.carries_calls)
    return route.mend if may_mend else ()


def call_policy_of(route: Route, request: Request, decision: Decision) -> tuple[CallPolicy, Toolbox]:
    """The terms on which a reply is read, and the tools it may call.

    A text client declares its tools in the prompt, where every parameter is text; where not even that is in a form
    known here, every name will do: what is read there is written back as text.
    """
    tools = (*request.tools, *route.tools)
    textual = decision.client == "text" and not tools
    if textual:
        tools = tools_in(request.system)
    reading = replace(request, tools=tools) if tools != request.tools else request
    lift = decision.kind in {"lift", "roundtrip"}
    allow_undeclared = decision.client == "text" and not tools
    frames = decision.kind == "lift"  # a text client knows the frames of its own model
    unlifted: Reason = "observed"
    if not request.carries_calls:
        unlifted = "api_without_calls"
    elif decision.client == "unknown":
        unlifted = "no_tools"
    multiple_calls = route.multiple_calls if decision.kind == "lift" else None  # `write` knows of text clients
    call_policy = CallPolicy(
        replace(route, tools=(), multiple_calls=multiple_calls, mend=_mended_by(route, request, decision)),
        reading,
        lift=lift,
        unlifted=unlifted,
        allow_undeclared=allow_undeclared,
        remove_frames=frames,
        open_calls=decision.client != "text",
        may_start_in_reasoning=lift and may_start_in_reasoning(route, request),
        wrappers=wrappers_in(request) if lift else (),
        first=decision.client_dialects,
        tools_known=decision.client != "text",
    )
    escaped = escapes_values(route, reading) if lift else None
    return call_policy, Toolbox(tools, infer=route.infer_types and not textual, textual=textual, escaped=escaped)
