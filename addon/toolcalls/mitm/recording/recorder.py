"""The option `toolcalls_record`, mitmproxy's side: hands flows to the process that writes them.

mitmproxy's own `-w` keeps keys and cookies in clear, and ends the proxy when the disk is full. To take secrets out of a
flow costs more than all else that is done to it, and holds Python's lock, so in a thread it took three quarters of a
busy proxy's throughput. Here a flow costs mitmproxy a copy as plain data and a write to a pipe; a second process does
the rest. Nothing is on the disk before it is redacted. What that process has not done yet is bounded (`MAX_WAITING`),
in its memory; what comes on top of that is not recorded, and counted.

At the end all that waits is written: mitmproxy waits for it, for a while, and after that the process finishes alone.
"""

import fcntl
import json
import logging
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO

from mitmproxy import http

from toolcalls.insight.formatting import counted
from toolcalls.mitm.recording.intake import LENGTH
from toolcalls.mitm.recording.limits import Limits
from toolcalls.mitm.recording.protocol import ACK, flow_data, frame

MAX_WAITING = 256 * 1024 * 1024  # bytes of flows that may wait to be written; one flow always may
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_CLOSE_SECONDS = 60.0  # that mitmproxy's end may be held up to write what still waits
_QUIET_SECONDS = 1.0  # of these without an answer
_RESTART_SECONDS = 10.0  # at least, between two beginnings of the process
_PIPE = 1024 * 1024  # bytes that a killed mitmproxy leaves in it are written
_ENDS = "mitmproxy ended"
_TOO_FAST = "flows come faster than they can be written"
_PROCESS_DIED = "the process that writes them was killed"
_PACKAGE = Path(__file__).resolve().parents[3]
_PROGRAM = (
    f"import sys; sys.path.insert(0, {str(_PACKAGE)!r}); "
    "from toolcalls.mitm.recording.intake import begin; queue = begin(); "
    "from toolcalls.mitm.recording.process import write; write(queue, *sys.argv[1:])"
)

logger = logging.getLogger(__name__)


