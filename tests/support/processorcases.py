"""What a model does and what its client must get: turns, replies and clients by kind and form, for processors."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from support.casefiles import canonical, load, openai_tools
from support.chatclient import HEAD, Choice, chunk, ending, event, outer, received
from support.exchanges import of_kind
from toolcalls.config import parse
from toolcalls.dialects import all_dialects
from toolcalls.insight.vocabulary.words import REASONS
from toolcalls.processors import EarlierCall, Processors
from toolcalls.processors.reactors import Runner
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in, write

WIRE = all_wires()["openai_chat"]
FILE = load("processors", "openai_chat")
TOOLS = request_of(WIRE, json.dumps({"messages": [], "tools": openai_tools(FILE["tools"])}).encode()).tools
KINDS: tuple[Kind, ...] = ("lift", "lower", "roundtrip", "process")
CASES = [pytest.param(case, id=case["title"]) for case in FILE["cases"]]


def route_of(rules: Mapping[str, Any]) -> Route:
    """A route with these rules, by way of a configuration."""
    return _route(json.dumps(rules))


@cache  # most of the time of a small exchange, and tests make thousands with the same rules
def _route(rules: str) -> Route:
    written = yaml.safe_dump({"routes": [json.loads(rules)]})
    return parse(written, "c.yaml", all_dialects(), all_wires()).routes[0]


def no_reactors(*_: object) -> None:
    raise LookupError("this test has no reactors")


def exchange_for(
    route: Route,
    kind: Kind,
    form: Form = "sse",
    history: tuple[EarlierCall, ...] = (),
    run: Runner = no_reactors,
    wire: str = "openai_chat",
) -> Exchange:
    processors = Processors(route, model="m", agent="test/1", history=history, run=run) if route.processes else None
    return of_kind(all_wires()[wire], TOOLS, route, kind, form=form, upstream="auto", processors=processors)


def turn(says: list[Any]) -> Iterator[str | Call]:
    for item in says:
        if isinstance(item, str):
            yield item
        else:
            ((name, arguments),) = item.items()
            yield Call(name, json.dumps(arguments))


def as_text(says: list[Any]) -> str:
    """The model's turn where it writes its calls; neighbours are in one block."""
    text, block = "", []
    for item in [*turn(says), ""]:
        if isinstance(item, Call):
            block.append(item)
            continue
        text += write("invoke", block, Toolbox(TOOLS)) if block else ""
        text, block = text + item, []
    return text


def history_of(case: Mapping[str, Any]) -> tuple[EarlierCall, ...]:
    """The calls that were made before."""
    return tuple(
        EarlierCall(name, json.dumps(arguments), result) for name, arguments, result in case.get("history", ())
    )


def body_of(says: list[Any], kind: Kind, form: Form, step: int = 7) -> bytes:
    """The upstream's reply."""
    native = kind in {"lower", "process"}
    items: list[str | Call] = list(turn(says)) if native else [as_text(says)]
    texts = "".join(item for item in items if isinstance(item, str))
    calls = [item for item in items if isinstance(item, Call)]
    finish = "tool_calls" if calls else "stop"
    if form == "whole":
        message: dict[str, Any] = {"role": "assistant", "content": texts or None}
        if calls:
            message["tool_calls"] = [
                {"id": f"n{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for place, (name, arguments) in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps({**outer([choice]), "object": "chat.completion"}).encode()
    body = event(chunk(HEAD)) + b"".join(
        event(chunk({"content": texts[at : at + step]})) for at in range(0, len(texts), step)
    )
    for place, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        entries = [{"index": place, "id": f"n{place}", "type": "function", "function": function}]
        entries += [
            {"index": place, "function": {"arguments": arguments[at : at + step]}}
            for at in range(0, len(arguments), step)
        ]
        body += b"".join(event(chunk({"tool_calls": [entry]})) for entry in entries)
    return body + ending(finish)


def got(out: bytes, kind: Kind, form: Form) -> Choice:
    """What the client got. A text client reads its calls out of the text."""
    if form == "whole":
        (choice,) = json.loads(out)["choices"]
        message = choice["message"]
        calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
        found = Choice(message["content"] or "", "", choice["finish_reason"], calls)
    else:
        found = received(out).choices[0]
    if kind in {"lower", "roundtrip"}:
        assert found.calls == []
        reader = Reader(CallPolicy(Route(dialects=("invoke",)), Request(tools=TOOLS)))
        events = [*reader.feed(found.text), *reader.finish(cut=False)]
        assert not any(getattr(event, "repairs", ()) for event in events), "what is left does not stand by itself"
        found.text = "".join(event.text for event in events if type(event).__name__ == "Text")
        found.calls = [{"name": call.name, "arguments": call.arguments} for call in calls_in(events)]
    return found


def run(exchange: Exchange, body: bytes, step: int = 1 << 20) -> bytes:
    out = b"".join([exchange.feed(body[at : at + step]) for at in range(0, len(body), step)]) + exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    return out


def words(exchange: Exchange) -> list[str]:
    found = []
    for _, verdict in exchange.verdicts:
        assert verdict.reason is None or verdict.reason in REASONS
        status = (
            "changed" if verdict.changes and verdict.status != "blocked" and verdict.rule is None else verdict.status
        )
        status = "passed" if status in {"lifted", "lowered", "native"} else status
        found.append(" ".join(filter(None, (status, verdict.name, verdict.rule))))
    return found


def check(case: Mapping[str, Any], exchange: Exchange, found: Choice, kind: Kind) -> None:
    """Assert that a client found, and that the verdicts are, what the case says."""
    assert " ".join(found.text.split()) == case.get("text", "")
    assert [(call["name"], canonical(call["arguments"])) for call in found.calls] == [
        (name, canonical(arguments)) for name, arguments in turn(case.get("calls", []))
    ]
    as_text = kind in {"lower", "roundtrip"}
    assert found.finish == ("stop" if as_text and case["finish"] == "tool_calls" else case["finish"])
    assert sorted(words(exchange)) == sorted(case["verdicts"])
    assert [note.rule for _, note in exchange.notes] == case.get("notes", [])


ACTING = route_of(
    {
        "access": {"rules": [{"name": "rm", "action": "block", "tools": "Bash", "arguments": {"command": "\\brm\\b"}}]},
        "loops": {"action": "replace"},
        "filters": [{"name": "word", "literal": "secret", "replace": "[..]"}],
    }
)


def frames(*entries: dict[str, Any]) -> list[bytes]:
    return [event(chunk({"tool_calls": [entry]})) for entry in entries]


def native(index: int, name: str, *pieces: str) -> list[dict[str, Any]]:
    first = {"index": index, "id": f"n{index}", "type": "function", "function": {"name": name, "arguments": ""}}
    return [first, *({"index": index, "function": {"arguments": piece}} for piece in pieces)]
