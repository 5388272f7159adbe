"""Live faults by size and number: large and finely cut streams, many at once, slow clients, a bomb, a long day.

Sizes and numbers shrink with the fraction. CPU and memory, those of the mitmdump process, are judged only in a full
run, since a small one says nothing about them, and only on Linux. Memory is the peak since just before the input.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from reliability.live_kit import (
    MADE,
    MEGABYTE,
    PLAIN,
    REPLIED,
    Got,
    Problem,
    Proxy,
    Said,
    Scene,
    Tally,
    answering,
    ask,
    judged,
    many,
    measures,
    mixture,
    said,
    served,
)
from reliability.rows import Row
from support.loopback import CALL, PATH, Reply, calls_in, chunk, encoded, streamed, text_in

IDENTITY = Path(__file__).parents[2] / "bench" / "identity.py"
GROWTH = 64 * MEGABYTE  # bytes of memory that one reply may cost
AHEAD = 32 * MEGABYTE  # bytes that may be on their way to a client that does not read: buffers of the system, mostly
SOAK_GROWTH = 8 * MEGABYTE  # bytes that 5,000 streams may add once everything is warm
MAX_CALL = 16_777_216  # characters of a call, by default


# --- one large reply --------------------------------------------------------------------------------------------------


async def sizes(scene: Scene) -> AsyncIterator[Row]:
    """100 MB: text alone, a call after it, all of it inside a call's argument; and a client that reads 20 MB/s."""
    size = scene.scaled(100 * MEGABYTE, MEGABYTE)
    yield await _large(scene, "100 MB stream", [_text(size), _text(size, CALL), _argument(size)])
    yield await _large(scene, "slow client", [_text(size)], rate=20e6)


