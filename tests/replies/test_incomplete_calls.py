"""A call that lacks its end never looks whole (law 6), also where its argument object closes before the call does.

Strategy: calls of every dialect are cut at every place, and broken there: something is between, characters are
missing, or the rest is. Each text is read whole and character by character, as a reply that ended and as one that was
cut off. A call without its end has arguments that are neither a JSON object nor empty, which many clients run as one.
Then such texts go through every API as a stream. Whatever arguments a client can parse belong to a call that the same
reply has when it comes whole.
"""

import json
from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

from reliability.heard import ENDS, heard
from support.damagedcalls import WIRES, streamed, whole
from support.exchanges import in_pieces, of_kind, run
from support.sampling import AMOUNT, DEEP, SEED
from support.strategies import tool
from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import write

TOOLS = (tool("Bash", command="string"), tool("Write", path="string", content="string", mode="integer"), tool("Now"))
BASH = Call("Bash", '{"command": "ls"}')
MESSAGES = (
    (BASH,),
    (BASH, Call("Write", '{"path": "a}", "mode": 7}')),
    (Call("Write", '{"content": "{\\"a\\": [1]}", "path": "b"}'),),
    (Call("Now", "{}"),),
)
BETWEEN = ("oops", "}", "]", '"', "<", "\n", ",", "{", "</x>", " x")
COUNT = {"quick": 4, "mutate": 4, "some": 8}.get(AMOUNT, 200 if DEEP else 7)

type Delivered = list[tuple[str, str, bool]]  # a call's name, its argument text, whether it ended


@cache
def written(dialect: str) -> tuple[str, ...]:
    """The messages as the dialect writes them, without those that it cannot."""
    found = []
    for calls in MESSAGES:
        try:
            found.append(write(dialect, list(calls), Toolbox(TOOLS)))
        except Unwritable:
            continue
    return tuple(found)


def broken(text: str, random: Random) -> Iterator[str]:
    """The text cut at each place, and some more that break there, more of them towards its end."""
    places = range(1, len(text) + 1)
    for at in random.sample(places, min(COUNT, len(places))):
        yield text[:at]
        yield text[:at] + random.choice(BETWEEN) + random.choice(("", text[at:], text[at + 1 :], text[at + 2 :]))
    last = text.rfind("}") + 1 or len(text)  # where an object closes that the call goes on after
    for at in range(max(1, last - 2), min(last + 3, len(text) + 1)):
        yield text[:at]
        yield text[:at] + random.choice(BETWEEN)


def route(dialect: str, random: Random) -> Route:
    return Route(client="native", upstream="text", dialects=(dialect,) if random.random() < 0.7 else None)


def delivered(of: Route, pieces: list[str], *, cut: bool) -> Delivered:
    reader = Reader(CallPolicy(of, Request(tools=TOOLS)))
    names, arguments, ended = dict[int, str](), dict[int, str](), set[int]()
    for event in [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=cut)]:
        if isinstance(event, CallStart):
            names[event.index], arguments[event.index] = event.name, ""
        elif isinstance(event, CallPiece):
            assert event.index not in ended
            arguments[event.index] += event.json
        elif isinstance(event, CallEnd):
            ended.add(event.index)
    return [(names[index], arguments[index], index in ended) for index in names]


def is_whole(arguments: str) -> bool:
    """Whether a client that runs what it can parse would run this."""
    if not arguments:
        return True
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


@pytest.mark.parametrize("dialect", [dialect for dialect in all_dialects() if written(dialect)])
def test_a_call_without_its_end_has_no_whole_arguments(dialect: str) -> None:
    random = Random(f"{dialect} {SEED}")
    for message in written(dialect):
        for text in broken(message, random):
            of, cut = route(dialect, random), random.random() < 0.5
            for pieces in ([text], list(text)):
                for name, arguments, ended in delivered(of, pieces, cut=cut):
                    assert is_whole(arguments) == ended, (name, arguments, text, cut, len(pieces))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("dialect", [dialect for dialect in all_dialects() if written(dialect)])
def test_what_a_client_can_run_is_a_call_of_the_whole_reply_too(dialect: str, wire: str) -> None:
    random = Random(f"{dialect} {wire} {SEED}")
    texts = [text for message in written(dialect) for text in broken(message, random)]
    for text in random.sample(texts, min(COUNT, len(texts))):
        of = route(dialect, random)
        size = random.randrange(0, 60)
        form: Form = "ndjson" if wire == "ollama" else "sse"
        once, live = (of_kind(all_wires()[wire], TOOLS, of, "lift", form=one) for one in ("whole", form))
        run(once, [json.dumps(whole(wire, (), text)).encode()])
        out = run(live, in_pieces(streamed(wire, (), text), size))
        found = heard(wire, form, out)
        taken = [(call.name, json.loads(call.arguments)) for _, call in once.client_calls if call.complete]
        runs = [(name, json.loads(arguments or "{}")) for name, arguments in found.calls if is_whole(arguments)]
        assert runs == taken, (wire, text, of)
        assert len(runs) == len(found.calls) or found.finish not in ENDS
