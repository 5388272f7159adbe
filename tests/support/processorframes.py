"""Replies frame by frame, for processors on `gemini` and `ollama`, whose calls come whole."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support import geminiclient, ollamaclient
from support.processorcases import TOOLS, as_text, no_reactors, route_of, run, turn, words
from support.processorcases import exchange_for as on_chat
from toolcalls.events import Text
from toolcalls.processors import Call, Drop, EarlierCall, Edit, Say
from toolcalls.processors.reactors import Answer, Runner
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.evidence import Kind
from toolcalls.route import Reactor, Route
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in

FORMS: list[tuple[str, Form]] = [
    ("gemini", "sse"), ("gemini", "json_array"), ("gemini", "whole"), ("ollama", "ndjson"), ("ollama", "whole"),
]  # fmt: skip


@dataclass
class Got:
    """What a client got."""

    text: str
    calls: list[tuple[str, str]]
    finish: str | None
    order: str
    numbers: list[int] = field(default_factory=list)


def exchange_for(
    wire: str, route: Route, kind: Kind, form: Form, history: tuple[EarlierCall, ...] = (), runner: Runner = no_reactors
) -> Exchange:
    return on_chat(route, kind, form, history, runner, wire)


def sent(wire: str, form: Form, frames: list[Any], finish: bool = True) -> bytes:
    """An upstream's frames: lists of parts (`gemini`), or messages (`ollama`)."""
    if wire == "gemini":
        ends = [geminiclient.reply([""], "STOP")] if finish else []
        replies = [*map(geminiclient.reply, frames), *ends]
        if form == "whole":
            replies = [geminiclient.reply([part for frame in frames for part in frame], "STOP")]
        return geminiclient.body_of(replies, form if form != "ndjson" else "sse")
    if form != "whole":
        return ollamaclient.body_of(
            [*map(ollamaclient.line, frames), *([ollamaclient.line("", "stop")] if finish else [])]
        )
    message: dict[str, Any] = {"content": ""}
    for frame in frames:
        for key, new in ({"content": frame} if isinstance(frame, str) else frame).items():
            message[key] = message[key] + new if key in message else new
    return ollamaclient.body_of([ollamaclient.line(message, "stop")], b"")


def frames_of(wire: str, says: list[Any], kind: Kind, step: int) -> list[Any]:
    """A model's turn as frames: text in pieces of `step` characters, calls one a frame."""
    items: list[Any] = list(turn(says)) if kind in {"lower", "process"} else [as_text(says)]
    text = "".join(item for item in items if isinstance(item, str))
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    calls = [(item.name, json.loads(item.arguments)) for item in items if not isinstance(item, str)]
    if wire == "gemini":
        return [*([piece] for piece in pieces), *([{"functionCall": {"name": n, "args": a}}] for n, a in calls)]
    return [*pieces, *({"tool_calls": [ollamaclient.call(n, a, index=at)]} for at, (n, a) in enumerate(calls))]


def received(wire: str, form: Form, out: bytes) -> Got:
    if wire == "gemini":
        one = geminiclient.received(out, form if form != "ndjson" else "sse").candidates[0]
        return Got(one.text, [(n, json.dumps(a)) for n, a in one.calls], one.finish, one.order)
    two = ollamaclient.received(out, whole=form == "whole")
    return Got(two.text, [(n, json.dumps(a)) for n, a in two.calls], two.finish, two.order, two.numbers)


def read_back(got: Got) -> Got:
    """What a text client reads out of its text."""
    assert got.calls == []
    reader = Reader(CallPolicy(Route(dialects=("invoke",)), Request(tools=TOOLS)))
    events = [*reader.feed(got.text), *reader.finish(cut=False)]
    text = "".join(event.text for event in events if isinstance(event, Text))
    return Got(text, [(call.name, call.arguments) for call in calls_in(events)], got.finish, got.order)


# --- the frames of cases ----------------------------------------------------------------------------------------------


