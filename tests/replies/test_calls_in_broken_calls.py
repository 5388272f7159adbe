"""A call of any dialect inside a broken call: laws 2 and 6, live as whole.

Strategy: calls of every dialect are cut, and calls of every dialect are put into them, by a seed: as an argument, in
the middle of the markup, at the end. Each text is read whole and in pieces, and goes through every API as a stream, cut
anywhere, and as one body. Calls and verdicts are the same in all of them. The text is, too, but where a stream had
shown the beginning of a call before it broke: there the client keeps that, and the finish reason says that it lacks
its end.
"""

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random
from typing import Any, get_args

import pytest

from reliability.heard import Heard, heard
from support.damagedcalls import WIRES, streamed, whole
from support.exchanges import in_pieces, of_kind, run
from support.readings import verdicts
from support.sampling import DEEP, SEED
from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.events import Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in, write

TOOLS = (tool("Bash", command="string"), tool("Write", path="string", content="string"))
INSIDE = Call("Bash", '{"command": "ls -l"}')
AROUND = Call("Write", '{"path": "a.txt", "content": "VALUE"}')
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
LIVE: dict[str, Form] = {wire: "ndjson" if wire == "ollama" else "sse" for wire in WIRES}


@cache
def written(call: Call) -> dict[str, str]:
    """The call as each dialect writes it that can."""
    found = {}
    for dialect in all_dialects():
        try:
            found[dialect] = write(dialect, [call], Toolbox(TOOLS))
        except Unwritable:
            continue
    return found


def damaged(random: Random, around: str, inside: str) -> str:
    """A call with a call in it, one of them cut or both, and sometimes with a line after them."""
    if random.random() < 0.6:
        place = random.randrange(1, len(inside))
        inside = inside[:place] + random.choice(("", inside[random.randrange(place, len(inside)) :]))
    kind = random.random()
    if kind < 0.6 and "VALUE" in around:
        made = around.replace("VALUE", random.choice((f"x {inside}", f"\n{inside}\n")))
    else:
        place = random.randrange(1, len(around))
        made = around[:place] + inside + (around[place:] if kind < 0.8 else "")
    return made + random.choice(("", "", "\nDone.\n"))


def cases(dialect: str) -> Iterator[tuple[Random, str, Route]]:
    """Texts around which a call of this dialect stands, each with a route that reads it."""
    random = Random(f"{dialect} {SEED}")
    inner = sorted(written(INSIDE).items())
    for _ in range(40 if DEEP else 8):
        name, inside = random.choice(inner)
        dialects = random.choice((None, (dialect,), (dialect, name), (name,)))
        route = Route(client="native", upstream="text", dialects=dialects, policy=random.choice(POLICIES))
        yield random, damaged(random, written(AROUND)[dialect], inside), route


def read(route: Route, pieces: list[str]) -> tuple[str, list[Call], list[Verdict]]:
    reader = Reader(CallPolicy(route, Request(tools=TOOLS)))
    events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
    return "".join(event.text for event in events if isinstance(event, Text)), calls_in(events), verdicts(events)


@pytest.mark.parametrize("dialect", sorted(written(AROUND)))
def test_it_is_read_the_same_however_it_is_cut(dialect: str) -> None:
    for random, text, route in cases(dialect):
        once = read(route, [text])
        for size in (1, 2, random.randrange(3, 40)):
            assert read(route, [text[at : at + size] for at in range(0, len(text), size)]) == once, (text, route)
        assert all(isinstance(json.loads(call.arguments), dict) for call in once[1])


def judged(exchange: Exchange) -> list[tuple[Any, ...]]:
    return [(found.status, found.reason, found.name, found.start, found.end) for _, found in exchange.verdicts]


def sent(
    wire: str, form: Form, text: str, route: Route, size: int
) -> tuple[Heard, list[tuple[Any, ...]], bool, list[Any]]:
    """What a client hears; the verdicts; whether it has a call without an end; the calls that have one."""
    body = json.dumps(whole(wire, (), text)).encode() if form == "whole" else streamed(wire, (), text)
    once, again = (of_kind(all_wires()[wire], TOOLS, route, "lift", form=form) for _ in "12")
    out = run(once, [body])
    assert run(again, in_pieces(body, size)) == out
    complete = [(call.name, json.loads(call.arguments)) for _, call in once.client_calls if call.complete]
    is_open = any(not call.complete for _, call in once.client_calls)
    return heard(wire, form, out), judged(once), is_open, complete


@pytest.mark.parametrize("dialect", sorted(written(AROUND)))
def test_every_api_makes_the_same_of_it_live_and_whole(dialect: str) -> None:
    for random, text, route in islice(cases(dialect), None if DEEP else 3):
        for wire in WIRES:
            live, of_live, is_open, complete = sent(wire, LIVE[wire], text, route, random.randrange(1, 60))
            once, of_whole, also_open, also_complete = sent(wire, "whole", text, route, random.randrange(1, 60))
            assert of_live == of_whole, (wire, text, route)
            assert complete == also_complete, (wire, text, route)
            assert not live.behind, "what stands behind a finish reason no client looks for"
            if not is_open or also_open or all_wires()[wire].calls_are_whole:
                assert (live.text, live.finish) == (once.text, once.finish), (wire, text, route)
            for reply, open_ in ((live, is_open), (once, also_open)):
                if open_:
                    assert reply.finish in {"length", "max_tokens", "MAX_TOKENS", "incomplete"}, (wire, text, route)
                else:
                    assert reply.whole == complete, (wire, text, route)
