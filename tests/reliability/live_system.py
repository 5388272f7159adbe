"""Live faults by the system and by people: signals, disks that are full, read-only or gone, configurations that change.

A full disk is a tmpfs of 128 kB in a mount namespace of its own, and a read-only one a tmpfs that is mounted over the
folder while the proxy runs, where the system lets an ordinary user do so (`unshare -rm`); beside them stand a limit on
the size of files (`ulimit -f`) and `/dev/full`, which need nothing.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path

from mitmproxy import http
from mitmproxy.exceptions import FlowReadException

from reliability.live_ends import finished, recorded, verdicts
from reliability.live_kit import (
    CALLED,
    MADE,
    PATIENCE,
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
    mixture,
    said,
    served,
)
from reliability.rows import Row
from support.loopback import MAIN, PATH, Reply, flows_in, streamed
from toolcalls.flows.flow_files import flows

# --- signals ----------------------------------------------------------------------------------------------------------


async def sigterm(scene: Scene) -> AsyncIterator[Row]:
    """Stopped while replies stream, most of them inside a call: it ends soon, and every flow is marked as cut.

    Soon: what is to be recorded is written first, by a process that may still be loading.
    """
    tally = Tally("SIGTERM")
    cut = Said("cut", Reply(streamed(PLAIN + CALLED[:-20], 4, reason=None), dict(REPLIED), stays=True))
    count = scene.scaled(24, 4)
    async with served(answering([cut])) as server, scene.proxy(server.url) as proxy:
        have = [Got() for _ in range(count)]
        asking = [
            asyncio.create_task(ask(proxy.port, f"/cut/{number}{PATH}", into=one)) for number, one in enumerate(have)
        ]
        async with asyncio.timeout(PATIENCE):
            while not all(b'"Bash"' in one.body for one in have):
                await asyncio.sleep(0.05)
        began = time.monotonic()
        os.kill(proxy.pid, signal.SIGTERM)
        status = await asyncio.to_thread(proxy.dump.ended)
        took = time.monotonic() - began
        got = await asyncio.gather(*asking)
        with tally.input("the end") as problems:
            if took > 10.0 or status != 0:
                problems.append(("hangs", f"it ended after {took:.1f} s with status {status}"))
            problems.extend(proxy.leaks())
        kept = {flow.request.path.split("/")[2]: flow for flow in recorded(proxy)}
        for number, one in enumerate(got):
            with tally.input(f"stream {number}") as problems:
                if calls := finished(bytes(one.body)):
                    problems.append(("invented", f"{calls} from a reply that was cut"))
                if one.ended:
                    problems.append(("lost", "the client takes the body for whole"))
                flow = kept.get(str(number))
                if flow is None:
                    problems.append(("missed", "the flow is not in the recording"))
                elif flow.error is None or "truncated" not in verdicts(flow):
                    problems.append(("missed", f"the flow says {verdicts(flow)} and is not marked as cut"))
    yield tally.row()


async def sigkill(scene: Scene) -> AsyncIterator[Row]:
    """Killed at random moments while it records: all that is complete can be read, by us and by the report."""
    draw = random.Random(scene.seed)
    tally = Tally("SIGKILL while recording")
    saying = [*mixture(), said("long", PLAIN * 200, 40)]
    async with served(answering(saying)) as server:
        for _ in range(scene.scaled(8, 2)):
            async with scene.proxy(server.url) as proxy:
                wait = draw.uniform(0.0, 1.0)
                with tally.input(f"{wait:.2f} s behind the first record, seed {scene.seed}") as problems:
                    asking = asyncio.create_task(many(proxy, saying, 2000, 8))
                    async with asyncio.timeout(PATIENCE):
                        while not proxy.recorded():
                            await asyncio.sleep(0.02)
                    await asyncio.sleep(wait)
                    os.kill(proxy.pid, signal.SIGKILL)
                    await asyncio.to_thread(proxy.dump.ended)
                    asking.cancel()
                    await asyncio.gather(asking, return_exceptions=True)
                    problems.extend(_readable(proxy, saying))
                    problems.extend(proxy.leaks())
    yield tally.row()


def _readable(proxy: Proxy, saying: Sequence[Said]) -> list[Problem]:
    """What is wrong with the files of a proxy that was killed."""
    problems: list[Problem] = []
    (file,) = proxy.record.glob("*.flow")
    with redirect_stderr(StringIO()):  # which says that the last one is torn off
        found = [flow for flow in flows(str(file)) if isinstance(flow, http.HTTPFlow)]
    if not found:
        problems.append(("lost", f"{file.stat().st_size} bytes, and no flow in them"))
    bodies = {what.name: what.body for what in saying}
    for flow in found:
        kind = flow.request.path.split("/")[1]
        whole = flow.metadata.get("toolcalls_upstream") or (flow.response.raw_content if flow.response else None)
        if flow.error is None and whole != bodies[kind]:
            problems.append(("lost", f"the recorded body of {flow.request.path.partition('?')[0]} is another"))
    lines = (proxy.out / "log.jsonl").read_bytes().split(b"\n")
    for line in lines[:-1]:
        json.loads(line)
    done = subprocess.run(
        [sys.executable, "-m", "toolcalls", "report", str(file), "-o", str(proxy.out / "report.html")],
        env=os.environ | {"PYTHONPATH": str(MAIN.parent)},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    if found and done.returncode != 0:
        problems.append(("missed", f"toolcalls report: {done.stderr.decode()[:200]}"))
    return problems


# --- disks ------------------------------------------------------------------------------------------------------------

_ON_TMPFS = 'mount -t tmpfs -o size=128k none "$1" && shift && exec "$@"'


def namespaces() -> bool:
    """Whether a process may have mounts of its own here."""
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        return False
    mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, timeout=PATIENCE, check=False).returncode == 0


async def disks(scene: Scene) -> AsyncIterator[Row]:
    """The disk of log and recording fails while they are written: the traffic goes on, one warning a file, counted."""
    count = scene.scaled(120, 12)
    own = namespaces()
    full, read_only, gone = Tally("disk full"), Tally("disk read-only"), Tally("folder gone")
    saying = mixture()
    async with served(answering(saying)) as server:
        out = scene.path("small")
        out.mkdir()
        small = ["unshare", "-rm", "sh", "-c", _ON_TMPFS, "sh", str(out)]
        if own and scene.fraction >= 1:
            async with scene.proxy(server.url, out=out, prefix=small) as proxy:
                await _goes_on(full, "tmpfs of 128 kB", proxy, saying, count)
                seen = Path(f"/proc/{proxy.pid}/root{proxy.record}")
                await _failed(full, "tmpfs of 128 kB", proxy, "No space left")
                with full.input("tmpfs of 128 kB, what is there") as problems:
                    problems.extend(await _whole(seen))
            _counted(full, "tmpfs of 128 kB", proxy)
        limited = ["sh", "-c", 'ulimit -f 128; exec "$@"', "sh"]
        async with scene.proxy(server.url, prefix=limited) as proxy:
            await _goes_on(full, "ulimit -f", proxy, saying, count)
            await _failed(full, "ulimit -f", proxy, "File too large")
            with full.input("ulimit -f, what is there") as problems:
                problems.extend(await _whole(proxy.record))
                problems.extend(proxy.leaks())
        _counted(full, "ulimit -f", proxy)
        if scene.fraction >= 1 and Path("/dev/full").exists():
            async with scene.proxy(server.url, log="/dev/full") as proxy:
                await _goes_on(full, "/dev/full", proxy, saying, count)
                await _failed(full, "/dev/full", proxy, "No space left")
            _counted(full, "/dev/full", proxy)
        yield full.row()
        if own:
            async with scene.proxy(server.url, prefix=["unshare", "-rm"]) as proxy:
                await _goes_on(read_only, "before", proxy, saying, 3)
                await _written_out(read_only, "before", proxy, 3)
                await _mounted(proxy, "mount", "-t", "tmpfs", "-o", "ro", "none", str(proxy.record))
                await _goes_on(read_only, "while it is", proxy, saying, count)
                await _failed(read_only, "while it is", proxy, "Read-only")
                await _mounted(proxy, "umount", "-l", str(proxy.record))  # somebody may just try to write
                await _goes_on(read_only, "behind it", proxy, saying, 3)
                await _written_out(read_only, "behind it", proxy, 6)
            _counted(read_only, "behind it", proxy)
            yield read_only.row()
        async with scene.proxy(server.url) as proxy:
            await _goes_on(gone, "before", proxy, saying, 3)
            await _written_out(gone, "before", proxy, 3)
            shutil.rmtree(proxy.record)
            (proxy.out / "log.jsonl").unlink()
            await _goes_on(gone, "while it is", proxy, saying, count)
            await _failed(gone, "while it is", proxy, "No such file")
            proxy.record.mkdir()
            await _goes_on(gone, "behind it", proxy, saying, 3)
            await _written_out(gone, "behind it", proxy, 3)
            with gone.input("secrets") as problems:
                problems.extend(proxy.leaks())
        _counted(gone, "behind it", proxy)
    yield gone.row()


async def _goes_on(tally: Tally, when: str, proxy: Proxy, saying: Sequence[Said], count: int) -> None:
    for name, problems in await many(proxy, saying, count, 4):
        tally.add(f"{when}, {name}", problems)


async def _failed(tally: Tally, when: str, proxy: Proxy, why: str) -> None:
    """There is a warning, and no file has two."""
    with tally.input(f"{when}, the warning") as problems:
        async with asyncio.timeout(PATIENCE):
            while not any(why in line for line in proxy.told("cannot be written")):
                await asyncio.sleep(0.05)
        files = [line.partition("toolcalls: ")[2].partition(" cannot")[0] for line in proxy.told("cannot be written")]
        if len(files) != len(set(files)):
            problems.append(("missed", f"more than one warning for a file: {files}"))
        if proxy.told("Traceback") or proxy.told("crashed"):
            problems.append(("missed", "a traceback in the log"))


def _counted(tally: Tally, when: str, proxy: Proxy) -> None:
    """When it had ended, it had said how much is missing."""
    with tally.input(f"{when}, the count") as problems:
        if not proxy.told("missing in"):
            problems.append(("missed", "nobody says how many records are missing"))


async def _whole(folder: Path) -> list[Problem]:
    """Every record that is in a recording is whole, the last one too, as soon as nobody tries to add another."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(FlowReadException):  # one that does not fit is just being taken back
                found = [flow for path in folder.glob("*.flow") for flow in flows_in(path)]
                return [] if found else [("lost", "nothing was recorded before the disk was full")]
            await asyncio.sleep(0.05)


