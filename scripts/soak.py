"""`make soak`: what a day of traffic costs in memory.

    .venv/bin/python scripts/soak.py [--replies 20000] [--control] [--no-page] [--seed 0]

Starts a real mitmweb with the addon on loopback, with a scripted upstream after it, and opens both of its pages in a
headless Chromium: the flow list and `/toolcalls`. Then replies of mixed size pass (`KINDS`), eight at a time, half of
them in each of two parts:

kept      mitmweb keeps every flow, as it does until somebody clears them. Memory grows with the traffic, by nature:
          mitmweb keeps the bodies. What counts is how many bytes of memory a byte of the traffic costs.
cleared   the flows are cleared a few hundred at a time. What memory grows by now stays for ever, so nothing may.

`--control` does the same without the addon, to compare with. Prints a table and exits 1 where a bound is broken. Memory
is that of the mitmweb process (Linux only), once what nobody uses has been given back (`soak_addon.py`).
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).parents[1]
sys.path[:0] = [str(REPO / "addon"), str(REPO / "tests"), str(REPO / "scripts")]

from reliability.live_kit import (  # noqa: E402 - only now they are on the path
    MEGABYTE,
    PLAIN,
    Got,
    ask,
    served,
)
from support.loopback import CALL, EVENTS, MAIN, PATH, TOOLS, Dump, Reply, chunk, streamed, whole  # noqa: E402
from support.screens import PASSWORD, Web, browser, missing_for_browser, reserved_port  # noqa: E402

CLEAR = "/soak/clear"
AT_ONCE = 8
ROUNDS = 10  # of each part

# The bounds.
PER_BYTE = 2.5  # bytes of memory for each byte of the traffic, while mitmweb keeps the flows
PER_REPLY = 24 * 1024  # and for each reply: mitmweb's own objects, the report, the times of the pieces
STAYS = 2 * MEGABYTE  # for each 1,000 replies, once their flows are cleared
NOISE = 8 * MEGABYTE  # that the process may take or give back without any of this; matters in short runs only


# --- what passes ------------------------------------------------------------------------------------------------------


def _call(value: str) -> str:
    head, tail = CALL.split("ls -la")
    return f"{head}{value}{tail}"


def _native() -> list[bytes]:
    function = {"name": "Bash", "arguments": '{"command": "ls -la"}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    end = [chunk({}, "tool_calls"), b"data: [DONE]\n\n"]
    return [chunk({"role": "assistant", "content": None}), chunk({"tool_calls": [call]}), *end]


_JSON = {"content-type": "application/json"}
_LINES = "echo 0123456789 abcdefghij\n"
# What the upstream says, and how often in a hundred replies.
KINDS: dict[str, tuple[int, Reply]] = {
    "chat": (50, Reply(streamed(PLAIN * 4), dict(EVENTS))),
    "call": (20, Reply(streamed(f"Let me look.\n\n{CALL}"), dict(EVENTS))),
    "native": (10, Reply(_native(), dict(EVENTS))),
    "quoted": (6, Reply(streamed(f"Like this:\n\n```xml\n{CALL}\n```\n"), dict(EVENTS))),
    "whole": (6, Reply([whole(f"Let me look.\n\n{CALL}")], _JSON, framing="length")),
    "error": (2, Reply([b'{"error": {"message": "overloaded"}}'], _JSON, status=503, framing="length")),
    "value": (4, Reply(streamed(f"Now:\n\n{_call(_LINES * 7500)}", 2000), dict(EVENTS))),
    "text": (1, Reply(streamed(PLAIN * 15_000, 2000), dict(EVENTS))),
    "wide": (1, Reply(streamed(f"All:\n\n{_call(_LINES * 70_000)}", 4000), dict(EVENTS))),
}


def request_of(number: int) -> bytes:
    """A request's body: the next turn of a session of 20, whose conversation grows by a result of 2 KB with each."""
    session, turn = divmod(number, 20)
    messages = [{"role": "user", "content": f"Session {session}: look after the files, one by one."}]
    for past in range(turn):
        messages.append({"role": "assistant", "content": f"I looked at file {past} of session {session}."})
        messages.append({"role": "user", "content": f"File {past} of {session} says:\n" + "x y z\n" * 330})
    body = {"model": "m", "stream": True, "messages": messages, "tools": TOOLS, "prompt_cache_key": f"s{session}"}
    return json.dumps(body).encode()


