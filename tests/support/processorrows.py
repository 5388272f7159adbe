"""Rows of blocks or items, for processors on `anthropic` and `openai_responses`: what comes, what a client gets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from support import anthropicclient, responsesclient
from support.casefiles import canonical
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
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in, write

WIRES = ("anthropic", "openai_responses")
FORMS: tuple[Form, ...] = ("sse", "whole")
STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


@dataclass
class Got:
    """What a client got. `finish` is the hub's word, with "stop" for a completed response with calls."""

    text: str
    calls: list[tuple[str, str]]
    finish: str
    order: str
    open: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of each block or item


def exchange_for(
    wire: str, route: Route, kind: Kind, form: Form, history: tuple[EarlierCall, ...] = (), runner: Runner = no_reactors
) -> Exchange:
    return on_chat(route, kind, form, history, runner, wire)


# --- what an upstream sends -------------------------------------------------------------------------------------------


def pieces_of(text: str, step: int) -> list[str]:
    return [text[at : at + step] for at in range(0, len(text), step)]


def call(place: int, item: Mapping[str, Any], step: int) -> dict[str, Any]:
    written = item.get("json") or json.dumps(item["arguments"])
    return {
        "id": item.get("id", f"n{place}"), "name": item["call"], "json": written,
        "pieces": item.get("pieces", pieces_of(written, step)),
    }  # fmt: skip


def events(wire: str, row: list[Any], step: int, met: str = "") -> list[dict[str, Any]]:
    """The events of a row: texts, calls and thoughts."""
    natives = any(isinstance(item, dict) and "call" in item for item in row)
    if wire == "anthropic":
        blocks = []
        for place, item in enumerate(row):
            if isinstance(item, str):
                blocks.append(anthropicclient.text(*pieces_of(item, step)))
            elif "thinking" in item:
                blocks.append(anthropicclient.thinking(item["thinking"]))
            else:
                one = call(place, item, step)
                blocks.append(anthropicclient.call(f"toolu_{one['id']}", one["name"], *one["pieces"]))
        return anthropicclient.stream(blocks, STOPS[met or ("tool_calls" if natives else "stop")])
    items: list[Any] = []
    for place, item in enumerate(row):
        if isinstance(item, str):
            items.append(pieces_of(item, step))
        elif "thinking" in item:
            items.append({"type": "reasoning", "id": f"rs_{place}", "summary": [], "content": []})
        else:
            one = call(place, item, step)
            told = {"call_id": f"call_{one['id']}", "name": one["name"], "arguments": one["json"]}
            items.append({"type": "function_call", **told, "pieces": one["pieces"]})
    return responsesclient.stream(items, "incomplete" if met else "completed")


def sent(wire: str, form: Form, row: list[Any], step: int = 7, met: str = "") -> bytes:
    client: Any = anthropicclient if wire == "anthropic" else responsesclient
    made = events(wire, row, step, met)
    written: bytes = client.whole(made) if form == "whole" else client.written(made)
    return written


def row_of(says: list[Any], kind: Kind) -> list[Any]:
    """A model's turn as a row; where it writes its calls, one text."""
    if kind not in {"lower", "process"}:
        return [as_text(says)]
    return [
        item if isinstance(item, str) else {"call": item.name, "json": item.arguments} for item in turn(says)
    ]  # fmt: skip


# --- what a client gets -----------------------------------------------------------------------------------------------


def received(wire: str, form: Form, out: bytes) -> Got:
    if wire == "anthropic":
        one = anthropicclient.understood(json.loads(out)) if form == "whole" else anthropicclient.received(out)
        finish = {stop: word for word, stop in STOPS.items()}[one.stop or ""]
        made = [*one.calls, *one.open]
        calls = [(found["name"], found["arguments"]) for found in one.calls]
        open_, ids = [found["arguments"] for found in one.open], [found["id"] for found in made]
        texts = [block["text"] for block in one.blocks if block["type"] == "text"]
        return Got(one.text, calls, finish, one.order, open_, ids, texts)
    if form == "whole":
        two = responsesclient.Reply()
        responsesclient.take_items(two, json.loads(out))
    else:
        two = responsesclient.received(out)
    finish = "stop" if two.status == "completed" else "length"
    assert (two.reason == "max_output_tokens") == (finish == "length")
    calls = [(found["name"], found["arguments"]) for found in two.calls]
    ids = [found["id"] for found in [*two.calls, *two.open]]
    texts = ["".join(part["text"] for part in item["content"]) for item in two.items if item["type"] == "message"]
    return Got(two.text, calls, finish, two.order, [found["arguments"] for found in two.open], ids, texts)


