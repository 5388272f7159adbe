"""A reply through the product, from the request's body to the bytes that a client gets: all but mitmproxy's network.

The way is the addon's own: the plan from the request and a configuration, the form from the content type, the decoder
from the content coding, and the tap that mitmproxy calls with every piece. What mitmproxy does around it is repeated
here: an empty piece at the end, or nothing any more and then `abort` where the connection broke.
"""

import gc
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from mitmproxy import http

from reliability.materials import Reply
from toolcalls.events import Verdict
from toolcalls.flows.content_codings import decoder_of
from toolcalls.flows.exchange_plan import ExchangePlan, plan_for, wire_for
from toolcalls.flows.reply_forms import form_of
from toolcalls.mitm.response_tap import ResponseTap
from toolcalls.replies.calls import ClientCall
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Config, Route

LIFTS = Route(client="native", upstream="text")
LIMIT = 60.0  # seconds of wall clock after which a reply counts as hanging


class Stalled(BaseException):
    """A reply did not come to its end. Not an `Exception`, which the product would rightly catch."""


@dataclass(frozen=True)
class Outcome:
    """What became of one reply.

    left       what left for each piece that came, and at the end
    upstream, client   both bodies as the tap keeps them for the flow
    held       the most bytes of frames that waited for undecided text, counted after each piece
    undecided  the most characters of text in one lane that waited, counted alike
    route      with the limits that hold
    slowest    CPU seconds that the slowest piece took; `size` is the number of bytes that it had
    failure    our own fault that the product caught, or one that came out of it
    """

    left: tuple[bytes, ...]
    upstream: bytes
    client: bytes
    verdicts: tuple[tuple[int, Verdict], ...]
    client_calls: tuple[tuple[int, ClientCall], ...]
    held: int
    undecided: int
    route: Route
    slowest: float
    size: int
    encoded: bool
    failure: BaseException | None

    @property
    def out(self) -> bytes:
        """What the client got."""
        return b"".join(self.left)

    @property
    def complete(self) -> list[tuple[str, str]]:
        """The complete calls: name and argument JSON."""
        return [(record.name, record.arguments) for _, record in self.client_calls if record.complete]


_MOST_PLANS = 32
_plans: dict[tuple[str, bytes, int], tuple[Route | Config, ExchangePlan]] = {}


def plan_of(path: str, request: bytes, route: Route | Config) -> ExchangePlan:
    """The plan for a request; it is frozen, so replies to the same request share it.

    A route with tools has no hash, so it is known by its identity, and kept, so that nothing else can get the same.
    """
    key = (path, request, id(route))
    if key not in _plans:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[key] = (route, _planned(path, request, route))
    return _plans[key][1]


def _planned(path: str, request: bytes, route: Route | Config) -> ExchangePlan:
    made = http.Request.make("POST", f"http://127.0.0.1{path}", request, {"content-type": "application/json"})
    wire = wire_for(made)
    if wire is None:
        raise LookupError(f"{path} is no path of a wire")
    return plan_for(wire, made, route if isinstance(route, Config) else Config(default=route))


def exchange_of(reply: Reply, route: Route | Config = LIFTS) -> Exchange:
    """A new reading of a reply, without a tap. Raises LookupError for one that is not read."""
    plan = plan_of(reply.path, reply.request, route)
    response = http.Response.make(200, b"", {"content-type": reply.content_type})
    form = form_of(plan.wire, http.Request.make("POST", f"http://127.0.0.1{reply.path}"), response)
    if form is None:
        raise LookupError(f"{reply.id}: {reply.content_type!r} is not read")
    return plan.exchange(form)


def tap_of(reply: Reply, route: Route | Config = LIFTS, coding: str = "") -> ResponseTap:
    """A new tap for a reply."""
    plan = plan_of(reply.path, reply.request, route)
    response = http.Response.make(200, b"", {"content-type": reply.content_type})
    form = form_of(plan.wire, http.Request.make("POST", f"http://127.0.0.1{reply.path}"), response)
    if form is None:
        raise LookupError(f"{reply.id}: {reply.content_type!r} is not read")
    decoder = decoder_of(coding, plan.call_policy.route.max_decoded_bytes)
    return ResponseTap(plan.exchange(form), form=form, decoder=decoder, changes=plan.may_change)


def driven(
    reply: Reply,
    pieces: Sequence[bytes],
    *,
    ends: bool = True,
    coding: str = "",
    route: Route | Config = LIFTS,
) -> Outcome:
    """Take a reply through. `pieces` are in the content coding `coding`; `ends`: the body ended, else it broke off."""
    tap = tap_of(reply, route, coding)
    left: list[bytes] = []
    held = undecided = size = 0
    exchange: Any = tap.exchange
    slowest = 0.0
    failure: BaseException | None = None
    gc.disable()  # what the collector spends on the streams that are kept here is not the addon's time
    try:
        with limited():
            for piece in pieces:
                if not piece:
                    continue
                before = time.thread_time()
                out = tap(piece)
                took = time.thread_time() - before
                if took > slowest:
                    slowest, size = took, len(piece)
                left.append(out if isinstance(out, bytes) else b"".join(out))
                if exchange._waiting:  # no public name says what waits
                    held = max(held, sum(len(unit.frame.raw) for unit in exchange._waiting))
                    waiting = (lane.undecided for lane in exchange._lanes.frames.values())
                    undecided = max(undecided, *waiting, 0)
            before = time.thread_time()
            if ends:
                out = tap(b"")
                left.append(out if isinstance(out, bytes) else b"".join(out))
            else:
                tap.abort()
            took = time.thread_time() - before
            if took > slowest:
                slowest, size = took, 0
    except (Exception, Stalled) as error:  # noqa: BLE001 - whatever it is, it is counted
        failure = error
    finally:
        gc.enable()
    return Outcome(
        left=tuple(left),
        upstream=tap.bodies.upstream.content() or b"",
        client=tap.bodies.client().content() or b"",
        verdicts=tuple(tap.exchange.verdicts),
        client_calls=tuple(tap.exchange.client_calls),
        held=held,
        undecided=undecided,
        route=tap.exchange.call_policy.route,
        slowest=slowest,
        size=size,
        encoded=tap.encoded,
        failure=failure or tap.exchange.failure,
    )


@contextmanager
def limited(seconds: float | None = None) -> Iterator[None]:
    """Raises `Stalled` in what takes longer, LIMIT if nothing is said. Only in a main thread."""
    most = LIMIT if seconds is None else seconds

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Stalled(f"no end after {most} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
