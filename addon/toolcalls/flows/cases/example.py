"""A reply and what matters of its request, in the form of a dialect case (`tests/cases/README.md`), and how it is read.

What a recording holds beside this (frames, native calls, headers, rules) is left behind. Where a verdict depends on
that, no example shows it, and `minimise` says so before it cuts anything.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, get_args

from toolcalls.dialects import is_own
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Reasoning, Text, Verdict
from toolcalls.flows.cases.dialect_cases import DialectCase, pieces
from toolcalls.flows.judging import Recorded, decoded_events
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.requests.conversation import conversation_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.route import PolicyName, Route, Taken

# Settings of a route that a case can say.
_SETTINGS = (
    "policy",
    "allowed_tools",
    "dialects",
    "multiple_calls",
    "infer_types",
    "max_buffer_bytes",
    "max_held_call_bytes",
    "drop_invented_results",
)
_LENGTH = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete", "model_length"})
_WIRE = "openai_chat"
_POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)

type Tools = tuple[tuple[str, dict[str, Any] | None], ...]


@dataclass(frozen=True)
class Example:
    """One reply.

    tools      (name, JSON Schema or None for one without), in the request's order
    messages   (role, text) of the request's messages
    settings   of the route, those that differ from its defaults; values are hashable
    finish     stop, length or broken
    cuts       places in `text` at which it comes in pieces
    """

    text: str
    tools: Tools
    messages: tuple[tuple[str, str], ...] = ()
    tool_choice: str = "auto"
    settings: tuple[tuple[str, Any], ...] = ()
    finish: str = "stop"
    cuts: tuple[int, ...] = ()

    @property
    def pieces(self) -> list[str]:
        """The text in the pieces in which it arrives."""
        return pieces(self.text, self.cuts)

    @property
    def request(self) -> dict[str, Any]:
        """Chat Completions' request but for its tools; {} where nothing else matters."""
        made: dict[str, Any] = {}
        if self.messages:
            made["messages"] = [{"role": role, "content": text} for role, text in self.messages]
        if self.tool_choice != "auto":
            named = self.tool_choice not in {"none", "required"}
            made["tool_choice"] = (
                {"type": "function", "function": {"name": self.tool_choice}} if named else self.tool_choice
            )
        return made

    @property
    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools in OpenAI form."""
        functions = (
            {"name": name, **({} if schema is None else {"parameters": schema})} for name, schema in self.tools
        )
        return [{"type": "function", "function": function} for function in functions]

    @property
    def size(self) -> int:
        """The characters of the text, and of tools and request as JSON."""
        return len(self.text) + len(json.dumps([self.openai_tools, self.request], ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reply came to. `calls` are the complete ones: name, argument JSON."""

    shown: str
    calls: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...]
    reasoning: str


def example_of(reply: Recorded, lane: int) -> Example:
    """The example that a recorded reply is, as far as its text goes."""
    written: list[str] = []
    finish = "broken" if reply.cut else "stop"
    for place, event in decoded_events(reply):
        if place == lane and isinstance(event, Text) and event.text:
            written.append(event.text)
        elif place == lane and isinstance(event, Finish) and event.reason in _LENGTH:
            finish = "length"
    policy, asked = reply.plan.call_policy, reply.plan.call_policy.request
    messages = [("system", asked.system)] if asked.system else []
    messages += [("user", text) for text in asked.quotable]
    messages += [("assistant", text) for text in asked.prefill]
    return Example(
        "".join(written),
        tuple((tool.name, tool.schema or None) for tool in asked.tools),
        tuple(messages),
        asked.tool_choice or "auto",
        settings_of(policy.route),
        finish,
        tuple(accumulate(map(len, written[:-1]))),
    )


def example_of_case(case: DialectCase) -> Example:
    """The example that a case is."""
    tools = tuple((tool["function"]["name"], tool["function"].get("parameters")) for tool in case.tools)
    messages = tuple((one["role"], one["content"]) for one in case.request.get("messages", ()))
    choice = case.request.get("tool_choice", "auto")
    choice = choice if isinstance(choice, str) else choice["function"]["name"]
    settings = tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in case.route.items())
    return Example(case.text, tools, messages, choice, settings, case.finish, case.cuts)


def settings_of(route: Route) -> tuple[tuple[str, Any], ...]:
    """What a route says otherwise than the default one, of what a case can say."""
    usual = Route()
    said = [(key, getattr(route, key)) for key in _SETTINGS if getattr(route, key) != getattr(usual, key)]
    # A case knows the dialects of the package only.
    return tuple((key, value) for key, value in said if key != "dialects" or not any(map(is_own, value)))


def read(example: Example) -> Outcome:
    """The example read, as a test of dialect cases reads it."""
    route = Route(client="native", upstream="text", **dict(example.settings))
    request = _request(example)
    call_policy, tools = call_policy_of(route, request, decide(route, request, {}, ()))
    return _outcome(Reader(call_policy, tools=tools), example.pieces, cut=example.finish != "stop")


def wanted(example: Example, name: str | None) -> Outcome | None:
    """The example read on the least lenient terms that lift a call of this name; None where none do."""
    rest = tuple((key, value) for key, value in example.settings if key != "policy")
    terms = [(*rest, ("policy", policy)) for policy in _POLICIES]
    terms.append((*rest, ("take", get_args(Taken)), ("require", ())))
    for settings in terms:
        for finish in dict.fromkeys((example.finish, "stop")):
            found = read(replace(example, settings=settings, finish=finish))
            if any(call == name for call, _ in found.calls):
                return found
    return None


def _request(example: Example) -> Request:
    body = {"messages": [], **example.request}
    if example.tools:
        body["tools"] = example.openai_tools
    return conversation_of(_WIRE, json.dumps(body).encode("utf-8", "surrogatepass")).request


def _outcome(reader: Reader, texts: Sequence[str], *, cut: bool) -> Outcome:
    events: list[Event] = [event for piece in texts for event in reader.feed(piece)]
    events += reader.finish(cut=cut)
    whole = {event.index for event in events if isinstance(event, CallEnd)}
    calls = []
    for start in (event for event in events if isinstance(event, CallStart) and event.index in whole):
        json_text = "".join(one.json for one in events if isinstance(one, CallPiece) and one.index == start.index)
        calls.append((start.name, json_text))
    return Outcome(
        "".join(event.text for event in events if isinstance(event, Text)),
        tuple(calls),
        tuple(event for event in events if isinstance(event, Verdict)),
        "".join(event.text for event in events if isinstance(event, Reasoning)),
    )