def reactors(names: list[str]) -> tuple[tuple[Reactor, ...], Runner]:
    """The test's own reactors; they are for Bash."""
    dropped: list[str] = []

    def react(reactor: Reactor, call: Call) -> Answer:
        if call.name != "Bash":
            return None
        if reactor.function == "drop_once":
            dropped.append(call.name)
            return Drop() if len(dropped) == 1 else None
        answers: dict[str, Answer] = {
            "drop": Drop(), "edit": Edit(arguments={"command": "edited"}), "rename": Edit(name="read_file"),
            "say": Say("Mind."),
        }  # fmt: skip
        return answers[reactor.function]

    return tuple(Reactor("test.py", name) for name in names), react


def own_exchange(wire: str, case: Mapping[str, Any], form: Form) -> Exchange:
    rules = dict(case["rules"])
    made, runner = reactors(rules.pop("reactors", []))
    route = route_of(rules)
    route = Route(access=route.access, loops=route.loops, filters=route.filters, reactors=made)
    return exchange_for(wire, route, case.get("kind", "process"), form, (), runner)


def normal(wire: str, frames: list[Any]) -> list[Any]:
    if wire == "gemini":
        return [[geminiclient.part(item) for item in frame] for frame in frames]
    return [
        {"role": "assistant", "content": "", **({"content": one} if isinstance(one, str) else one)} for one in frames
    ]


def contents(wire: str, form: Form, out: bytes) -> list[Any]:
    """The parts of each frame, or its message; without the last one, which says why the reply ended."""
    if wire == "ollama":
        lines = [json.loads(line) for line in out.splitlines()]
        assert lines[-1]["done"]
        return [line["message"] for line in lines[:-1]]
    if form == "json_array":
        replies = json.loads(out)
    else:
        replies = [json.loads(event.removeprefix("data: ")) for event in re.split(r"\r\n\r\n", out.decode()) if event]
    assert replies[-1]["candidates"][0]["finishReason"] == "STOP"
    return [one["candidates"][0]["content"]["parts"] for one in replies[:-1]]


def parts_joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for part in parts:
        if joined and set(part) == set(joined[-1]) == {"text"}:
            joined[-1] = {"text": joined[-1]["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def check_frames(wire: str, case: Mapping[str, Any]) -> None:
    """Assert that a client gets what the case says, frame by frame, wherever the bytes are cut."""
    form: Form = "sse" if wire == "gemini" else "ndjson"
    body = sent(wire, form, case["reply"])
    exchange = own_exchange(wire, case, form)
    out = run(exchange, body)
    got = received(wire, form, out)
    assert sorted(words(exchange)) == sorted(case["verdicts"])
    assert (out == body) == case.get("same", False)
    if "gets" in case:
        assert contents(wire, form, out) == normal(wire, case["gets"])
        assert got.order == case["order"]
    assert got.numbers == [] or got.numbers == list(range(len(got.calls)))
    for at in range(1, len(body), 3):
        again = own_exchange(wire, case, form)
        cut = again.feed(body[:at]) + again.feed(body[at:]) + again.close()
        assert again.failure is None
        assert cut.split() == out.split(), f"cut at {at}"
        assert again.verdicts == exchange.verdicts
    single = run(own_exchange(wire, case, form), body, 1)
    assert received(wire, form, single) == got


def check_array(case: Mapping[str, Any]) -> None:
    """Assert that Gemini's array has the same outcome as its events."""
    body, events = (sent("gemini", form, case["reply"]) for form in ("json_array", "sse"))
    out = run(own_exchange("gemini", case, "json_array"), body)
    assert received("gemini", "json_array", out) == received(
        "gemini", "sse", run(own_exchange("gemini", case, "sse"), events)
    )
    assert (out == body) == case.get("same", False)
    assert run(own_exchange("gemini", case, "json_array"), body, 1) == out


def check_whole(wire: str, case: Mapping[str, Any]) -> None:
    """Assert that a client gets what the case says of the same reply as one body."""
    exchange = own_exchange(wire, case, "whole")
    out = run(exchange, sent(wire, "whole", case["reply"]), 40)
    received(wire, "whole", out)
    assert sorted(words(exchange)) == sorted(case["verdicts"])
    if wire == "gemini":
        (candidate,) = json.loads(out)["candidates"]
        assert parts_joined(candidate["content"]["parts"]) == normal(wire, [case["whole"]])[0]
        assert candidate["finishReason"] == "STOP"
    else:
        assert json.loads(out)["message"] == normal(wire, [case["whole"]])[0]
        assert json.loads(out)["done_reason"] == "stop"
