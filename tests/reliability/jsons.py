"""Group: JSON of every kind, good and bad: as the payload of a frame, as a whole body, and as the arguments of a call.

A payload that is none of a wire passes as it is. Arguments that are strict JSON leave as they were written, and of all
others nothing but one JSON object is ever called a complete call.
"""

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from reliability import invariants
from reliability.driving import LIFTS, driven
from reliability.faults import Faulted, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import Reply, body_in, chosen, rows_of, seed_of
from reliability.rows import Row
from reliability.said import driven_cut, envelope_for, saying, with_tools
from toolcalls.request import Tool

GROUP = "JSON cases"
PLACES = (
    ("/v1/chat/completions", "text/event-stream", b'{"messages": []}'),
    ("/v1/chat/completions", "application/json", b'{"messages": []}'),
    ("/v1/messages", "text/event-stream", b'{"messages": []}'),
    ("/v1/messages", "application/json", b'{"messages": []}'),
    ("/v1/responses", "text/event-stream", b'{"input": []}'),
    ("/v1/responses", "application/json", b'{"input": []}'),
    ("/v1beta/models/m:streamGenerateContent", "application/json", b'{"contents": []}'),
    ("/v1beta/models/m:generateContent", "application/json", b'{"contents": []}'),
    ("/api/chat", "application/x-ndjson", b'{"messages": []}'),
)


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    yield Job(as_payloads, (fraction, seed))
    yield Job(as_arguments, (fraction, seed))


def as_payloads(fraction: float, seed: int) -> Row:
    """Each case as a frame, as a whole body, as an element, as a line."""
    tally = Tally(GROUP)
    for row in rows_of("json_jsontestsuite.jsonl"):
        for path, content_type, request in PLACES:
            name = f"payload={row['name']} path={path} type={content_type} seed={seed}"
            if not chosen(name, fraction, seed):
                continue
            case = body_in(row)
            body = b"data: " + case + b"\n\ndata: [DONE]\n\n" if content_type == "text/event-stream" else case
            reply = Reply(name, path, content_type, request, body)
            pieces = some_cut(body, Random(seed_of(seed, name)))
            tally.count(name, _passes(reply, pieces))
    return tally.row


def _passes(reply: Reply, pieces: tuple[bytes, ...]) -> Iterator[Breach]:
    outcome = driven(reply, pieces, route=LIFTS)
    faulted = Faulted(reply.body, pieces)
    yield from invariants.sound(outcome, faulted)
    yield from invariants.untouched(outcome, faulted)
    yield from invariants.same(outcome, driven(reply, [reply.body], route=LIFTS), cut=False)


def as_arguments(fraction: float, seed: int) -> Row:
    """Each case, and the suite's own arguments, as those of a call: as the object itself, and as a value in one."""
    tally = Tally(GROUP)
    given = [(row["name"], body_in(row).decode(errors="replace")) for row in rows_of("json_jsontestsuite.jsonl")]
    given += [(row["id"], row["value"]) for row in rows_of("threats.jsonl") if row["category"] == "json-arguments"]
    for label, case in given:
        for form, arguments in (("whole", case), ("value", f'{{"value": {case}}}')):
            for turn in range(3):
                name = f"arguments={label} as {form} turn={turn} seed={seed}"
                if chosen(name, fraction, seed):
                    tally.count(name, _called(arguments, Random(seed_of(seed, name))))
    return tally.row


def _called(arguments: str, random: Random) -> Iterator[Breach]:
    text = f'<tool_call>\n{{"name": "Any", "arguments": {arguments}}}\n</tool_call>'
    reply = saying(envelope_for(("openai_chat", "sse"), random), text, random)
    outcome, pieces = driven_cut(reply, random, with_tools(LIFTS, (Tool("Any"),)))
    yield from invariants.sound(outcome, Faulted(reply.body, tuple(pieces)))
    yield from invariants.same(outcome, driven(reply, [reply.body], route=with_tools(LIFTS, (Tool("Any"),))), cut=False)
    value = _strict(arguments)
    made = outcome.complete
    for _, told in made:
        if not isinstance(_strict(told), dict):
            yield Breach("invented", f"a complete call with {told[:200]!r}")
    # Law 11: strict JSON leaves as it was written. Deep nesting is the only reason not to read it.
    deep = not made and arguments.count("[") + arguments.count("{") >= 400
    if value and isinstance(value, dict) and made != [("Any", arguments.strip())] and not deep:
        yield Breach("lost", f"arguments {made} instead of {arguments[:200]!r}")


def _strict(text: str) -> Any:
    """What strict JSON means; None for anything else."""

    def refused(_: str) -> None:
        raise ValueError("no constant of JSON")

    try:
        found: Mapping[str, Any] | Any = json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError):
        return None
    return found
