"""Live faults: what the network, the disk, the system and people do to a running mitmdump with the addon.

Each scenario has a mitmdump of its own, on loopback, and yields a row for each group of inputs. A small fraction runs
the scenarios that no other test covers, small; the whole runs all of them. `make reliability` runs this.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from reliability import live_beside, live_ends, live_load, live_system
from reliability.live_kit import Scene, Tally
from reliability.rows import Row

type Scenario = Callable[[Scene], AsyncIterator[Row]]

SCENARIOS: dict[str, Scenario] = {
    "sizes": live_load.sizes,
    "bomb": live_load.bomb,
    "bytewise": live_load.bytewise,
    "speed": live_load.speed,
    "framings": live_ends.framings,
    "cuts": live_ends.cuts,
    "http2": live_ends.http2,
    "staying": live_ends.staying,
    "leaving": live_ends.leaving,
    "injected": live_beside.injected,
    "neighbours": live_beside.neighbours,
    "replayed": live_beside.replayed,
    "clock": live_beside.clock,
    "sigterm": live_system.sigterm,
    "sigkill": live_system.sigkill,
    "disks": live_system.disks,
    "configurations": live_system.configurations,
    "soak": live_load.soak,
}
SMALL = 0.1  # below this fraction only these run
QUICK = ("bytewise", "staying", "injected", "sigkill", "disks")
LIMIT = 1200.0  # seconds for a scenario


def rows(fraction: float, seed: int) -> Iterator[Row]:
    """The rows of all groups, each as soon as its scenario is over."""
    names = SCENARIOS if fraction >= SMALL else QUICK
    with tempfile.TemporaryDirectory(prefix="toolcalls-live-") as folder:
        root = Path(folder)
        (root / "certificates").mkdir()
        for name in names:
            (root / name).mkdir()
            yield from asyncio.run(_played(name, Scene(root / name, root / "certificates", fraction, seed)))


async def _played(name: str, scene: Scene) -> list[Row]:
    found: list[Row] = []
    tally = Tally(name)
    with tally.input("the scenario") as problems:
        async with asyncio.timeout(LIMIT):
            async for row in SCENARIOS[name](scene):
                found.append(row)
    return [*found, tally.row()] if problems else found
