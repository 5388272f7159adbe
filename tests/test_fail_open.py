"""Fail open: an exception anywhere in the core, and the client still gets every byte of the upstream exactly once.

Every internal call of an exchange is made to fail in turn, the first time, the second time and so on, before it does
its work, over the same reply cut in different ways. The reply holds nothing that is converted, so what leaves must be
what came, whatever was under way when the fault struck. First on one wire, cut in many ways; then on every wire, by an
exchange that lifts; then where a call is lifted, which must never come out twice or end by itself; then in the hooks.
"""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from mitmproxy import http
from mitmproxy.test import taddons, tflow, tutils

from chatclient import HEAD, chunk, ending, event
from live import EVENTS, LIMIT, PATH, Reply, asked, flows_in, mitmdump, streamed, upstream
from spoken import SPOKEN, Spoken
from spoken import exchange as lifting
from toolcalls.envelope import Envelope
from toolcalls.evidence import Decision, terms_of
from toolcalls.exchange import Exchange
from toolcalls.lane import Lane
from toolcalls.ledger import Ledger
from toolcalls.mitm.addon import ToolCalls
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


# --- every wire -------------------------------------------------------------------------------------------------------

SPOKEN_PLACES = [
    *((Exchange, name) for name in ("_read", "_await", "_lane", "_apply", "_account", "_bytes", "_move", "_lead")),
    *((Lane, name) for name in ("text", "finish", "_outcomes", "_reason")),
    *((Reader, name) for name in ("read", "finish", "_text", "_block")),
    *((Ledger, name) for name in ("begin", "end", "_verdict", "pause", "show")),
    *((None, name) for name in ("decode", "encode")),  # of the wire's codec
]


def struck(
    spoken: Spoken, owner: type | None, name: str, pieces: list[bytes], tools: tuple[Tool, ...]
) -> Iterator[bytes]:
    """What leaves, for a fault in each call of `name`, until no call is left to fail."""
    owner = owner or type(all_wires()[spoken.wire].codec(streamed=True))
    original = next(base.__dict__[name] for base in owner.__mro__ if name in base.__dict__)
    static = isinstance(original, staticmethod)
    whole = original.__func__ if static else original
    for number in range(1, 60):
        calls = 0

        def failing(*args: object, _number: int = number, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            if calls == _number:
                raise Fault(name)
            return whole(*args, **kwargs)

        with patch.object(owner, name, staticmethod(failing) if static else failing):
            one = lifting(spoken, tools)
            out = b"".join(one.feed(piece) for piece in pieces) + one.close()
        if calls < number:
            return
        assert isinstance(one.failure, Fault)
        yield out


def cut_in(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
def test_every_byte_leaves_once_on_every_wire(spoken: Spoken) -> None:
    body = spoken.said(TEXT)
    seen = set()
    for owner, name in SPOKEN_PLACES:
        for size in (len(body), 90):
            for number, out in enumerate(struck(spoken, owner, name, cut_in(body, size), REQUEST.tools)):
                seen.add(name)
                assert out == body, f"{name}, pieces of {size}, call {number + 1}"
    assert seen >= {"_read", "_apply", "text", "finish", "_block", "begin", "decode"}


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
def test_a_fault_inside_a_call_completes_nothing(spoken: Spoken) -> None:
    """What leaves before the fault is the beginning of what leaves without it; behind it comes what is owed, raw."""
    call = '<invoke name="Bash"><parameter name="command">ls -la</parameter></invoke>'
    body = spoken.said(["Look.\n\n", *(call[at : at + 8] for at in range(0, len(call), 8))])
    pieces = cut_in(body, 70)
    good = lifting(spoken, REQUEST.tools)
    whole = b"".join(good.feed(piece) for piece in pieces) + good.close()
    assert whole != body
    for owner, name in SPOKEN_PLACES:
        for out in struck(spoken, owner, name, pieces, REQUEST.tools):
            same = next(
                (at for at, (left, right) in enumerate(zip(out, whole, strict=False)) if left != right), len(out)
            )
            owed = (out[same:], out[out.rfind(b"\n", 0, same) + 1 :])
            assert body.endswith(owed), (name, out[same:])


# --- the hooks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", ["plan_for", "form_of", "decoder_of", "report.of", "store.annotate", "store.keep_bodies", "wire_for"]
)
def test_a_fault_in_a_hook_takes_nothing_of_the_reply(place: str) -> None:
    """mitmproxy logs what a hook raises, and the traffic passes; so no hook may raise with half of its work done."""
    addon = ToolCalls()
    with taddons.context(addon) as context:
        context.configure(addon)
        flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode(), content=asked()), resp=True)
        flow.live = True
        flow.response = http.Response.make(200, b"", EVENTS)
        flow.response.raw_content = None
        pieces = streamed("nothing to lift here: a < b")
        with patch(f"toolcalls.mitm.addon.{place}", side_effect=Fault(place)):
            for hook in (addon.requestheaders, addon.request, addon.responseheaders):
                with suppress(Fault):
                    hook(flow)
            stream: Any = flow.response.stream
            out = [stream(piece) for piece in [*pieces, b""]] if callable(stream) else pieces
            with suppress(Fault):
                addon.response(flow)
    assert b"".join(piece if isinstance(piece, bytes) else b"".join(piece) for piece in out) == b"".join(pieces)


def test_a_reply_under_way_when_mitmproxy_is_stopped_is_marked_as_cut(tmp_path: Path) -> None:
    """SIGTERM in the middle of a call's arguments: the client's call stays open, and the recording says so."""
    call = '<invoke name="Bash"><parameter name="command">ls -la'
    path = tmp_path / "out.flow"
    reply = Reply(streamed(f"Look.\n\n{call}", 7, reason=None), hold=8)
    with upstream(reply) as server, mitmdump(tmp_path, "-w", str(path), to=server.url) as dump:
        body = asked()
        with socket.create_connection(("127.0.0.1", dump.port), LIMIT) as client:
            head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            received = b""
            while b"-la" not in received and (piece := client.recv(65536)):
                received += piece
            dump.stop()
    (flow,) = flows_in(path)
    assert flow.error is not None
    assert "stopped" in flow.error.msg
    assert [(one["status"], one["reason"]) for one in flow.metadata["toolcalls"]["verdicts"]] == [
        ("truncated", "cut_off")
    ]
