"""The process that writes a recording: takes flows from its standard input, redacts them and appends them to files.

It ends when its input does, so that also what a killed mitmproxy had handed over is written. `intake` begins it.

Out: on its standard output a line of JSON for each line of mitmproxy's log, and on a descriptor of its own how much is
done (`protocol.ACK`, sums since the beginning; one that finds the pipe full is left out, as the next one says more).
"""

import json
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from toolcalls.flows.flow_files import serialized
from toolcalls.flows.flow_index import entries_of
from toolcalls.flows.flow_redaction import redacted
from toolcalls.mitm.recording.folder import RecordingFolder
from toolcalls.mitm.recording.intake import Taken
from toolcalls.mitm.recording.limits import Limits
from toolcalls.mitm.recording.protocol import ACK, flow_from, message_of
from toolcalls.mitm.recording.store import RecordingStore

_LOOKS_AT_AGES = 5.0  # seconds
_KILLED = "mitmproxy was killed"

logger = logging.getLogger(__name__)


class Writer:
    """Writes what messages bring."""

    def __init__(self, folder: RecordingFolder, acknowledge: int | None = None) -> None:
        self.folder = folder
        self._acknowledge = acknowledge
        self._flows = 0
        self._bytes = 0

    def run(self, queue: SimpleQueue[Taken]) -> None:
        """Write until nothing more comes."""
        why = _KILLED
        while True:
            try:
                data = queue.get(timeout=_LOOKS_AT_AGES)
            except Empty:
                self.folder.close_old()
                continue
            if data == ():
                break
            if not isinstance(data, bytes):
                self.folder.count_missing("it was cut off when mitmproxy was killed")
                continue
            why = self.take(message_of(data), len(data)) or why
        self.folder.close(why)

    def take(self, message: dict[str, Any], size: int) -> str:
        """One message. Why the recording ends, "" where it does not."""
        for reason, count in message.get("missing", {}).items():
            self.folder.count_missing(reason, count)
        if "flow" in message:
            self._record(message["flow"])
            self._flows += 1
        self._bytes += size
        if self._acknowledge is not None:
            with suppress(BlockingIOError, BrokenPipeError):
                os.write(self._acknowledge, ACK.pack(self._flows, self._bytes))
        return str(message.get("end", ""))

    def _record(self, data: dict[str, Any]) -> None:
        try:
            flow = redacted(flow_from(data))
            entries, record = entries_of(flow, data["left_out"]), serialized(flow)
        except Exception as error:  # noqa: BLE001 - one flow that cannot be written must not end the recording
            # Without the exception's message, which may quote the flow.
            self.folder.count_missing(f"{type(error).__name__} in flow {data.get('id')}")
            return
        self.folder.add(record, entries)
        if data["left_out"]:
            names = ", ".join(data["left_out"])
            logger.info(f"toolcalls: flow {flow.id} is recorded without its {names}: too large")


class _ToParent(logging.Handler):
    """Lines of the log, as JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; a parent that is gone reads none."""
        with suppress(OSError, ValueError):
            line = json.dumps({"level": record.levelno, "text": record.getMessage()})
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


def write(queue: SimpleQueue[Taken], folder: str, limits: str, acknowledge: str, store: str) -> None:
    """Write what comes to a folder, by the members of `Limits` as JSON, and acknowledge it on a descriptor. Files go on
    to a `store`, where that is not empty.
    """
    with suppress(OSError):
        os.nice(5)  # replies come first
    logging.basicConfig(level=logging.INFO, handlers=[_ToParent()])
    os.set_blocking(int(acknowledge), False)
    moving = RecordingStore(Path(folder), store) if store else None
    Writer(RecordingFolder(Path(folder), Limits(**json.loads(limits))), int(acknowledge)).run(queue)
    if moving is not None:
        moving.close()