async def _written_out(tally: Tally, when: str, proxy: Proxy, least: int) -> None:
    """What the proxy has to write comes after the end that its clients see."""
    with tally.input(f"{when}, written"):
        async with asyncio.timeout(PATIENCE):
            while len(proxy.recorded()) < least:
                await asyncio.sleep(0.05)


async def _mounted(proxy: Proxy, *command: str) -> None:
    """Run a command among the mounts of the proxy."""
    enter = ["nsenter", "-t", str(proxy.pid), "-U", "-m", "--preserve-credentials", *command]
    await asyncio.to_thread(subprocess.run, enter, check=True, capture_output=True, timeout=PATIENCE)


# --- configurations ---------------------------------------------------------------------------------------------------

LIFTS = "version: 1\ndefaults:\n  policy: standard\n"
OBSERVES = "version: 1\ndefaults:\n  client: native\n  upstream: native\n"
WRONG = {
    "no YAML": ("version: 1\ndefaults:\n\tpolicy: strict\n", ":3: "),
    "an unknown key": ("version: 1\ndefaults:\n  policy: strict\n  polcy: strict\n", ":4: "),
    "a wrong value": ("version: 1\n\ndefaults:\n  policy: sometimes\n", ":4: "),
    "no text": ("\x00\xff", ":1: "),
}


