"""Fail open: an exception anywhere in the core, and the client still gets every byte of the upstream exactly once.

Every internal call of an exchange is made to fail in turn, the first time, the second time and so on, before it does
its work, over the same reply cut in different ways. The reply holds nothing that is converted, so what leaves must be
what came, whatever was under way when the fault struck.
"""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from chatclient import HEAD, chunk, ending, event
from toolcalls.envelope import Envelope
from toolcalls.evidence import Decision, terms_of
from toolcalls.exchange import Exchange
from toolcalls.lane import Lane
from toolcalls.ledger import Ledger
from toolcalls.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
REQUEST = Request(tools=(Tool("Bash", SCHEMA),))
TEXT = [
    "hel",
    "lo wor",
    "ld <",
    "b> x\n",
    "<inv",
    'oke name="Nope">',
    '<parameter name="a">',
    "1</parameter>",
    "</invoke>",
    " by",
]
FRAMES = [event(chunk(HEAD)), *(event(chunk({"content": piece})) for piece in TEXT), ending("stop")]
REPLY = b"".join(FRAMES)
CUTS = {
    "a frame each": FRAMES,
    "all at once": [REPLY],
    "37 bytes": [REPLY[at : at + 37] for at in range(0, len(REPLY), 37)],
    "260 bytes": [REPLY[at : at + 260] for at in range(0, len(REPLY), 260)],
}
CODEC = type(all_wires()["openai_chat"].codec(streamed=True))
PLACES = [
    *((Exchange, name) for name in ("_settle", "_read", "_await", "_lane", "_native", "_apply", "_place", "_account")),
    *((Exchange, name) for name in ("_probe", "_bytes")),
    *((Lane, name) for name in ("text", "native", "finish", "cut", "_record", "_placed", "_lowered", "_reason")),
    *((Reader, name) for name in ("passes", "read", "finish", "_events", "_text", "_separator", "_block", "_grammar")),
    *((Ledger, name) for name in ("begin", "end", "_verdict", "pause", "show")),
    *((Envelope, name) for name in ("text_of", "learn")),
    *((CODEC, name) for name in ("decode", "encode", "_chunks", "_choice")),
]


class Fault(Exception):
    """What is thrown in."""


def exchange() -> Exchange:
    """An exchange that changes nothing, since its route observes."""
    decision = Decision("observe", "native", "native", None, ())
    terms, tools = terms_of(Route(), REQUEST, decision)
    return Exchange(all_wires()["openai_chat"], terms, decision, tools, form="sse", seed=b"test")


def faults(owner: type, name: str) -> Iterator[tuple[str, int, bytes]]:
    """What leaves, for each way of cutting and for a fault in each call of `name`, until no call is left to fail."""
    whole = owner.__dict__[name]
    static = isinstance(whole, staticmethod)
    original = whole.__func__ if static else whole
    for cut, pieces in CUTS.items():
        for number in range(1, 100):
            calls = 0

            def failing(*args: object, _number: int = number, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == _number:
                    raise Fault(name)
                return original(*args, **kwargs)

            with patch.object(owner, name, staticmethod(failing) if static else failing):
                one = exchange()
                out = b"".join(one.feed(piece) for piece in pieces) + one.close()
            if calls < number:
                break
            assert isinstance(one.failure, Fault)
            yield cut, number, out


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=[f"{owner.__name__}.{name}" for owner, name in PLACES])
def test_every_byte_leaves_once(owner: type, name: str) -> None:
    for cut, number, out in faults(owner, name):
        assert out == REPLY, f"{cut}, call {number}"


def test_the_faults_strike() -> None:
    """The table above would prove nothing if its places were not on the way of this reply."""
    struck = {name for owner, name in PLACES if next(faults(owner, name), None) is not None}
    assert struck >= {"_settle", "_read", "_lane", "_apply", "_account", "_probe", "text", "finish", "passes", "read"}
    assert struck >= {
        "_text",
        "_block",
        "_grammar",
        "begin",
        "end",
        "_verdict",
        "pause",
        "show",
        "text_of",
        "learn",
        "decode",
    }
