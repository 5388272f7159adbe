"""Fail open: an exception anywhere in the core, and the client still gets every byte of the upstream exactly once.

Every internal call of an exchange is made to fail in turn, the first time, the second time and so on, before it does
its work, over the same reply cut in different ways. The reply holds nothing that is converted, so what leaves must be
what came, whatever was under way when the fault struck. First on one wire, cut in many ways; then on every wire, by an
exchange that lifts; then where a call is lifted, which must never come out twice or end by itself; then in the hooks.
The tables name the functions that matter most, and strike each of their calls; beside them every function that such a
reply reaches at all is found by itself, and struck in some of its calls, so that a new one is not forgotten.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import pytest
from mitmproxy import http
from mitmproxy.test import taddons, tflow, tutils

import toolcalls
from support.chatclient import HEAD, chunk, ending, event
from support.loopback import EVENTS, PATH, asked, streamed
from support.sampling import SAMPLED, a_few, some
from support.spoken import SPOKEN, Spoken, through
from support.spoken import exchange as lifting
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.processors import Keep, Processors
from toolcalls.reading.attempts import Attempts
from toolcalls.reading.between import Between
from toolcalls.reading.block import Block
from toolcalls.reading.ledger import Ledger
from toolcalls.reading.passing import Passing
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.frame_writing import FrameWriter
from toolcalls.replies.known_frames import KnownFrames
from toolcalls.replies.lane import Lane
from toolcalls.replies.lanes import Lanes
from toolcalls.replies.stages.end import Finishing
from toolcalls.replies.stages.judge import Judge
from toolcalls.replies.stages.number import Number
from toolcalls.replies.stages.write import Write
from toolcalls.replies.waiting import FrameQueue, LaneFrames
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.wires import all_wires
from toolcalls.wires.envelope import Envelope
from toolcalls.wires.openai_chat.decoding import Reading, latest

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
    *((Exchange, name) for name in ("_take", "_text_alone", "_write")),
    *((Lanes, name) for name in ("take", "of")),
    *((KnownFrames, name) for name in ("learn", "learn_text", "_text_in")),
    (FrameWriter, "written"),
    *((LaneFrames, name) for name in ("text", "native", "apply_at_once", "expect_text", "apply", "_place", "_decide")),
    *((Lane, name) for name in ("text", "native", "finish", "_through")),
    *((Number, name) for name in ("feed", "_from_text", "_client_call")),
    *((Write, "_written_natives"), (Judge, "finish"), (Finishing, "_fitting")),
    *((Reader, name) for name in ("read", "finish", "_events")),
    (Passing, "passes"),
    *((Between, name) for name in ("text", "separator")),
    *((Attempts, name) for name in ("read", "_grammar")),
    *((Block, name) for name in ("begin", "end")),
    *((Ledger, name) for name in ("judge", "pause", "show")),
    *((Envelope, name) for name in ("text_of", "learn")),
    *((CODEC, name) for name in ("decode", "encode", "_chunks")),
    *((Reading, name) for name in ("events", "_choice")),
]


class Fault(Exception):
    """What is thrown in."""


def exchange() -> Exchange:
    """An exchange that changes nothing, since its route observes."""
    decision = Decision("observe", "native", "native", None, ())
    call_policy, tools = call_policy_of(Route(), REQUEST, decision)
    return Exchange(all_wires()["openai_chat"], call_policy, decision, tools, form="sse", seed=b"test")


def struck(owner: type, name: str, made: Callable[[], Exchange], pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What leaves, for a fault in each call of `name`, until no call is left to fail."""
    original = next(base.__dict__[name] for base in owner.__mro__ if name in base.__dict__)
    static = isinstance(original, staticmethod)
    whole = original.__func__ if static else original
    for number in range(1, 100):
        calls = 0

        def failing(*args: object, _number: int = number, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            if calls == _number:
                raise Fault(name)
            return whole(*args, **kwargs)

        with patch.object(owner, name, staticmethod(failing) if static else failing):
            one = made()
            out = b"".join(one.feed(piece) for piece in pieces) + one.close()
        if calls < number:
            return
        assert isinstance(one.failure, Fault)
        yield out


def faults(owner: type, name: str) -> Iterator[tuple[str, int, bytes]]:
    """The same for each way of cutting the reply, with the number of the call that fails."""
    for cut, pieces in CUTS.items():
        for number, out in enumerate(struck(owner, name, exchange, pieces), 1):
            yield cut, number, out


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=[f"{owner.__name__}.{name}" for owner, name in PLACES])
def test_every_byte_leaves_once(owner: type, name: str) -> None:
    for cut, number, out in faults(owner, name):
        assert out == REPLY, f"{cut}, call {number}"