def _text(size: int, call: str = "") -> Said:
    """About `size` bytes of text in events of 2 kB.

    Without a call it is full of quoted ones, more than are looked at (`max_candidates`); else of what begins like one.
    """
    noise = "a < b, <in x> <inv" if call else PLAIN
    event = chunk({"content": f"{noise} <b>x</b> {'lorem ipsum ' * 150}\n\n"})
    start, *rest = streamed(call)
    pieces = [start, *[event] * (size // len(event)), *rest]
    text = text_in(b"".join(pieces)).removesuffix(call) if call else ""
    return Said("call" if call else "text", Reply(pieces, dict(REPLIED)), MADE if call else (), text)


def _argument(size: int) -> Said:
    """A call with an argument of about `size` characters. One past the limit is never completed."""
    head, tail = CALL.split("ls -la")
    piece = "echo 0123456789\n" * 128
    count = size // len(piece)
    start, *rest = streamed(tail)
    opening = [chunk({"content": head[at : at + 7]}) for at in range(0, len(head), 7)]
    pieces = [start, *opening, *[chunk({"content": piece})] * count, *rest]
    arguments = json.dumps({"command": (piece * count).removesuffix("\n")}, separators=(",", ":"))
    return Said("argument", Reply(pieces, dict(REPLIED)), [("Bash", arguments)])


async def _large(scene: Scene, name: str, saying: Sequence[Said], rate: float = 0.0) -> Row:
    """Each with a proxy of its own, so that memory which an earlier one left behind is not counted."""
    tally = Tally(name)
    warm = said("warm", CALL, calls=MADE)
    for what in saying:
        async with served(answering([what, warm])) as server, scene.proxy(server.url) as proxy:
            with tally.input(f"{what.name}, {len(what.body)} bytes") as problems:
                await ask(proxy.port, f"/warm{PATH}")
                before = _memory(proxy, scene)
                sent, ahead, got = server.sent, 0, Got()
                asking = asyncio.create_task(ask(proxy.port, f"/{what.name}{PATH}", rate=rate, into=got))
                while not asking.done():
                    await asyncio.wait({asking}, timeout=0.1)
                    ahead = max(ahead, server.sent - sent - len(got.body))
                await asking
                problems.extend(_open(got) if _is_too_long(what) else judged(what, got))
                problems.extend(_grown(proxy, before))
                if rate and ahead > AHEAD:
                    problems.append(("missed", f"{ahead} bytes were read before the client took them"))
                problems.extend(proxy.leaks())
    return tally.row()


def _is_too_long(what: Said) -> bool:
    return any(len(arguments) > MAX_CALL for _, arguments in what.calls)


def _open(got: Got) -> list[Problem]:
    """A call past the limit: it stays open."""
    problems: list[Problem] = [] if got.ended else [("lost", "the body has no end")]
    for name, arguments in calls_in(bytes(got.body)):
        try:
            json.loads(arguments)
        except json.JSONDecodeError:
            continue
        problems.append(("invented", f"{name} with {len(arguments)} characters"))
    return problems


def _memory(proxy: Proxy, scene: Scene) -> int | None:
    """Memory from which growth counts; None where it is not judged."""
    if scene.fraction < 1 or not measures():
        return None
    proxy.forget_peak()
    return proxy.memory()


def _grown(proxy: Proxy, before: int | None) -> list[Problem]:
    if before is None or (grown := proxy.peak() - before) <= GROWTH:
        return []
    return [("missed", f"{grown / MEGABYTE:.0f} MB more memory")]


async def bomb(scene: Scene) -> AsyncIterator[Row]:
    """Compressed replies that decode to 200 MB, in each coding: what cannot be decoded passes as it came."""
    tally = Tally("decompression bomb")
    size = scene.scaled(200 * MEGABYTE, 80 * MEGABYTE)
    start = streamed("hello", reason=None)
    before_it = b"".join(start)
    saying = []
    for coding in ("gzip", "deflate", "br", "zstd") if scene.fraction >= 1 else ("gzip",):
        pieces = encoded([*start, bytes(size)], coding)
        saying.append(Said(coding, Reply(pieces, REPLIED | {"content-encoding": coding})))
    warm = said("warm", CALL, calls=MADE)
    async with served(answering([*saying, warm])) as server, scene.proxy(server.url) as proxy:
        for what in saying:
            with tally.input(f"{what.name}, {len(what.body)} bytes for {size}") as problems:
                await ask(proxy.port, f"/warm{PATH}")
                before = _memory(proxy, scene)
                got = await ask(proxy.port, f"/{what.name}{PATH}")
                problems.extend(_grown(proxy, before))
                if not got.ended:
                    problems.append(("lost", f"the body has no end after {len(got.body)} bytes"))
                elif not got.body.startswith(before_it):
                    problems.append(("lost", "what came before the bomb is not there"))
                elif not what.body.endswith(got.body[len(before_it) :].lstrip(b"\0")):
                    problems.append(("lost", "what could not be decoded did not pass"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


# --- many pieces, many streams ----------------------------------------------------------------------------------------


async def bytewise(scene: Scene) -> AsyncIterator[Row]:
    """About 25,000 chunks of one byte, with and without a call."""
    tally = Tally("1-byte chunks")
    times = scene.scaled(60, 2)
    saying = []
    for what in (said("text", PLAIN * times, 40), said("call", PLAIN * times + CALL, 40, calls=MADE)):
        pieces = [bytes([byte]) for byte in what.body]
        saying.append(Said(what.name, Reply(pieces, dict(REPLIED)), what.calls, what.text))
    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:
        for what in saying:
            with tally.input(f"{what.name}, {len(what.reply.pieces)} chunks") as problems:
                problems.extend(judged(what, await ask(proxy.port, f"/{what.name}{PATH}")))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


async def speed(scene: Scene) -> AsyncIterator[Row]:
    """2,000 events as fast as they go; and 500 streams at once, 50 events each, 20 ms apart.

    Each also through an addon that hands everything on: the first may cost twice its CPU, the second 1.5 times.
    """
    events = scene.scaled(2000, 200)
    text = said("text", "All work and no play makes Jack a dull boy. " * events, 44)
    call = said("call", "All work and no play makes Jack a dull boy. " * events + f"\n\n{CALL}", 44, calls=MADE)
    yield await _against_identity(scene, "2,000 events", [text, call], 12, 1, 2.0)
    prose = said("prose", "All work and no play makes Jack a dull boy. " * 11, 10, pause=0.02)
    paced = [
        *[prose] * 8,
        said("call", f"{PLAIN}{CALL}", 4, calls=MADE, pause=0.02),
        said("quoted", PLAIN * 3, 4, pause=0.02),
    ]
    streams = scene.scaled(500, 50)
    yield await _against_identity(scene, "500 streams at once", paced, streams, streams, 1.5)


async def _against_identity(
    scene: Scene, group: str, saying: Sequence[Said], count: int, at_once: int, ratio: float
) -> Row:
    tally = Tally(group)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(answering(saying)))
        proxy = await stack.enter_async_context(scene.proxy(server.url, records=False))
        await many(proxy, saying, 3, 1)
        began = proxy.cpu() if measures() else 0.0
        for name, problems in await many(proxy, saying, count, at_once):
            tally.add(name, problems)
        if scene.fraction >= 1 and measures():
            ours = proxy.cpu() - began
            other = await stack.enter_async_context(scene.proxy(server.url, "-s", str(IDENTITY), addon=False))
            await many(other, saying, 3, 1)
            began = other.cpu()
            await many(other, saying, count, at_once)
            theirs = other.cpu() - began
            with tally.input("CPU") as problems:
                if ours > ratio * theirs:
                    problems.append(("missed", f"{ours:.1f} s of CPU, {theirs:.1f} s for an addon that does nothing"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    return tally.row()


# --- a long day -------------------------------------------------------------------------------------------------------


async def soak(scene: Scene) -> AsyncIterator[Row]:
    """5,000 streams of all kinds, 20 at a time. Memory is flat: what a straight line through it adds is bounded."""
    tally = Tally("soak")
    count = scene.scaled(5000, 60)
    whole = b'{"error": {"message": "overloaded"}}'
    saying = [
        *mixture(),
        Said("gzip", Reply(encoded(streamed(CALL), "gzip"), REPLIED | {"content-encoding": "gzip"}), MADE),
        Said("error", Reply([whole], {"content-type": "application/json"}, status=503, framing="length")),
    ]
    sizes_: list[int] = []

    async with served(answering(saying)) as server, scene.proxy(server.url) as proxy:

        async def look(number: int) -> None:
            if number % 50 == 0 and measures():
                sizes_.append(proxy.memory())

        for name, problems in await many(proxy, saying, count, 20, look):
            tally.add(name, problems)
        if scene.fraction >= 1 and measures():
            with tally.input("memory") as problems:
                added = _slope(sizes_[len(sizes_) // 3 :]) * 5000 / 50
                if added > SOAK_GROWTH:
                    problems.append(("missed", f"{added / MEGABYTE:.1f} MB more for each 5,000 streams"))
        with tally.input("secrets") as problems:
            problems.extend(proxy.leaks())
    yield tally.row()


def _slope(values: Sequence[int]) -> float:
    """How much a value adds to the one before, by least squares."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return above / sum((at - middle) ** 2 for at in range(len(values)))
