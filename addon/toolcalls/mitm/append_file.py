"""A file that whole records are appended to, also when the disk is full or the file is moved away.

Only its owner can read the file, and a symbolic link is not followed, since whoever made the link would choose where we
write. A record is written whole or not at all: a part that a full disk accepted is cut off again, so the file stays
readable. A failure stops no traffic: it is logged once, each later record tries again, the file is created again if
somebody removed it, and `missing` counts the records that were not written.
"""

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from toolcalls.insight.report import visible

logger = logging.getLogger(__name__)

WRITE = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class OpenFile(NamedTuple):
    """A file, open for appending (`WRITE`)."""

    path: Path
    descriptor: int


class AppendFile:
    """One file at a time. Raises what the first call of `open_` raises: OSError when it cannot be opened.

    open_     opens the file; called again when the file was removed
    `offset` is where the last record begins that was written, `error` why the last one that was not could not be.
    """

    def __init__(self, open_: Callable[[], OpenFile]) -> None:
        self.missing = 0
        self.offset = 0
        self.error = ""
        self._counting = Lock()  # of `missing`: what comes too fast is counted in another thread than what is written
        self._open = open_
        self._warned = False
        self.path, self._file = open_()
        self._make_private()

    def append(self, record: bytes) -> bool:
        """Write one record. Whether it was written."""
        try:
            if self._file < 0 or self._was_replaced():
                self._reopen()
            self._write(record)
        except OSError as error:
            self.error = error.strerror or type(error).__name__
            self.count_missing(self.error)
            return False
        return True

    def count_missing(self, why: str) -> None:
        """Count a record that is not written, and log the first one."""
        with self._counting:
            self.missing += 1
            first, self._warned = not self._warned, True
        if first:
            logger.warning(f"toolcalls: {visible(str(self.path))} cannot be written: {why}; traffic is not affected")

    def close(self) -> None:
        """Close the file, and log how many records are missing."""
        self._close_file()
        if self.missing:
            records = "1 record is" if self.missing == 1 else f"{self.missing} records are"
            logger.warning(f"toolcalls: {records} missing in {visible(str(self.path))}")
            self.missing = 0

    def _make_private(self) -> None:
        """Let only its owner read it. The modes of a terminal or a pipe stay."""
        self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
        if self._regular:
            os.fchmod(self._file, 0o600)

    def _was_replaced(self) -> bool:
        """Whether the path names another file by now, or none, so that nobody would find what we write."""
        if not self._regular:
            return False
        held = os.fstat(self._file)
        try:
            named = self.path.stat(follow_symlinks=False)
        except OSError:
            return True
        return (held.st_dev, held.st_ino) != (named.st_dev, named.st_ino)

    def _reopen(self) -> None:
        self._close_file()
        self.path, self._file = self._open()
        self._make_private()

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, record: bytes) -> None:
        size = os.fstat(self._file).st_size
        written = 0
        try:
            while written < len(record):
                written += os.write(self._file, record[written:] if written else record)
        except OSError:
            self._cut_off(size, written)
            raise
        self.offset = size

    def _cut_off(self, size: int, written: int) -> None:
        """Cut off the part of a record that was written, unless somebody else has written after it."""
        if written and self._regular:
            with suppress(OSError):  # the error of the write is logged, and readers stop at a torn tail
                if os.fstat(self._file).st_size == size + written:
                    os.ftruncate(self._file, size)
