"""What a streamed event costs in mitmdump, beside the floors of `floors.py`, all in one process and by turns; and
without a host, where it comes right after the one before, and where other code runs between the two.

Two processes of the same code differ by more than what is measured, and so does one machine from minute to minute. So
each round has one reply of every kind through each of them, in an order that is shuffled, and what is shown of the
addon is the median of its differences to `identity` in the same round.
"""

import json
import random
import time
from statistics import median

import floors
import h11
import host
import processors

from toolcalls.mitm.response_tap import ResponseTap

EVENTS = 2_000  # of a reply: what a reply costs as a whole is small beside them
ROUNDS = 40
LABELS = {"text": "plain text", "call": "inside a call in text", "native": "inside a native call"}
OURS = "toolcalls"
PATHS = {name: f"/{{}}/{name}" for name in floors.FLOORS} | {OURS: "/{}/v1/chat/completions"}


def asked(port, kind, name):
    """µs of mitmdump's CPU for each event of one reply."""
    before = host.cpu(port)
    got = host.ask(port, "POST", PATHS[name].format(kind), json.dumps(host.REQUEST))
    spent = host.cpu(port) - before
    converted = kind == "native" or (kind == "call" and name in ("rewriting", OURS))
    is_right = converted == (b"tool_calls" in got) or (kind, name) == ("text", "rewriting")
    if not got.endswith(b"[DONE]\n\n") or not is_right:
        raise SystemExit(f"{name} did not do its work on {kind}: {got[-200:]!r}")
    return spent / (EVENTS + 4) * 1e6


def measure(rounds=ROUNDS):
    """{(kind, name): µs for each round}."""
    served = host.replies(EVENTS)
    upstream = host.Upstream(served)
    pairs = [(kind, name) for kind in served for name in PATHS]
    seen = {pair: [] for pair in pairs}
    order = random.Random(1)
    with host.mitmdump([*host.ADDONS[OURS], host.HERE / "floors.py"], upstream.port) as port:
        for round_ in range(rounds + 2):
            order.shuffle(pairs)
            for pair in pairs:
                cost = asked(port, *pair)
                if round_ > 1:  # before, it is loaded, and Python specializes its code
                    seen[pair].append(cost)
    return seen


def tap(side):
    """What mitmproxy calls with each piece, where the upstream has calls as text or natively."""
    exchange = processors.exchange({"mend": ("protocol",), "loops": processors.LOOKS_ON}, side)
    return ResponseTap(exchange, form="sse", decoder=None, changes=True)


def other_work():
    """Some tens of µs of Python that has nothing to do with a reply: a request is made and written."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "127.0.0.1")]))
    connection.send(h11.EndOfMessage())


def without_host(rounds=15):
    """{(kind, name, whether other code runs between): µs for each event over one that does nothing, by round}."""
    seen = {}
    for _ in range(rounds):
        for kind, events in host.replies(1_000).items():
            made = {
                "identity": lambda data: data,
                "keeping": floors.keeping(),
                "rewriting": floors.rewriting(),
                OURS: tap("native" if kind == "native" else "text"),
            }
            for name, piece in made.items():
                for event in events[:50]:
                    piece(event)
                for half, is_between in ((events[50:500], False), (events[500:950], True)):
                    spent = _spent(piece, half, other_work if is_between else None)
                    seen.setdefault((kind, name, is_between), []).append(spent)
    return {
        key: [cost - floor for cost, floor in zip(costs, seen[key[0], "identity", key[2]], strict=True)]
        for key, costs in seen.items()
    }


def _spent(piece, events, between):
    before = time.process_time()
    for event in events:
        if between is not None:
            between()
        piece(event)
    return (time.process_time() - before) / len(events) * 1e6


def main():
    """Print both tables."""
    seen = measure()
    print("mitmdump: µs of CPU for each streamed event of about 200 bytes, by turns in one process: the least and the")
    print(f"median of {ROUNDS} replies of {EVENTS:,} events, and the median of what each costs over identity")
    for kind, label in LABELS.items():
        print(f"{label:28}{'least':>10}{'median':>10}{'over identity':>16}")
        for name in PATHS:
            costs = seen[kind, name]
            over = median(cost - floor for cost, floor in zip(costs, seen[kind, "identity"], strict=True))
            print(f"  {name:26}{min(costs):10.1f}{median(costs):10.1f}{over:16.1f}", flush=True)
    alone = without_host()
    print("without a host, µs over identity: one event right after the other, and with other code between them")
    for kind, label in LABELS.items():
        print(f"{label:28}{'alone':>10}{'between':>10}")
        for name in ("keeping", "rewriting", OURS):
            shown = "".join(f"{median(alone[kind, name, is_between]):10.1f}" for is_between in (False, True))
            print(f"  {name:26}{shown}", flush=True)