async def configurations(scene: Scene) -> AsyncIterator[Row]:
    """The file changes while replies stream: they go on by the old rules; a wrong file changes nothing but the log."""
    tally = Tally("configuration changed")
    file = scene.path("rules.yaml")
    file.write_text(LIFTS, encoding="utf-8")
    call = said("call", CALLED, calls=MADE)
    go = threading.Event()
    slow = said("slow", CALLED, 3, calls=MADE)
    slow = replace(slow, reply=replace(slow.reply, gates={len(slow.reply.pieces) // 2: go}))
    saying = [call, slow]
    untouched = Said("call", call.reply)
    async with (
        served(answering(saying)) as server,
        scene.proxy(server.url, "--set", f"toolcalls_config={file}") as proxy,
    ):
        with tally.input("under way while it changes") as problems:
            got = Got()
            asking = asyncio.create_task(ask(proxy.port, f"/slow{PATH}", into=got))
            async with asyncio.timeout(PATIENCE):
                while not got.body:
                    await asyncio.sleep(0.02)
            await _written(file, OBSERVES)
            with tally.input("valid, a new stream") as new:
                new.extend(judged(untouched, await ask(proxy.port, f"/call/1{PATH}")))
            go.set()
            problems.extend(judged(slow, await asking))
        for name, (text, place) in WRONG.items():
            with tally.input(name) as problems:
                before = len(proxy.told("the old configuration stays"))
                await _written(file, text)
                problems.extend(judged(untouched, await ask(proxy.port, f"/call/2{PATH}")))
                told = (await proxy.tells("the old configuration stays", before + 1))[before:]
                if len(told) != 1 or f"{file}{place}" not in told[0]:
                    problems.append(("missed", f"the log does not name the line: {told}"))
        with tally.input("gone") as problems:
            file.unlink()
            await asyncio.sleep(1.1)
            problems.extend(judged(untouched, await ask(proxy.port, f"/call/3{PATH}")))
        with tally.input("valid again") as problems:
            await _written(file, LIFTS)
            problems.extend(judged(call, await ask(proxy.port, f"/call/4{PATH}")))
            problems.extend(proxy.leaks())
    for name, (text, place) in WRONG.items():
        with tally.input(f"at the start, {name}") as problems:
            await _written(file, text, wait=0)
            problems.extend(await asyncio.to_thread(_refused, scene, file, place))
    yield tally.row()


async def _written(file: Path, text: str, *, wait: float = 1.1) -> None:
    """Change the file, and wait until it is looked at again (once a second)."""
    file.write_bytes(text.encode("latin-1"))
    await asyncio.sleep(wait)


def _refused(scene: Scene, file: Path, place: str) -> list[Problem]:
    """A wrong file at the start: status 2, and one line that names the place."""
    command = [sys.executable, "-c", "from mitmproxy.tools.main import mitmdump; mitmdump()", "-n", "-s", str(MAIN)]
    options = ["--set", f"confdir={scene.confdir}", "--set", f"toolcalls_config={file}"]
    done = subprocess.run([*command, *options], capture_output=True, timeout=PATIENCE, check=False, text=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "Loading script" not in line]
    if done.returncode != 2 or len(lines) != 1 or f"{file}{place}" not in lines[0]:
        return [("missed", f"status {done.returncode}, {lines}")]
    return []