def read_back(got: Got) -> Got:
    """What a text client reads out of its texts."""
    assert got.calls == []
    reader = Reader(CallPolicy(Route(dialects=("invoke",)), Request(tools=TOOLS)))
    found = [*reader.feed("\n\n".join(got.texts)), *reader.finish(cut=False)]
    assert not any(getattr(event, "repairs", ()) for event in found), "what is left does not stand by itself"
    text = "".join(event.text for event in found if isinstance(event, Text))
    return replace(got, text=text, calls=[(one.name, one.arguments) for one in calls_in(found)])


def finish_of(wire: str, word: str) -> str:
    return "stop" if wire == "openai_responses" and word == "tool_calls" else word


def same_calls(found: list[tuple[str, str]], expected: list[Any]) -> bool:
    wanted = [(name, canonical(arguments)) for name, arguments in turn(expected)]
    return [(name, canonical(arguments)) for name, arguments in found] == wanted


# --- the rows of cases ------------------------------------------------------------------------------------------------


def react(_: Reactor, call: Call) -> Answer:
    """Does what the command of a Bash call asks for."""
    answers: dict[str, Answer] = {
        "drop": Drop("Dropped."), "vanish": Drop(), "say": Say("Mind."),
        "edit": Edit(arguments={"command": "edited"}), "rename": Edit(name="read_file"),
    }  # fmt: skip
    return answers.get(str(call.arguments.get("command"))) if call.name == "Bash" else None


def own_exchange(wire: str, case: Mapping[str, Any], form: Form) -> Exchange:
    rules = dict(case["rules"])
    reactors = (Reactor("test.py", "react"),) if rules.pop("reactors", False) else ()
    route = route_of(rules)
    route = Route(access=route.access, loops=route.loops, filters=route.filters, reactors=reactors)
    return exchange_for(wire, route, case.get("kind", "process"), form, (), react)


def own_row(case: Mapping[str, Any]) -> list[Any]:
    row: list[Any] = []
    for item in case["reply"]:
        if isinstance(item, dict) and "text" in item:
            made = [one for one in turn([item["text"]]) if not isinstance(one, str)]
            row[-1] += "\n\n" + write("invoke", made, Toolbox(TOOLS))
        else:
            row.append(item)
    return row


def check(wire: str, case: Mapping[str, Any], got: Got, exchange: Exchange) -> None:
    if "texts" in case:
        assert got.text.startswith(case["texts"]["starts"])
        assert got.text.endswith(case["texts"]["ends"])
    else:
        assert got.text.rstrip() == case.get("text", "")
    assert same_calls(got.calls, case.get("calls", []))
    assert got.open == case.get("open", [])
    assert got.order == case["order"]
    assert got.finish == finish_of(wire, case["finish"])
    assert sorted(words(exchange)) == sorted(case["verdicts"])
    if "notes" in case:
        assert [note.rule for _, note in exchange.notes] == case["notes"]


def check_row(wire: str, case: Mapping[str, Any]) -> None:
    """Assert that a client gets what the case says of a streamed row, wherever the bytes are cut."""
    body = sent(wire, "sse", own_row(case), 7, case.get("met", ""))
    exchange = own_exchange(wire, case, "sse")
    out = run(exchange, body)
    check(wire, case, received(wire, "sse", out), exchange)
    assert (out == body) == case.get("same", False)
    for at in range(1, len(body), len(body) // 40):
        again = own_exchange(wire, case, "sse")
        assert again.feed(body[:at]) + again.feed(body[at:]) + again.close() == out, f"cut at {at}"
        assert again.failure is None
        assert again.verdicts == exchange.verdicts
    assert run(own_exchange(wire, case, "sse"), body, 1) == out


def check_whole(wire: str, case: Mapping[str, Any]) -> None:
    """Assert that a client gets what the case says of the same row as one body."""
    body = sent(wire, "whole", own_row(case), 7, case.get("met", ""))
    exchange = own_exchange(wire, case, "whole")
    out = run(exchange, body)
    check(wire, {**case, **case.get("whole", {})}, received(wire, "whole", out), exchange)
    assert (out == body) == case.get("same", False)
