"""Group: round trips. What a dialect writes reads back as the same call, on every wire; what it cannot hold it refuses.

And the way through both directions: a native call becomes text for a text client, and what that client has reads back
as the same call. Calls are those of a public benchmark with typed arguments, and strings that broke other programs.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from reliability import heard, invariants
from reliability.driving import driven
from reliability.faults import Faulted, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import Reply, chosen, rows_of, seed_of
from reliability.rows import Row
from reliability.said import KEYS, driven_cut, envelope_for, saying, with_tools
from support.chatclient import HEAD, chunk, ending, event
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import calls_in, write

READ = "round trips: text"
LOWERED = "round trips: native"
SHARE = 0.25  # of the samples that each dialect is tried with; all dialects together try each of them many times

type Sample = tuple[str, tuple[Tool, ...], tuple[Call, ...]]

_TEXT = Tool(
    "write_file", {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
)


@cache
def samples() -> tuple[Sample, ...]:
    """Calls with their tools, each with a name."""
    found: list[Sample] = []
    for row in rows_of("bfcl_calls.jsonl"):
        tools = tuple(Tool(tool["name"], tool.get("parameters") or {}) for tool in row["tools"])
        calls = tuple(Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in row["calls"])
        if calls:
            found.append((f"bfcl/{row['id']}", tools, calls))
    for row in rows_of("naughty_strings.jsonl"):
        arguments = json.dumps({"path": "a", "content": row["value"]}, ensure_ascii=False)
        found.append((f"naughty/{row['n']}", (_TEXT,), (Call(_TEXT.name, arguments),)))
    values = (
        "",
        " ",
        "\n",
        "a\nb\n",
        "</parameter>",
        "]]>",
        "<![CDATA[x]]>",
        "&lt;&amp;",
        '"\\',
        "\u2028",
        "é🙂",
        "```",
    )
    for number, value in enumerate(values):
        arguments = json.dumps({"path": "a", "content": value}, ensure_ascii=False)
        found.append((f"own/{number}", (_TEXT,), (Call(_TEXT.name, arguments),)))
    return tuple(found)


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for dialect in all_dialects():
        for start, end in parts(len(samples()), 400):
            yield Job(through, (dialect, start, end, fraction, seed))


def through(dialect: str, start: int, end: int, fraction: float, seed: int) -> list[Row]:
    """The samples from number `start` to `end` in one dialect, by both ways."""
    read, lowered = Tally(READ), Tally(LOWERED)
    for label, tools, calls in samples()[start:end]:
        name = f"{dialect}: {label} seed={seed}"
        if chosen(name, fraction * SHARE, seed):
            random = Random(seed_of(seed, name))
            read.count(name, _read_back(dialect, tools, calls, random))
            lowered.count(name, _lowered(dialect, tools, calls, random))
    return [read.row, lowered.row]


def _values(calls: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]


def _read_back(dialect: str, tools: tuple[Tool, ...], calls: tuple[Call, ...], random: Random) -> Iterator[Breach]:
    """The calls as text on some wire, lifted."""
    try:
        text = write(dialect, calls, Toolbox(tools))
    except Unwritable:
        return
    route = Route(client="native", upstream="text", policy="lenient", dialects=(dialect,), max_buffer_bytes=1 << 22)
    reply = saying(envelope_for(random.choice(KEYS), random), text, random)
    outcome, pieces = driven_cut(reply, random, with_tools(route, tools))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    if _values(outcome.complete) != _values(calls):
        yield Breach("lost", f"{outcome.complete} instead of {calls}")


def _lowered(dialect: str, tools: tuple[Tool, ...], calls: tuple[Call, ...], random: Random) -> Iterator[Breach]:
    """The calls natively, for a client that reads the dialect: as text that reads back, or as they came."""
    body = event(chunk(HEAD))
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": ""}
        body += event(
            chunk({"tool_calls": [{"index": index, "id": f"n{index}", "type": "function", "function": function}]})
        )
        half = len(call.arguments) // 2
        for piece in (call.arguments[:half], call.arguments[half:]):
            body += event(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    body += ending("tool_calls")
    request = json.dumps({"messages": [], "tools": [_openai(tool) for tool in tools]}).encode()
    reply = Reply("built", "/v1/chat/completions", "text/event-stream", request, body)
    pieces = some_cut(body, random)
    route = Route(client="text", upstream="native", client_dialect=dialect, multiple_calls=True)
    outcome = driven(reply, pieces, route=route)
    yield from invariants.sound(outcome, Faulted(body, pieces))
    said = heard.heard("openai_chat", "sse", outcome.out)
    route = Route(policy="lenient", dialects=(dialect,), max_buffer_bytes=1 << 22)
    reader = Reader(CallPolicy(route, Request(tools=tools), alone=True))
    read = calls_in([*reader.feed(said.text), *reader.finish(cut=False)])
    found = [*_values(read), *said.whole]
    if sorted(map(_canonical, found)) != sorted(map(_canonical, _values(calls))):
        yield Breach("lost", f"{found} instead of {calls}")


def _canonical(call: tuple[str, Any]) -> str:
    return json.dumps(call, sort_keys=True)


def _openai(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "parameters": tool.schema}}