def test_the_faults_strike() -> None:
    """The table above would prove nothing if its places were not on the way of this reply."""
    places = {(owner, name) for owner, name in PLACES if next(faults(owner, name), None) is not None}
    assert places >= {(Passing, "passes"), (Between, "text"), (Attempts, "read")}
    struck = {name for _, name in places}
    assert struck >= {
        "take",
        "of",
        "_take",
        "_text_alone",
        "_write",
        "written",
        "_text_in",
        "apply_at_once",
        "apply",
        "_decide",
    }
    assert struck >= {"text", "finish", "_fitting", "passes", "read"}
    assert struck >= {
        "_grammar",
        "begin",
        "end",
        "judge",
        "pause",
        "show",
        "text_of",
        "learn",
        "decode",
        "events",
        "_choice",
    }


# --- every wire -------------------------------------------------------------------------------------------------------

SPOKEN_PLACES = [
    *((Exchange, name) for name in ("_take", "_move", "_write")),
    *((Lanes, name) for name in ("take", "of")),
    (FrameWriter, "written"),
    *((LaneFrames, name) for name in ("text", "expect_text", "apply", "_decide")),
    *((FrameQueue, name) for name in ("append", "applied")),
    *((Lane, name) for name in ("text", "finish", "_through")),
    (Finishing, "_fitting"),
    *((Reader, name) for name in ("read", "finish")),
    *((part, name) for part, name in ((Between, "text"), (Attempts, "read"))),
    *((Block, name) for name in ("begin", "end")),
    *((Ledger, name) for name in ("judge", "pause", "show")),
    *((None, name) for name in ("decode", "encode")),  # of the wire's codec
]


def struck_on(
    spoken: Spoken, owner: type | None, name: str, pieces: list[bytes], tools: tuple[Tool, ...]
) -> Iterator[bytes]:
    """The same on any wire, whose codec the owner is where none is named."""
    owner = owner or type(all_wires()[spoken.wire].codec(streamed=True))
    return struck(owner, name, lambda: lifting(spoken, tools), pieces)


def cut_in(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
def test_every_byte_leaves_once_on_every_wire(spoken: Spoken) -> None:
    body = spoken.said(TEXT)
    seen = set()
    for owner, name in some(SPOKEN_PLACES, 6, f"every byte, {spoken.wire}"):
        for size in (len(body), 90):
            for number, out in enumerate(struck_on(spoken, owner, name, cut_in(body, size), REQUEST.tools)):
                seen.add(name)
                assert out == body, f"{name}, pieces of {size}, call {number + 1}"
    assert SAMPLED or seen >= {"_take", "_move", "text", "apply", "finish", "read", "begin", "decode"}


@pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)
def test_a_fault_inside_a_call_completes_nothing(spoken: Spoken) -> None:
    """What leaves before the fault is the beginning of what leaves without it; after it comes what is owed, raw."""
    call = '<invoke name="Bash"><parameter name="command">ls -la</parameter></invoke>'
    body = spoken.said(["Look.\n\n", *(call[at : at + 8] for at in range(0, len(call), 8))])
    pieces = cut_in(body, 70)
    good = lifting(spoken, REQUEST.tools)
    whole = b"".join(good.feed(piece) for piece in pieces) + good.close()
    assert whole != body
    for owner, name in some(SPOKEN_PLACES, 6, f"inside a call, {spoken.wire}"):
        for out in struck_on(spoken, owner, name, pieces, REQUEST.tools):
            same = next(
                (at for at, (left, right) in enumerate(zip(out, whole, strict=False)) if left != right), len(out)
            )
            owed = (out[same:], out[out.rfind(b"\n", 0, same) + 1 :])
            assert body.endswith(owed), (name, out[same:])


# --- every function ---------------------------------------------------------------------------------------------------

PACKAGE = str(Path(toolcalls.__file__).parent)
ENTRANCES = {"Exchange.feed", "Exchange.close", "Exchange._end"}  # where nothing has begun yet
NEARER = {"_Known.learn", "_Condition.holds", "plain", "_answer"}  # a rule, and a reactor, fails by itself
NATIVE = [
    {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": ""}},
    *({"index": 0, "function": {"arguments": piece}} for piece in ('{"comm', 'and": "l', 's"}')),
]
# Closing a generator resumes it, and so strikes it. Nobody can catch that fault; Python reports it as unraisable.
CLOSED_GENERATORS = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <generator:pytest.PytestUnraisableExceptionWarning"
)
KEPT = {  # processors that take part, and change nothing
    "access": Access((AccessRule("any", "allow", arguments=(Condition("*", matches="never"),)),)),
    "loops": Loops(action="replace"),
    "reactors": (Reactor("none.py", "keep"),),
    "filters": (Filter("never", literal="never said", calls=True), Filter("x", pattern="x[yz]{3}", max_length=9)),
}