# --- what is measured -------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """The process after so many replies of a part. `traffic` is bytes: of the requests, and of both bodies."""

    replies: int
    traffic: int
    memory: int


@dataclass
class Part:
    """One part of the run, as it was measured."""

    name: str
    samples: list[Sample] = field(default_factory=list)

    def growth(self) -> int:
        """Bytes from the first sample to the last."""
        return self.samples[-1].memory - self.samples[0].memory

    def slope(self) -> float:
        """Bytes that a reply adds, by least squares."""
        count = len(self.samples)
        middle = sum(one.replies for one in self.samples) / count
        mean = sum(one.memory for one in self.samples) / count
        above = sum((one.replies - middle) * (one.memory - mean) for one in self.samples)
        return above / sum((one.replies - middle) ** 2 for one in self.samples)


def broken(kept: Part, cleared: Part) -> list[str]:
    """The bounds that were not held."""
    found = []
    last, first = kept.samples[-1], kept.samples[0]
    traffic, replies = last.traffic - first.traffic, last.replies - first.replies
    if kept.growth() > PER_BYTE * traffic + PER_REPLY * replies + NOISE:
        found.append(f"kept flows: {kept.growth() / MEGABYTE:.0f} MB for {traffic / MEGABYTE:.0f} MB of traffic")
    last, first = cleared.samples[-1], cleared.samples[0]
    stays = cleared.slope() * (last.replies - first.replies)
    if stays > STAYS * (last.replies - first.replies) / 1000 + NOISE:
        found.append(f"cleared flows: {stays / MEGABYTE:.1f} MB stay of {last.replies - first.replies} replies")
    return found


def table(parts: Sequence[Part]) -> Iterator[str]:
    """What was measured, for people."""
    yield f"{'part':<8} {'replies':>8} {'traffic, MB':>12} {'memory, MB':>11}"
    for part in parts:
        for one in part.samples:
            row = f"{one.replies:>8} {one.traffic / MEGABYTE:>12.0f} {one.memory / MEGABYTE:>11.0f}"
            yield f"{part.name:<8} {row}"
        last, first = part.samples[-1], part.samples[0]
        replies, traffic = last.replies - first.replies, last.traffic - first.traffic
        each = f"{part.slope() * 1000 / MEGABYTE:.2f} MB for each 1,000 replies"
        yield f"{part.name}: {each}, {part.growth() / max(traffic, 1):.2f} bytes for each byte of {replies} replies"


# --- the run ----------------------------------------------------------------------------------------------------------


@contextmanager
def _mitmweb(folder: Path, to: str, *, addon: bool) -> Iterator[Web]:
    given = ["-s", str(REPO / "scripts" / "soak_addon.py"), *(["-s", str(MAIN)] if addon else [])]
    given += ["--mode", f"reverse:{to}", "--listen-host", "127.0.0.1", "--listen-port", "0", "--set", "flow_detail=0"]
    with reserved_port() as port:
        options = (f"web_port={port}", "web_open_browser=false", f"web_password={PASSWORD}", "termlog_verbosity=warn")
        given += [part for option in options[:3] for part in ("--set", option)]
        dump = Dump(given, folder, tool="mitmweb")
        try:
            dump.port = int(dump.wait_for(" listening at 127.0.0.1:").rstrip(".").rpartition(":")[2])
            dump.wait_for("Web server listening at")
            yield Web(dump, f"http://127.0.0.1:{port}/")
        finally:
            dump.kill()


def _memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmRSS")


