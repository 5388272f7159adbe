"""Recorded provider streams through an exchange that converts: none holds a text call, so each leaves byte for byte,
unless it is damaged itself.

Strategy: every stream of `shared/suites/streams/openai-chat.jsonl` with its own request, on a route that lifts. Fed as
a whole, in the chunks in which it was received, and in odd sizes that cut tags, line ends and characters; the verdicts
on its native calls must be the same each time (laws 1, 2, 4 and 10).
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from support.exchanges import as_received, in_pieces, of_request
from support.recordedstreams import DAMAGED
from support.repository import shared_path
from support.sampling import some
from toolcalls.events import Verdict
from toolcalls.requests.conversation import request_of
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["openai_chat"]


@cache
def recorded() -> list[dict[str, Any]]:
    lines = shared_path("suites/streams/openai-chat.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def body_of(row: dict[str, Any]) -> bytes:
    return str(row["body"]).encode("utf-8", "surrogatepass")


def through(row: dict[str, Any], pieces: Iterable[bytes]) -> tuple[bytes, list[tuple[int, Verdict]]]:
    request = request_of(WIRE, json.dumps(row.get("request") or {"messages": []}).encode())
    # Some recordings lost their content type, so the body says what it is.
    form: Form = "whole" if body_of(row).lstrip().startswith(b"{") else "sse"
    exchange = of_request(WIRE, request, form=form)
    assert exchange.decision.kind == "lift"
    out = b"".join([exchange.feed(piece) for piece in pieces]) + exchange.close()
    assert exchange.failure is None, f"{row['id']}: {exchange.failure!r}"
    return out, exchange.verdicts


@cache
def at_once(number: int) -> tuple[bytes, list[tuple[int, Verdict]]]:
    """What becomes of a recorded stream that comes as one piece."""
    row = recorded()[number]
    return through(row, [body_of(row)])


@pytest.mark.parametrize("way", ["whole", "as received", 7, 64, 997])
def test_a_recorded_stream_leaves_as_it_came(way: str | int) -> None:
    for number, row in some(list(enumerate(recorded())), 40, f"{way}"):
        body = body_of(row)
        if way == "whole":
            out, verdicts = at_once(number)
        else:
            pieces = in_pieces(body, way) if isinstance(way, int) else as_received(body, row.get("chunks") or [])
            out, verdicts = through(row, pieces)
        assert (out == body) == (row["id"] not in DAMAGED), row["id"]
        assert verdicts == at_once(number)[1], row["id"]


def test_every_native_call_has_a_verdict() -> None:
    for number, row in enumerate(recorded()):
        _, verdicts = at_once(number)
        native = [verdict for _, verdict in verdicts if verdict.dialect is None]
        assert len(native) == row["native_calls"], row["id"]
        assert all(verdict.status != "lifted" for _, verdict in verdicts), row["id"]
