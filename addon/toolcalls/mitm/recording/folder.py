"""The files of a recording: which one is written, when the next one begins, and which are deleted.

A file's name is made here, never by traffic. While it is written its descriptor is locked (`flock`), which the system
undoes when the writer is killed, so every process that records into the folder sees which files it may delete: those of
such a name that nobody writes, the oldest first, when all of them with their indexes would be larger than the total.
What is in other files is never counted and never deleted.
"""

import fcntl
import logging
import os
import re
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from toolcalls.flows.flow_index import index_path, line
from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible
from toolcalls.mitm.append_file import WRITE, AppendFile, OpenFile
from toolcalls.mitm.recording.limits import Limits

OPEN = 32  # files that are open at a time, where each session has its own
NAME = re.compile(r"toolcalls-\d{8}T\d{6}Z(?:-[0-9a-f]{8}){1,2}\.flow")
_LOOKS = 20  # how often the folder is looked at while as much is written as is kept

logger = logging.getLogger(__name__)


class RecordingFolder:
    """A folder that is recorded into. `clock` is `time.time`."""

    def __init__(self, folder: Path, limits: Limits, clock: Callable[[], float] = time.time) -> None:
        self.exchanges = 0  # that were written
        self.missing = 0  # that were not
        self._folder = folder
        self._limits = limits
        self._clock = clock
        self._open: OrderedDict[str, _RecordingFile] = OrderedDict()  # by label, that used last at the end
        self._missing: Counter[str] = Counter()  # by reason, since a file was closed
        self._total = 0  # bytes in the folder, as far as we know
        self._until_look = 0  # bytes that may be written until it is looked at again

    def add(self, record: bytes, entries: list[dict[str, Any]]) -> bool:
        """Write a flow and its lines. Whether it was written; if not, it is counted."""
        self.close_old()
        label = _label(entries) if self._limits.split == "session" else ""
        file = self._open.get(label)
        if file is not None and file.size and file.size + len(record) > self._limits.largest_file:
            self._close(label, "it is as large as a file may be")
        size = len(record) + 1024 * len(entries)  # lines are mostly shorter, and few have more
        if size > self._limits.total:
            self.count_missing("one exchange is larger than toolcalls_record_total")
            return False
        self._make_room(size, label)
        file = self._open.get(label) or self._begin(label)
        if file is None:
            return False
        self._open.move_to_end(label)
        written = file.append(record, entries)
        if written:
            self.exchanges += len(entries)
            self._total += written
            self._until_look -= written
        else:
            self.missing += 1
            self._missing[file.error] += 1
        return bool(written)

    def count_missing(self, why: str, count: int = 1) -> None:
        """Count flows that are not written. The first of each reason is logged."""
        if not self._missing[why]:
            logger.warning(f"toolcalls: a flow cannot be recorded: {why}; traffic is not affected")
        self._missing[why] += count
        self.missing += count

    def close_old(self) -> None:
        """Close the files that are as old as a file may be."""
        limit = self._clock() - self._limits.file_age
        for label in [label for label, file in self._open.items() if file.began <= limit]:
            self._close(label, "it is as old as a file may be")

    def close(self, why: str) -> None:
        """Close all files. What is missing is counted in the last line of the last one."""
        if self._missing and not self._open:
            self._begin("")
        for label in list(self._open):
            self._close(label, why)
        if self.missing:
            logger.warning(
                f"toolcalls: {counted(self.missing, 'record')} {'is' if self.missing == 1 else 'are'} missing in "
                f"{visible(str(self._folder))}"
            )

    def _begin(self, label: str) -> "_RecordingFile | None":
        if len(self._open) >= OPEN:
            self._close(next(iter(self._open)), "others are written")
        try:
            file = _RecordingFile(self._folder, label, self._clock())
        except OSError as error:
            self.count_missing(f"no file can be made in {self._folder}: {error.strerror or type(error).__name__}")
            return None
        self._open[label] = file
        return file

    def _close(self, label: str, why: str) -> None:
        only = len(self._open) == 1
        file = self._open.pop(label)
        missing = self._missing if only or label == "" else Counter[str]()
        file.close(
            {
                "ended": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds"),
                "why": why,
                "exchanges": file.exchanges,
                "missing": sum(missing.values()),
                "reasons": dict(missing),
            }
        )
        if missing is self._missing:
            self._missing = Counter()

    def _make_room(self, size: int, label: str) -> None:
        """Delete files until there is room for a record."""
        total = self._limits.total
        if self._until_look > 0 and self._total + size <= total:
            return
        found = self._look()
        while self._total + size > total:
            if not found:
                if not self._open:
                    return
                # Nothing but what is open: that used longest ago goes, the one to be written last.
                self._close(next((one for one in self._open if one != label), label), "there is no more room")
                found = self._look()
                continue
            self._delete(*found.pop(0))
        self._until_look = total // _LOOKS

    def _look(self) -> list[tuple[Path, int]]:
        """Add up what is in the folder. The files that may be deleted with their sizes, the oldest first."""
        ours = {file.path for file in self._open.values()}
        self._total = 0
        found = []
        with suppress(OSError):  # the folder is gone; who writes says so
            for path in sorted(self._folder.iterdir()):
                if NAME.fullmatch(path.name):
                    size = size_of(path) + size_of(index_path(path))
                    self._total += size
                    if path not in ours:
                        found.append((path, size))
        return found

    def _delete(self, path: Path, size: int) -> None:
        """Delete a file with its index, unless somebody writes it."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                index_path(path).unlink(missing_ok=True)
                path.unlink()
            finally:
                os.close(descriptor)
        except OSError:
            return  # another process writes it, or has deleted it
        self._total -= size
        logger.info(f"toolcalls: {visible(path.name)} was deleted: the recordings reached toolcalls_record_total")


def size_of(path: Path) -> int:
    """The bytes of a file; 0 where there is none."""
    try:
        return path.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _label(entries: list[dict[str, Any]]) -> str:
    """What stands for a session in a name: the session's own id comes from traffic."""
    session = str(entries[0]["session"]) if entries else ""
    return blake2b(session.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


@dataclass
class _RecordingFile:
    """A file of flows and its index. Raises OSError when it cannot be made."""

    folder: Path
    label: str
    began: float
    size: int = 0
    exchanges: int = 0
    flows: AppendFile = field(init=False)
    lines: AppendFile = field(init=False)

    def __post_init__(self) -> None:
        self.flows = AppendFile(self._create)
        self._begin_index()

    @property
    def path(self) -> Path:
        return self.flows.path

    @property
    def error(self) -> str:
        return self.flows.error

    def append(self, record: bytes, entries: list[dict[str, Any]]) -> int:
        """Write a flow and its lines; how many bytes that took, 0 where the flow could not be written.

        A line that cannot be written is no loss: what has none is read from the file.
        """
        before = self.flows.path
        if not self.flows.append(record):
            return 0
        if self.flows.path != before:  # somebody has moved the file away, and another one was begun
            self.lines.close()
            self.size = self.exchanges = 0
            self._begin_index()
        place = {"offset": self.flows.offset, "length": len(record)}
        lines = b"".join(line({**entry, **place}) for entry in entries)
        self.lines.append(lines)
        self.size += len(record)
        self.exchanges += len(entries)
        return len(record) + len(lines)

    def close(self, end: dict[str, Any]) -> None:
        """Write the last line and close both."""
        self.lines.append(line(end))
        self.lines.close()
        self.flows.missing = 0  # the folder counts, and says it once
        self.flows.close()

    def _begin_index(self) -> None:
        path = index_path(self.flows.path)
        self.lines = AppendFile(lambda: OpenFile(path, os.open(path, WRITE | os.O_CREAT | os.O_NOFOLLOW, 0o600)))

    def _create(self) -> OpenFile:
        """A new file, never one that is there, locked as long as it is open."""
        when = datetime.fromtimestamp(self.began, UTC).strftime("%Y%m%dT%H%M%SZ")
        label = f"{self.label}-" if self.label else ""
        path = self.folder / f"toolcalls-{when}-{label}{secrets.token_hex(4)}.flow"
        descriptor = os.open(path, WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with suppress(OSError):  # a file system without locks: then another process may delete it, as the oldest
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return OpenFile(path, descriptor)
