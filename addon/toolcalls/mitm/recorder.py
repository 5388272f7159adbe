"""The folder of the option `toolcalls_record`: the flows of LLM APIs as they end, without secrets.

mitmproxy's own `-w` keeps keys and cookies in clear, and ends the proxy when the disk is full. Here each start makes a
file of its own. Flows are redacted as `toolcalls redact` does it. That takes about half a second for a megabyte, and
several times its memory, so a thread does it, the flows that wait are bounded, and very large bodies are left out. A
record is one whole flow: if the proxy is killed, all flows that were written can be read.
"""

import logging
import os
import secrets
import stat
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread

from mitmproxy import http
from mitmproxy.io import FlowWriter

from toolcalls.mitm import flow_metadata
from toolcalls.mitm.append_file import WRITE, AppendFile, OpenFile
from toolcalls.mitm.offline.redact import redacted
from toolcalls.mitm.websocket.turns import original_messages

MAX_WAITING = 32 * 1024 * 1024  # bytes of bodies that may wait to be written; one flow always may
MAX_BODY = 8 * 1024 * 1024  # bytes of a body, or characters of a call's arguments, that are recorded
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_CLOSE_SECONDS = 1.0  # seconds that mitmproxy's end may be held up to write what still waits

logger = logging.getLogger(__name__)


class Recorder:
    """One folder. Raises OSError when no file can be made in it, or when it is a link."""

    def __init__(self, folder: Path) -> None:
        if folder.is_symlink():  # who may change the link would decide where recordings go
            raise OSError(f"{folder} is a link; name the folder itself")
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.name == "posix" and (mode := stat.S_IMODE(folder.stat().st_mode)) & _OTHERS:
            logger.warning(f"toolcalls_record: others may look into {folder} (mode {mode:o}); chmod 700 keeps them out")
        self.file = AppendFile(lambda: _create_file(folder))
        self._queue: SimpleQueue[tuple[http.HTTPFlow, int] | None] = SimpleQueue()
        self._lock = Lock()  # of the two counts below
        self._waiting = 0
        self._flows = 0
        self._writing = Lock()  # held while something is written, so that the file is not closed meanwhile
        self._closed = False
        self._thread = Thread(target=self._work, name="toolcalls-record", daemon=True)
        self._thread.start()

    def add(self, flow: http.HTTPFlow) -> None:
        """Write a flow as it is now; it may change afterwards."""
        copied = _copy(flow)
        size = _size(copied)
        with self._lock:
            fits = not self._flows or self._waiting + size <= MAX_WAITING
            if fits:
                self._waiting += size
                self._flows += 1
        if fits:
            self._queue.put((copied, size))
        else:
            self.file.count_missing("flows come faster than they can be written")

    def close(self) -> None:
        """Write what waits, as far as there is time for it."""
        self._queue.put(None)
        self._thread.join(_CLOSE_SECONDS)
        with self._writing:
            self._closed = True
            with self._lock:
                left = self._flows
            for _ in range(left):
                self.file.count_missing("mitmproxy ends")
            self.file.close()

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            flow, size = item
            try:
                record, why = _serialized(flow), ""
            except Exception as error:  # noqa: BLE001 - one flow that cannot be written must not end the recording
                record, why = b"", f"{type(error).__name__} in flow {flow.id}"
            with self._writing:
                if self._closed:  # it is counted as missing
                    return
                if why:
                    self.file.count_missing(why)
                else:
                    self.file.append(record)
                with self._lock:
                    self._waiting -= size
                    self._flows -= 1


def _create_file(folder: Path) -> OpenFile:
    """A new file, never one that is there."""
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"toolcalls-{when}-{secrets.token_hex(4)}.flow"
    return OpenFile(path, os.open(path, WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def _size(flow: http.HTTPFlow) -> int:
    """How much a waiting flow holds, in bytes."""
    response = None if flow.response is None else flow.response.raw_content
    bodies = [
        flow.request.raw_content,
        response,
        *(flow.metadata.get(name) for name in (flow_metadata.UPSTREAM, flow_metadata.REQUEST)),
    ]
    messages = () if flow.websocket is None else flow.websocket.messages
    said = [*(one.content for one in messages), *original_messages(flow).values()]
    return sum(len(body) for body in (*bodies, *said) if isinstance(body, bytes))


def _copy(flow: http.HTTPFlow) -> http.HTTPFlow:
    """The same flow for another thread: headers and lists are copies, bodies are shared, since bytes do not change."""
    made = http.HTTPFlow(flow.client_conn, flow.server_conn)
    made.id = flow.id
    made.timestamp_created = flow.timestamp_created
    made.request = flow.request.copy()
    made.response = None if flow.response is None else flow.response.copy()
    made.websocket = flow.websocket
    made.error = flow.error
    made.comment, made.marked = flow.comment, flow.marked
    made.metadata = dict(flow.metadata)
    _drop_large_bodies(made)
    return made


def _drop_large_bodies(flow: http.HTTPFlow) -> None:
    """Take out of a flow, a copy, what is too large to be recorded."""
    for message in (flow.request, flow.response):
        if message is not None and len(message.raw_content or b"") > MAX_BODY:
            message.raw_content = None
    for name in (flow_metadata.UPSTREAM, flow_metadata.REQUEST):
        if len(flow.metadata.get(name) or b"") > MAX_BODY:
            del flow.metadata[name]
    report = flow.metadata.get(flow_metadata.REPORT)
    if isinstance(report, dict):
        verdicts = [
            {**verdict, "arguments": None} if len(verdict.get("arguments") or "") > MAX_BODY else verdict
            for verdict in report["verdicts"]
        ]
        flow.metadata[flow_metadata.REPORT] = {**report, "verdicts": verdicts}


def _serialized(flow: http.HTTPFlow) -> bytes:
    out = BytesIO()
    FlowWriter(out).add(redacted(flow))
    return out.getvalue()
