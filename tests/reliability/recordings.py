"""Group: recorded replies through a route that lifts and through the configuration that ships, cut in many ways.

None of the suite holds a call as text, so each leaves byte for byte. The project's own hold some; the client's bytes
are those of the day of the recording.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from mitmproxy.io import FlowReader

from reliability import invariants
from reliability.driving import LIFTS, Outcome, driven
from reliability.faults import Faulted, cut_at, some_cut
from reliability.invariants import Breach
from reliability.jobs import Job, Tally, parts
from reliability.materials import RECORDINGS, Reply, chosen, recorded, seed_of, untouched
from reliability.rows import Row
from support.recordedstreams import DAMAGED
from toolcalls.config import default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import decoded
from toolcalls.route import Config, Route
from toolcalls.wires import all_wires

GROUP = "recordings"
OWN = "recordings of the project"


def jobs(fraction: float, seed: int) -> Iterator[Job]:
    """The parts of this group."""
    for start, end in parts(len(list(untouched())), 100):
        yield Job(over, (start, end, fraction, seed))
    yield Job(over_own, (seed,))


def shipped() -> Config:
    """The configuration that ships with the addon."""
    return load(default_path(), list(all_dialects()), list(all_wires()))


def ways(reply: Reply, seed: int) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Ways of cutting a body."""
    body, places, at = reply.body, list[int](), 0
    for size in reply.chunks:
        at += size
        places.append(at)
    yield "whole", (body,)
    yield "as received", cut_at(body, places)
    for size in (1, 7, 64, 997):
        yield f"{size} bytes", tuple(body[start : start + size] for start in range(0, len(body), size))
    yield "anywhere", some_cut(body, Random(seed_of(seed, reply.id)))


def over(start: int, end: int, fraction: float, seed: int) -> Row:
    """The recorded replies from number `start` to `end`."""
    tally = Tally(GROUP)
    config = shipped()
    for reply in list(untouched())[start:end]:
        for way, pieces in ways(reply, seed):
            name = f"stream={reply.id} cut={way} seed={seed}"
            if chosen(name, fraction, seed):
                tally.count(name, _breaches(reply, pieces, LIFTS))
        name = f"stream={reply.id} the configuration that ships, seed={seed}"
        if chosen(name, fraction, seed):
            tally.count(name, _breaches(reply, [reply.body], config))
    return tally.row


def _breaches(reply: Reply, pieces: Any, route: Route | Config) -> Iterator[Breach]:
    outcome = driven(reply, pieces, route=route)
    faulted = Faulted(reply.body, tuple(pieces))
    yield from invariants.sound(outcome, faulted)
    if reply.id.rpartition("/")[2] not in DAMAGED:  # what a route mends by default leaves mended
        yield from invariants.untouched(outcome, faulted)
    yield from invariants.same(outcome, driven(reply, [reply.body], route=route), cut=False)
    natives = [verdict for _, verdict in outcome.verdicts if verdict.dialect is None and verdict.index is not None]
    if reply.natives is not None and len(natives) != reply.natives:
        yield Breach("failed", f"I7 {len(natives)} verdicts on {reply.natives} native calls")


def over_own(seed: int) -> Row:
    """The project's recordings: what the client gets now is what it got then."""
    tally = Tally(OWN)
    config = shipped()
    then = dict(_own())
    for reply in recorded():
        if reply.id in then:
            client, cut = then[reply.id]
            for way, pieces in ways(reply, seed):
                outcome = driven(reply, pieces, route=config, ends=not cut)
                tally.count(f"stream={reply.id} cut={way}", _as_then(outcome, pieces, client))
    return tally.row


def _as_then(outcome: Outcome, pieces: tuple[bytes, ...], client: bytes) -> Iterator[Breach]:
    yield from invariants.sound(outcome, Faulted(b"".join(pieces), pieces))
    # A LF that is cut from its CR stays, where the event that it closed goes.
    if outcome.out != client and not (b"\r" in client and outcome.out.split() == client.split()):
        yield Breach("lost", "the client's bytes are not those of the recording")


def _own() -> Iterator[tuple[str, tuple[bytes, bool]]]:
    """By name: what the client got of each recorded flow, without coding, and whether it was cut off."""
    for path in sorted(RECORDINGS.glob("*.flow")):
        with path.open("rb") as file:
            flows: list[Any] = list(FlowReader(file).stream())
        for flow in flows:
            content = decoded(flow.response.raw_content or b"", flow.response.headers.get("content-encoding", ""))
            body = bytes(flow.metadata.get(flow_metadata.UPSTREAM, content))
            observed = flow.metadata[flow_metadata.REPORT]["kind"] == "observe"
            yield f"recordings/{path.stem}", (body if observed else content, flow.error is not None)