@contextmanager
def called(look: Callable[[CodeType], None]) -> Iterator[None]:
    """Calls `look` with the code of each function of the package that begins or goes on; what it raises, that does."""

    def profile(frame: FrameType, happened: str, _: object) -> None:
        if happened == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            look(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


def everywhere(make: Callable[[], Exchange], body: bytes, size: int) -> Iterator[tuple[CodeType, int, Exchange, bytes]]:
    """What leaves, for a fault in two calls of every function: of the first two, one in the middle and the last.

    `make test-long` takes all four; a sampled run takes 50 functions, and one call of each.
    """
    through(make(), body, size)  # what is made once for all is made here
    counts: Counter[CodeType] = Counter()
    one = make()
    latest.cache_clear()
    with called(lambda code: counts.update([code])):
        through(one, body, size)
    codes = [code for code in counts if code.co_qualname not in ENTRANCES and not code.co_name.startswith("<")]
    assert len(codes) > 100
    for code in some(codes, 50, body):
        count = counts[code]
        numbers = sorted({1, min(2, count), (count + 1) // 2, count})
        for number in some(a_few(numbers, 2, code.co_qualname), 1, code.co_qualname):
            left = number

            def strike(met: CodeType, code: CodeType = code) -> None:
                nonlocal left
                left -= met is code
                if met is code and left == 0:
                    raise Fault(code.co_qualname)

            one = make()
            latest.cache_clear()  # else a function that was called once is not called again
            with called(strike):
                out = through(one, body, size)
            yield code, number, one, out


def struck_everywhere(make: Callable[[], Exchange], body: bytes, size: int) -> set[str]:
    """The functions that were struck; fails where not every byte left once."""
    found: set[str] = set()
    for code, number, one, out in everywhere(make, body, size):
        assert out == body, f"{code.co_filename}: {code.co_qualname}, call {number}"
        told = isinstance(one.failure, Fault) or code.co_qualname in NEARER or code.co_flags & inspect.CO_GENERATOR
        assert told, f"{code.co_filename}: {code.co_qualname}, call {number}"
        found.add(code.co_qualname)
    return found


@CLOSED_GENERATORS
@pytest.mark.parametrize(("name", "size"), [*((name, 90) for name in SPOKEN), ("openai_chat", 1000)])
def test_a_fault_in_any_function_loses_nothing(name: str, size: int) -> None:
    spoken = SPOKEN[name]
    found = struck_everywhere(lambda: lifting(spoken, REQUEST.tools), spoken.said(TEXT), size)
    assert SAMPLED or found >= {"Exchange._take", "Lanes.take", "Lane.text", "Reader.read", "Block.begin"}


@CLOSED_GENERATORS
@pytest.mark.parametrize("processed", [False, True], ids=["observed", "processed"])
def test_a_fault_in_any_function_beside_a_native_call_loses_nothing(processed: bool) -> None:
    body = b"".join([*FRAMES[:-1], *(event(chunk({"tool_calls": [entry]})) for entry in NATIVE), ending("tool_calls")])

    def make() -> Exchange:
        if not processed:
            return exchange()
        processors = Processors(Route(**KEPT), run=lambda *_: Keep())
        return lifting(SPOKEN["openai_chat"], REQUEST.tools, processors=processors)

    found = struck_everywhere(make, body, 90)
    assert SAMPLED or found >= {"LaneFrames.native", "Lane.native", "Reading._choice", "Reading._native"}
    assert (
        SAMPLED
        or not processed
        or found
        >= {
            "Chain.native",
            "CallDecisions.add_piece",
            "CallDecisions.end",
            "Reactors.react",
            "Filters.feed",
        }
    )


# --- the hooks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        *(f"mitm.exchanges.{name}" for name in ("plan_for", "form_of", "decoder_of", "wire_for")),
        "mitm.reporting.report.make_report",
        *("flows.flow_metadata.annotate", "flows.flow_metadata.store_bodies"),
    ],
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
        with patch(f"toolcalls.{place}", side_effect=Fault(place)):
            for hook in (addon.requestheaders, addon.request, addon.responseheaders):
                with suppress(Fault):
                    hook(flow)
            stream: Any = flow.response.stream
            out = [stream(piece) for piece in [*pieces, b""]] if callable(stream) else pieces
            with suppress(Fault):
                addon.response(flow)
    assert b"".join(piece if isinstance(piece, bytes) else b"".join(piece) for piece in out) == b"".join(pieces)