class Recorder:
    """One folder, whose files go on to a `store` where that is not empty. Raises OSError when no file can be made in
    the folder, or when it is a link.
    """

    def __init__(self, folder: Path, limits: Limits | None = None, store: str = "") -> None:
        if folder.is_symlink():  # who may change the link would decide where recordings go
            raise OSError(f"{folder} is a link; name the folder itself")
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.name == "posix" and (mode := stat.S_IMODE(folder.stat().st_mode)) & _OTHERS:
            logger.warning(f"toolcalls_record: other users can read {folder} (mode {mode:o}); chmod 700 prevents that")
        with tempfile.TemporaryFile(dir=folder):
            pass  # one can be made
        self._folder = folder.resolve()
        self._limits = Limits() if limits is None else limits
        self._store = store
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = Lock()  # of what both threads change: the three below
        self._given = 0  # bytes
        self._done = 0
        self._missing: Counter[str] = Counter()  # that the process does not know of
        self._died = -_RESTART_SECONDS  # when the process that was there last began, by the monotonic clock
        self._process: _Process | None = _Process(self._folder, self._limits, store)
        self._thread = Thread(target=self._send, name="toolcalls-record", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process that writes; None where it has died."""
        process = self._process
        return None if process is None else process.pid

    def add(self, flow: http.HTTPFlow) -> None:
        """Record a flow as it is now; it may change afterwards."""
        try:
            data = frame({"flow": flow_data(flow)})
        except Exception as error:  # noqa: BLE001 - whatever others put into a flow must not end the traffic
            self._count_missing(f"{type(error).__name__} in flow {flow.id}")
            return
        process = self._process
        with self._lock:
            waiting = self._given - self._done - (0 if process is None else process.acknowledged()[1])
            fits = waiting <= 0 or waiting + len(data) <= MAX_WAITING
            if fits:
                self._given += len(data) - LENGTH.size
        if fits:
            self._queue.put(data)
        else:
            self._count_missing(_TOO_FAST)

    def close(self) -> None:
        """Write what waits, as far as there is time for it; afterwards the process goes on alone."""
        self._queue.put(None)
        until = time.monotonic() + _CLOSE_SECONDS
        self._thread.join(_QUIET_SECONDS)
        process = self._process
        if process is not None and not process.wait(0.0 if self._thread.is_alive() else _QUIET_SECONDS):
            logger.info("toolcalls: writing the remaining recordings")
            self._thread.join(max(0.0, until - time.monotonic()))
            if not process.wait(max(0.0, until - time.monotonic())):
                logger.warning(f"toolcalls: process {process.pid} is still writing recordings")

    def _count_missing(self, why: str, count: int = 1) -> None:
        with self._lock:
            first = not self._missing[why]
            self._missing[why] += count
        if first:
            logger.warning(f"toolcalls: a flow cannot be recorded: {why}; traffic is not affected")

    # The thread

    def _send(self) -> None:
        while (data := self._queue.get()) is not None:
            process = self._process or self._restarted()
            if process is None:
                with self._lock:
                    self._done += len(data) - LENGTH.size
                self._count_missing(_PROCESS_DIED)
            elif not process.send(data, 1):
                self._bury(process)
        missing = self._take_missing()
        if (process := self._process) is None and missing:
            process = self._process = self._started()
        if process is None:
            if missing:
                logger.warning(f"toolcalls: {counted(sum(missing.values()), 'record')} missing in {self._folder}")
            return
        if not process.send(frame({"missing": missing, "end": _ENDS}), 0):
            self._bury(process)
            logger.warning(f"toolcalls: {counted(sum(self._missing.values()), 'record')} missing in {self._folder}")
        process.end()

    def _take_missing(self) -> dict[str, int]:
        with self._lock:
            missing = dict(self._missing)
            self._missing.clear()
        return missing

    def _bury(self, process: "_Process") -> None:
        """The process has died: count what it has not written."""
        self._process = None
        process.end()
        flows, _ = process.acknowledged()
        with self._lock:
            self._done += process.sent_bytes
        self._count_missing(_PROCESS_DIED, process.sent_flows - flows)
        self._died = process.began

    def _restarted(self) -> "_Process | None":
        if time.monotonic() - self._died < _RESTART_SECONDS:
            return None
        self._process = self._started()
        if self._process is not None and (missing := self._take_missing()):
            self._process.send(frame({"missing": missing}), 0)
        return self._process

    def _started(self) -> "_Process | None":
        try:
            return _Process(self._folder, self._limits, self._store)
        except OSError as error:
            self._died = time.monotonic()
            logger.warning(f"toolcalls: nothing is recorded: {error}")
            return None


class _Process:
    """The process that writes, and the pipes to it. Raises OSError when it cannot be started."""

    def __init__(self, folder: Path, limits: Limits, store: str) -> None:
        self.began = time.monotonic()
        self.sent_flows = 0
        self.sent_bytes = 0
        self._done = (0, 0)
        self._acknowledged, theirs = os.pipe()
        os.set_blocking(self._acknowledged, False)
        try:
            # -P: no file of the directory that mitmproxy was started in is imported. A session of its own: Ctrl-C in a
            # terminal is for mitmproxy.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(folder), json.dumps(asdict(limits)), str(theirs), store],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._acknowledged)
            raise
        finally:
            os.close(theirs)
        self.pid = self._process.pid
        with suppress(OSError, AttributeError):  # Linux alone, and bounded by its settings
            fcntl.fcntl(self._process.stdin, fcntl.F_SETPIPE_SZ, _PIPE)  # type: ignore[arg-type]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._reading = Thread(target=_log, args=(self._process.stdout,), name="toolcalls-record-log", daemon=True)
        self._reading.start()

    def send(self, data: bytes, flows: int) -> bool:
        """Hand over a message with so many flows. False where the process has died."""
        self.sent_flows += flows
        self.sent_bytes += len(data) - LENGTH.size
        try:
            self._stdin.write(data)
            self._stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def acknowledged(self) -> tuple[int, int]:
        """Flows and bytes that are done."""
        while True:
            try:
                data = os.read(self._acknowledged, 4096 * ACK.size)
            except (BlockingIOError, OSError):
                return self._done
            if len(data) < ACK.size:
                return self._done
            self._done = ACK.unpack(data[-ACK.size :])

    def end(self) -> None:
        """Close its input: it ends when all is written."""
        with suppress(OSError):  # it has died, and what was in the buffer with it
            self._stdin.close()

    def wait(self, seconds: float) -> bool:
        """Wait for its end. Whether that came."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._reading.join()
        if status:
            logger.warning(f"toolcalls: the recording process ended with status {status}")
        return True


def _log(source: IO[bytes]) -> None:
    """What the process logs, in mitmproxy's log."""
    with source:
        for line in source:
            try:
                said = json.loads(line)
                logger.log(said["level"], said["text"])
            except (ValueError, KeyError, TypeError):
                logger.warning(f"toolcalls: the recording process reports {line!r}")
