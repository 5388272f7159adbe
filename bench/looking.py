"""What somebody who looks costs the proxy: the views of a large exchange, and the page that tells of it.

mitmproxy asks for a view in its own loop, so all of a view's time is a pause of the proxy. The page works in a thread;
there the pause is how long the loop at most waits for its next turn, which Python's interpreter lock decides.
"""

import asyncio
import sys
from pathlib import Path
from time import perf_counter, process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mitmproxy import contentviews

from support.manyflows import flow_of, streamed, user, written
from toolcalls.flows.flow_records import record_of
from toolcalls.insight.turn import turn_of
from toolcalls.mitm.views import add_views

SIZES = (1_000_000, 10_000_000)  # bytes, about
ROUNDS = 5
_EVENT = 125  # bytes of an event with 4 characters of text


def _exchanges(size):
    """Exchanges of about `size` bytes: one with many events, with one long call, and with a long history."""
    text = "word " * (size * 4 // _EVENT // 5)
    call = written("Bash", command="x" * (size // 2))
    history = [user("say it again " * 400) for _ in range(size // 5_300)]
    return {
        "reply of many events": flow_of("events", [user("hi")], streamed(text, 4)),
        "reply of one long call": flow_of("call", [user("hi")], streamed(call, size // 200)),
        "request of many messages": flow_of("history", history, streamed("ok")),
    }


def _view(flow, name):
    message = flow.request if name == "Conversation" else flow.response
    data = message.get_content(strict=False) or b""
    return contentviews.registry[name].prettify(data, contentviews.Metadata(flow=flow, http_message=message))


def _cost(work):
    """The best of some rounds, in milliseconds of CPU."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return best * 1000


async def _pause(work):
    """The longest pause of the loop while `work` is done in a thread, in milliseconds by the clock."""
    worst = 0.0
    done = asyncio.Event()

    async def tick():
        nonlocal worst
        last = perf_counter()
        while not done.is_set():
            await asyncio.sleep(0.001)
            now = perf_counter()
            worst, last = max(worst, now - last), now

    ticking = asyncio.create_task(tick())
    await asyncio.to_thread(work)
    done.set()
    await ticking
    return worst * 1000


def measure():
    """Milliseconds by exchange, for each size: of the slowest view, and the page's longest pause."""
    add_views()
    costs = {}
    for size in SIZES:
        for name, flow in _exchanges(size).items():
            views = ("Conversation",) if name.startswith("request") else ("Tool calls", "Upstream body", "Client body")
            slowest = max(_cost(lambda flow=flow, view=view: _view(flow, view)) for view in views)
            exchange = record_of(flow)
            pause = min(asyncio.run(_pause(lambda one=exchange: turn_of(one))) for _ in range(ROUNDS))
            costs.setdefault(name, []).append((slowest, pause))
    return costs


def main():
    """Print the table."""
    print("Looking: ms that the proxy's loop pauses, for exchanges of 1 and of 10 MB: for a view (of CPU), and at most")
    print("while the page tells of it (by the clock: only on a machine that is idle does it say anything)")
    print(f"{'':28}{'view':>8}{'10 MB':>8}{'page':>10}{'10 MB':>8}")
    for name, ((view, page), (large_view, large_page)) in measure().items():
        print(f"{name:28}{view:8.1f}{large_view:8.1f}{page:10.1f}{large_page:8.1f}")


if __name__ == "__main__":
    main()
