"""Live faults by what else is in the proxy: a fault of our own, a second addon, a replayed client, a clock that jumps.

The addons that are loaded beside ours are written by the scenarios themselves.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from reliability.live_ends import recorded, verdicts, written
from reliability.live_kit import FENCED, PLAIN, Scene, Tally, answering, ask, judged, mixture, said, served
from reliability.rows import Row
from support.loopback import MAIN, PATH

# --- faults of our own ------------------------------------------------------------------------------------------------

_FAULTY = """
    class Faulty:
        def responseheaders(self, flow):
            tap = flow.response.stream
            kind, number = flow.request.path.split("/")[2:4]
            owner = tap if kind in {"_keep", "_prepared"} else tap.exchange
            whole, left = getattr(owner, kind), [int(number)]

            def failing(*args, **kwargs):
                left[0] -= 1
                if left[0] == 0:
                    raise ZeroDivisionError("CANARY16")
                return whole(*args, **kwargs)

            setattr(owner, kind, failing)

    addons = [Faulty()]
"""
FAULTS = [
    *(("feed", number) for number in (1, 2, 5, 9)),
    *(("_stream", number) for number in (1, 3)),
    *(("_text_alone", number) for number in (1, 2)),
    *(("_take_through", number) for number in (1, 2)),
    *(("_move", number) for number in (1, 2)),
    *(("_write", number) for number in (1, 2)),
    ("close", 1),
    ("_cut", 1),
]


async def injected(scene: Scene) -> AsyncIterator[Row]:
    """An exception in what mitmproxy calls with each piece: the rest passes raw, report and log say `failed`."""
    tally = Tally("exception in the callback")
    helper = _script(scene, "faulty", _FAULTY)
    saying = [said("text", PLAIN, 3), said("quoted", FENCED, 3)]
    faults = FAULTS if scene.fraction >= 1 else FAULTS[::3]
    async with served(answering(saying)) as server, scene.proxy(server.url, "-s", str(helper)) as proxy:
        for what in saying:
            for kind, number in faults:
                path = f"/{what.name}/{kind}/{number}{PATH}"
                with tally.input(f"{what.name}, {kind} {number}") as problems:
                    problems.extend(judged(what, await ask(proxy.port, path)))
                    flow = await written(proxy, path)
                    if not flow.metadata["toolcalls"]["failure"] or not await proxy.tells(f"{path} (m): failed"):
                        problems.append(("missed", "neither report nor log say that it failed"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


def _script(scene: Scene, name: str, text: str) -> Path:
    path = scene.path(f"{name}.py")
    path.write_text(dedent(text), encoding="utf-8")
    return path


# --- neighbours -------------------------------------------------------------------------------------------------------

_STREAMS = """
    def responseheaders(flow):
        flow.response.stream = lambda data: data
"""
_WRAPS = """
    def responseheaders(flow):
        ours = flow.response.stream
        flow.response.stream = lambda data: ours(data)
"""
_READS = """
    def response(flow):
        flow.response.content
        flow.comment = flow.comment
"""


async def neighbours(scene: Scene) -> AsyncIterator[Row]:
    """Another addon streams, before ours and after it, or wraps our callable, or reads the reply when it has ended."""
    tally = Tally("second addon")
    untouched = [replace(what, calls=()) for what in mixture()]
    cases = (
        ("streams before ours", _STREAMS, True, untouched),
        ("streams behind ours", _STREAMS, False, untouched),
        ("wraps ours", _WRAPS, False, mixture()),
        ("reads what came", _READS, False, mixture()),
    )
    for name, text, first, saying in cases if scene.fraction >= 1 else cases[:1]:
        other = ["-s", str(_script(scene, name.replace(" ", "_"), text))]
        ours = ["-s", str(MAIN)]
        async with served(answering(saying)) as server:
            options = [*other, *ours] if first else [*ours, *other]
            out = scene.path(name)
            writes = ["--set", f"toolcalls_log={out / 'log.jsonl'}", "--set", f"toolcalls_record={out / 'recordings'}"]
            async with scene.proxy(server.url, *options, *writes, addon=False, out=out) as proxy:
                for what in saying:
                    with tally.input(f"{name}, {what.name}") as problems:
                        problems.extend(judged(what, await ask(proxy.port, f"/{what.name}{PATH}")))
                with tally.input(f"{name}, log") as problems:
                    problems.extend(proxy.leaks())
                    if proxy.told("crashed") or proxy.told("Traceback"):
                        problems.append(("missed", "a traceback in the log"))
                    if first and not await proxy.tells("another addon streams it"):
                        problems.append(("missed", "nobody says that replies are forwarded unparsed"))
    yield tally.row()


async def replayed(scene: Scene) -> AsyncIterator[Row]:
    """Our own recording, sent once more (`-C`): the upstream is asked again, and the verdicts are the same."""
    tally = Tally("client replay")
    saying = mixture()
    async with served(answering(saying)) as server:
        async with scene.proxy(server.url) as proxy:
            for what in saying:
                await ask(proxy.port, f"/{what.name}{PATH}")
        before = {flow.request.path: verdicts(flow) for flow in recorded(proxy)}
        (file,) = proxy.record.glob("*.flow")
        asked = server.asked
        async with scene.proxy(None, "-n", "-C", str(file)) as again:
            await asyncio.to_thread(again.dump.ended)
        with tally.input("all") as problems:
            after = {flow.request.path: verdicts(flow) for flow in recorded(again)}
            if len(before) != len(saying) or after != before:
                problems.append(("lost", f"the verdicts were {before}, now {after}"))
            if server.asked - asked != len(saying):
                problems.append(("lost", f"{server.asked - asked} requests for {len(saying)}"))
            problems.extend(again.leaks())
    yield tally.row()


_CLOCK = """
    import time

    whole, jumps = time.time, [0, 86400, -86400 * 400, 3600, -1]

    class Clock:
        def __init__(self):
            self.at = 0

        def requestheaders(self, flow):
            self.jump()

        def responseheaders(self, flow):
            self.jump()

        def response(self, flow):
            self.jump()

        def jump(self):
            self.at += 1
            ahead = jumps[self.at % len(jumps)]
            time.time = lambda: whole() + ahead

    addons = [Clock()]
"""


async def clock(scene: Scene) -> AsyncIterator[Row]:
    """The wall clock jumps, by up to a year, before, in and after each reply: nobody's bytes depend on it."""
    tally = Tally("clock jump")
    saying = mixture(pause=0.002)
    helper = _script(scene, "clock", _CLOCK)
    async with served(answering(saying)) as server, scene.proxy(server.url, "-s", str(helper)) as proxy:
        for number in range(scene.scaled(15, 3)):
            what = saying[number % len(saying)]
            path = f"/{what.name}/{number}{PATH}"
            with tally.input(f"{what.name} {number}") as problems:
                problems.extend(judged(what, await ask(proxy.port, path)))
                flow = await written(proxy, path)
                times = flow.metadata["toolcalls_times"]["upstream"]["microseconds"]
                if times != sorted(times) or times[0] < 0 or times[-1] > 60_000_000:
                    problems.append(("missed", "the pieces' times jump"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
            if proxy.told("Traceback"):
                problems.append(("missed", "a traceback in the log"))
    yield tally.row()
