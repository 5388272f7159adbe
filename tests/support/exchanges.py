"""Exchanges for tests: of a case, of a request or of a kind; bytes through them in pieces; their verdicts as words."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any

from support.sampling import DEEP, some
from toolcalls.events import CallStart, Event, Reasoning, Text, Verdict
from toolcalls.processors import Processors
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.reading_ahead import reasoning_ends
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Decision, Kind, call_policy_of, decide
from toolcalls.route import VTC_CLIENT_PATTERNS, Route
from toolcalls.text.markdown import Position
from toolcalls.wires import Wire
from toolcalls.wires.frames import Form

_APART = 24  # bytes between two cuts
LIFTING = Route(client="native", upstream="text")


def of_request(
    wire: Wire,
    request: Request,
    route: Route = LIFTING,
    *,
    form: Form,
    seed: bytes = b"",
    patterns: tuple[str, ...] = (),
    processors: Processors | None = None,
) -> Exchange:
    """The exchange that the evidence of a request decides on."""
    decision = decide(route, request, {}, patterns)
    call_policy, tools = call_policy_of(route, request, decision)
    return Exchange(wire, call_policy, decision, tools, form=form, seed=seed, processors=processors)


def of_case(wire: Wire, case: Mapping[str, Any], body: Mapping[str, Any], form: Form) -> Exchange:
    """The exchange of a case: its `route`, and its `request` over the members of `body`."""
    request = request_of(wire, json.dumps({**body, **case.get("request", {})}).encode())
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in case.get("route", {}).items()}
    route = Route(**{"client": "native", "upstream": "text", **given})
    return of_request(wire, request, route, form=form, seed=b"a request", patterns=VTC_CLIENT_PATTERNS)


def of_kind(
    wire: Wire,
    tools: tuple[Tool, ...],
    route: Route,
    kind: Kind,
    *,
    form: Form,
    dialect: str = "invoke",
    upstream: str | None = None,
    processors: Processors | None = None,
) -> Exchange:
    """An exchange of this kind, whatever the evidence says; a text client speaks `dialect`."""
    client = "text" if kind in {"lower", "roundtrip"} else "native"
    decision = Decision(kind, client, upstream or route.upstream, dialect if client == "text" else None, ())
    call_policy, toolbox = call_policy_of(route, Request(tools=tools, model="m"), decision)
    return Exchange(wire, call_policy, decision, toolbox, form=form, seed=b"s", processors=processors)


def run(exchange: Exchange, pieces: Iterable[bytes], *, ends: bool = True) -> bytes:
    """What leaves when these pieces come, and then the end, or none."""
    out = b"".join([exchange.feed(piece) for piece in pieces])
    out += exchange.close() if ends else exchange.abort()
    assert exchange.failure is None, repr(exchange.failure)
    return out


def outcome(made: Exchange, pieces: Iterable[bytes], *, ends: bool) -> tuple[Any, ...]:
    """What leaves after each piece and at the end, the verdicts, the notes, and the calls that the client is given."""
    left = [made.feed(piece) for piece in pieces]
    left.append(made.close() if ends else made.abort())
    calls = [(number, call.name, call.arguments, call.complete) for number, call in made.client_calls]
    assert made.failure is None or isinstance(made.failure, OverflowError), repr(made.failure)
    return left, made.verdicts, made.notes, calls


def in_pieces(body: bytes, size: int = 0) -> list[bytes]:
    """A body in pieces of `size` bytes, 0 for one piece."""
    return [body[at : at + size] for at in range(0, len(body), size)] if size else [body]


def as_received(body: bytes, sizes: Iterable[int]) -> list[bytes]:
    """A body in the pieces in which it was recorded; what comes after them is one more."""
    ends = list(accumulate(sizes))
    return [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]


def same_wherever_it_is_cut(
    made: Callable[[], Exchange], body: bytes, *, step: int = 1, seen: Callable[[bytes], object] = bytes
) -> None:
    """Assert that a body leaves as one that comes whole wherever it is cut: in many places, in one, and byte by byte.

    Each place is a cut in one of `_APART` runs. At every eighth of the `step`th places it is the only one, at six of
    those in a sampled run, and at each place in `make test-long`.

    seen   what counts of what leaves
    """
    expected = made()
    out = seen(run(expected, [body]))
    many = [(f"cut at {first} and so on", [*range(first, len(body), _APART)]) for first in range(1, _APART + 1)]
    one = [(f"cut at {at}", [at]) for at in range(1, len(body), 1 if DEEP else 8 * step)]
    for way, cuts in [*some(many, 2, body), *some(one, 6, body)]:
        exchange = made()
        pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
        assert seen(run(exchange, pieces)) == out, way
        assert exchange.verdicts == expected.verdicts, way
    assert seen(run(made(), in_pieces(body, 1))) == out


def words(exchange: Exchange) -> list[str]:
    """The verdicts in the short form of the case files: status, reason, name and dialect."""
    return [
        " ".join(filter(None, (one.status, one.reason, one.name or "-", one.dialect and f"({one.dialect})")))
        for _, one in exchange.verdicts
    ]


def taken(found: Iterable[tuple[int, Verdict]]) -> bool:
    """Whether anything of the reply was changed."""
    return any(verdict.status in {"lifted", "lowered"} or verdict.index is not None for _, verdict in found)


def in_blocks(events: Iterable[Event]) -> str:
    """The text that is shown, without what would be a block of white space alone: the API refuses that in a history."""
    rows = [""]
    for event in events:
        if isinstance(event, Text):
            rows[-1] += event.text
        elif isinstance(event, CallStart | Reasoning):
            rows.append("")
    return "".join(row for row in rows if row.strip()) if len(rows) > 1 else rows[0]


def only_whole_knows(exchange: Exchange, texts: Iterable[str]) -> bool:
    """Whether the texts of a message began inside reasoning, and only one who has all of them can know it.

    A stream has let out by then what is in front of the closer (`replies/reading_ahead.py`).
    """
    parts = [(lane, Text(text)) for lane, text in enumerate(texts)]
    policy = exchange.call_policy
    if not policy.lift or policy.takes("reasoning") or policy.requires("terminal"):
        return False
    return bool(reasoning_ends(parts, lambda place: Reader(policy, place=place), Position(), joined=True))
