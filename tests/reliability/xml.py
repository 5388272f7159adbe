"""Group: XML that attacks parsers (entities, external files, growth, CDATA), as text of a reply and inside a call.

As text it passes byte for byte. As a value that a dialect writes it reads back exactly; written raw into a parameter it
is read or refused in time that grows with its size, and text, calls and verdicts make up what was said.
"""

import json
from collections.abc import Iterator
from functools import cache
from random import Random

from reliability import invariants
from reliability.driving import LIFTS, driven
from reliability.faults import Faulted
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import body_in, chosen, rows_of, seed_of
from reliability.rows import Row
from reliability.said import KEYS, driven_cut, envelope_for, saying, with_tools
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing.writer import write

GROUP = "XML cases"
TOOL = Tool("write_file", {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}})
DIALECTS = ("forge", "invoke", "tagged", "morph_xml", "minimax_m3", "qwen3_xml", "glm_xml")
RAW = {
    "forge": "<tool><tool_name>write_file</tool_name><arguments><path>a</path><content>{}</content></arguments></tool>",
    "invoke": '<invoke name="write_file">\n<parameter name="path">a</parameter>\n'
    '<parameter name="content">{}</parameter>\n</invoke>',
    "tagged": "<write_file>\n<path>a</path>\n<content>{}</content>\n</write_file>",
}


@cache
def values() -> tuple[tuple[str, str], ...]:
    """The documents, and the suite's own values."""
    found = [(row["name"], body_in(row).decode(errors="replace")) for row in rows_of("xml_attacks.jsonl")]
    found += [(row["id"], row["value"]) for row in rows_of("threats.jsonl") if row["category"] == "argument-value"]
    found += [(f"w3c/{row['name']}", body_in(row).decode(errors="replace")) for row in rows_of("xml_w3c.jsonl")]
    return tuple(found)


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for start, end in parts(len(values()), 150):
        yield Job(over, (start, end, fraction, seed))


def over(start: int, end: int, fraction: float, seed: int) -> Row:
    """The values from number `start` to `end`."""
    tally = Tally(GROUP)
    for label, value in values()[start:end]:
        name = f"text={label} seed={seed}"
        if chosen(name, fraction, seed):
            tally.count(name, _as_text(value, Random(seed_of(seed, name))))
        for dialect in DIALECTS:
            name = f"{dialect}: {label} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _written(dialect, value, Random(seed_of(seed, name))))
        for dialect, raw in RAW.items():
            name = f"{dialect}, raw: {label} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _raw(raw.replace("{}", value), Random(seed_of(seed, name))))
    return tally.row


def _as_text(value: str, random: Random) -> Iterator[Breach]:
    reply = saying(envelope_for(random.choice(KEYS), random), f"As in:\n\n{value}", random)
    outcome, pieces = driven_cut(reply, random, with_tools(LIFTS, (TOOL,)))
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    yield from invariants.untouched(outcome, faulted)


def _written(dialect: str, value: str, random: Random) -> Iterator[Breach]:
    call = Call(TOOL.name, json.dumps({"path": "a", "content": value}, ensure_ascii=False))
    try:
        text = write(dialect, (call,), Toolbox((TOOL,)))
    except Unwritable:
        return
    route = Route(client="native", upstream="text", dialects=(dialect,), max_buffer_bytes=1 << 22)
    reply = saying(envelope_for(random.choice(KEYS), random), text, random)
    outcome, pieces = driven_cut(reply, random, with_tools(route, (TOOL,)))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    made = [(name, json.loads(arguments)) for name, arguments in outcome.complete]
    if made != [(call.name, json.loads(call.arguments))]:
        yield Breach("lost", f"{made} instead of {call}")


def _raw(text: str, random: Random) -> Iterator[Breach]:
    route = with_tools(LIFTS, (TOOL,))
    reply = saying(envelope_for(("openai_chat", "sse"), random), text, random)
    outcome, pieces = driven_cut(reply, random, route)
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    yield from invariants.same(outcome, driven(reply, [reply.body], route=route), cut=False)
    for name, arguments in outcome.complete:
        if name != TOOL.name or not isinstance(json.loads(arguments), dict):
            yield Breach("invented", f"{name} {arguments[:200]}")
    if not outcome.client_calls and outcome.out != reply.body:
        yield Breach("lost", "a reply without a call was changed")
