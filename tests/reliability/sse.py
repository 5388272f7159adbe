"""Group: server-sent events as the specification's own tests and a contract test for clients spell them.

Each body passes byte for byte, however it is cut, and its events are those that the suite says.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from reliability import heard, invariants
from reliability.driving import LIFTS, driven
from reliability.faults import Faulted, cut_at, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally
from reliability.materials import Reply, body_in, chosen, rows_of, seed_of
from reliability.rows import Row
from toolcalls.wires.frames import SSE

GROUP = "SSE cases"
PLACES = {
    "/v1/chat/completions": b'{"messages": []}',
    "/v1/messages": b'{"messages": []}',
    "/v1/responses": b'{"input": []}',
    "/v1beta/models/m:streamGenerateContent?alt=sse": b'{"contents": []}',
}


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    yield Job(over, (fraction, seed))


def over(fraction: float, seed: int) -> Row:
    """All cases on every wire that has events, as they are cut in the suite, a byte at a time and anywhere."""
    tally = Tally(GROUP)
    for suite in ("sse_wpt.jsonl", "sse_launchdarkly.jsonl"):
        for number, row in enumerate(rows_of(suite)):
            if not {"chunks_b64", "body_b64"} & set(row):  # about connecting again, without a body
                continue
            chunks = [base64.b64decode(chunk) for chunk in row["chunks_b64"]] if "chunks_b64" in row else [body_in(row)]
            body = b"".join(chunks)
            for path, request in PLACES.items():
                name = f"{suite}:{number} {row['name']} path={path} seed={seed}"
                random = Random(seed_of(seed, name))
                every = cut_at(body, range(len(body))) if len(body) < 20_000 else (body,)
                for way in (tuple(chunks), (body,), every, some_cut(body, random)):
                    if chosen(f"{name} {len(way)}", fraction, seed):
                        reply = Reply(name, path, "text/event-stream", request, body)
                        tally.count(name, _breaches(reply, row, way))
    return tally.row


def _breaches(reply: Reply, row: Mapping[str, Any], pieces: Sequence[bytes]) -> Iterator[Breach]:
    outcome = driven(reply, pieces, route=LIFTS)
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    yield from invariants.untouched(outcome, faulted)
    if row.get("accept") is False:  # no event stream to a browser, by its type
        return
    splitter = SSE()
    frames = [frame for piece in pieces for frame in splitter.feed(piece)] + splitter.flush()
    found = [frame.data for frame in frames if frame.data is not None and frame.complete]
    wanted = [event["data"] for event in row["events"]]
    if [data.decode(errors="replace") for data in found] != wanted:
        yield Breach("lost", f"events {found} instead of {wanted}")
    if list(heard.events(reply.body, lenient=False)) != found:
        yield Breach("failed", "the run's own reading of events differs")