class Load:
    """The clients. `number` counts the requests of the whole run, `traffic` their bytes."""

    def __init__(self, port: int, pid: int, seed: int) -> None:
        self._port, self._pid = port, pid
        self._names = [name for name, (share, _) in KINDS.items() for _ in range(share)]
        random.Random(seed).shuffle(self._names)
        self.number = self.traffic = 0

    async def send(self, count: int) -> None:
        """So many requests, each of which must be answered to its end."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            name, body = self._names[number % len(self._names)], request_of(number)
            async with gate:
                got: Got = await ask(self._port, f"/{name}/{number}{PATH}", body=body)
            if not got.ended:
                raise AssertionError(f"{name} {number} has no end after {len(got.body)} bytes")
            self.traffic += len(body) + len(got.body) + sum(map(len, KINDS[name][1].pieces))

        first, self.number = self.number, self.number + count
        await asyncio.gather(*(one(number) for number in range(first, first + count)))

    async def clear(self) -> dict[str, int]:
        """Clear the flows; what the addon holds."""
        got = await ask(self._port, CLEAR, body=b"{}")
        return dict(json.loads(bytes(got.body))["stores"])

    def sample(self, since: int, traffic: int) -> Sample:
        """The process now."""
        return Sample(self.number - since, self.traffic - traffic, _memory(self._pid))


async def _run(web_of: Callable[[str], Web], replies: int, seed: int) -> tuple[Part, Part, dict[str, int]]:
    saying = {name: reply for name, (_, reply) in KINDS.items()}
    async with served(lambda path: saying[path.split("/")[1]]) as server:
        web = await asyncio.to_thread(web_of, server.url)
        load = Load(web.dump.port, web.dump.pid, seed)
        size = max(1, replies // 2 // ROUNDS)
        kept, cleared = Part("kept"), Part("cleared")
        await load.send(max(200, 2 * size))  # warm
        await load.clear()
        since, traffic = load.number, load.traffic
        kept.samples.append(load.sample(since, traffic))
        for number in range(ROUNDS):
            await load.send(size)
            kept.samples.append(load.sample(since, traffic))
            print(f"  kept {number + 1}/{ROUNDS}", file=sys.stderr, flush=True)
        held = await load.clear()
        since, traffic = load.number, load.traffic
        cleared.samples.append(load.sample(since, traffic))
        for number in range(ROUNDS):
            for _ in range(2):
                await load.send(max(1, size // 2))
                held = await load.clear()
            cleared.samples.append(load.sample(since, traffic))
            print(f"  cleared {number + 1}/{ROUNDS}", file=sys.stderr, flush=True)
        return kept, cleared, held


def main() -> int:
    """Run, print and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--replies", type=int, default=20_000, help="how many (20000)")
    parser.add_argument("--control", action="store_true", help="without the addon")
    parser.add_argument("--no-page", action="store_true", help="without a browser")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the replies")
    options = parser.parse_args()
    if not Path("/proc/self/status").exists():
        print("soak: memory of another process is measured on Linux only", file=sys.stderr)
        return 2
    missing = "--no-page" if options.no_page else missing_for_browser()
    if missing:
        print(f"soak: no page is open: {missing}", file=sys.stderr)
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "mitmproxy").mkdir()
        workers = stack.enter_context(ThreadPoolExecutor(1))

        def started(url: str) -> Web:
            return stack.enter_context(_mitmweb(folder / "mitmproxy", url, addon=not options.control))

        def look(web: Web) -> None:
            page = stack.enter_context(browser(folder / "profile"))
            page.goto(web.page_url)
            page.fill("input[name=token]", PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_selector("header")  # the list itself is there from the first flow on
            if not options.control:
                page.context.new_page().goto(f"{web.page_url}toolcalls")

        loaded = _Waiting()
        running = workers.submit(asyncio.run, _run(lambda url: loaded.put(started(url)), options.replies, options.seed))
        web = loaded.web(running.done)
        if web is None:
            running.result()
            return 2
        try:
            if not missing:
                look(web)
        finally:
            loaded.go()  # where nobody can look, the load fails, as mitmweb is gone by then
        kept, cleared, held = running.result()
    print("\n".join(table([kept, cleared])))
    print("left: " + ", ".join(f"{name} {count}" for name, count in sorted(held.items()) if count))
    print(f"{time.monotonic() - began:.0f} s, {'without' if options.control else 'with'} the addon")
    problems = [] if options.control else broken(kept, cleared)
    print("\n".join(f"BROKEN: {one}" for one in problems) or "all bounds hold")
    return 1 if problems else 0


class _Waiting:
    """mitmweb starts in the thread of the load; the browser, whose interface belongs to the main thread, opens its page
    before the load begins.
    """

    def __init__(self) -> None:
        self._web: Web | None = None
        self._there, self._looks = threading.Event(), threading.Event()

    def put(self, web: Web) -> Web:
        """mitmweb is there; returns when somebody looks at it."""
        self._web = web
        self._there.set()
        self._looks.wait()
        return web

    def web(self, failed: Callable[[], bool]) -> Web | None:
        """mitmweb, None when it did not start."""
        while not self._there.wait(0.2):
            if failed():
                return None
        return self._web

    def go(self) -> None:
        """Let the load begin."""
        self._looks.set()


if __name__ == "__main__":
    sys.exit(main())
