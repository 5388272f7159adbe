"""A file that whole records are appended to, and what happens when they cannot be.

The file is its owner's alone, and no link to it is followed, since whoever made the link chose where we write. A record
is written whole or not at all: what a full disk took of one is cut off again, so whatever stands in the file can be
read. A fault stops no traffic. There is one warning, each record after it tries once more, also where the file has to
be made anew because somebody took it away, and `missing` counts what was not written.
"""

import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toolcalls.insight.report import visible

logger = logging.getLogger(__name__)

WRITE = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class OpenFile(NamedTuple):
    """A file, open for appending (`WRITE`)."""

    path: Path
    descriptor: int


class AppendFile:
    """One file at a time. Raises what `open_` raises at the first time: OSError when it cannot be opened.

    open_   opens the file, again where it has gone
    """

    def __init__(self, open_: Callable[[], OpenFile]) -> None:
        self.missing = 0
        self._open = open_
        self._warned = False
        self.path, self._file = open_()
        self._make_private()

    def append(self, record: bytes) -> bool:
        """Write one record; whether it was."""
        try:
            if self._file < 0 or self._was_replaced():
                self._reopen()
            self._write(record)
        except OSError as error:
            self.count_missing(error.strerror or type(error).__name__)
            return False
        return True

    def count_missing(self, why: str) -> None:
        """A record is not written."""
        self.missing += 1
        if not self._warned:
            self._warned = True
            logger.warning(f"toolcalls: {visible(str(self.path))} cannot be written: {why}; the traffic goes on")

    def close(self) -> None:
        """Write nothing more, and say how much is missing."""
        self._close_file()
        if self.missing:
            records = "1 record is" if self.missing == 1 else f"{self.missing} records are"
            logger.warning(f"toolcalls: {records} missing in {visible(str(self.path))}")
            self.missing = 0

    def _make_private(self) -> None:
        """Let its owner alone read it. A terminal or a pipe is not ours to close to others."""
        self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
        if self._regular:
            os.fchmod(self._file, 0o600)

    def _was_replaced(self) -> bool:
        """Whether the path names another file by now, or none: what we hold open nobody would find."""
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

    def _cut_off(self, size: int, written: int) -> None:
        """Cut off the part of a record that was written, unless somebody else has written behind it."""
        if written and self._regular:
            with suppress(OSError):  # what made the writing fail is told, and readers stop at a torn tail
                if os.fstat(self._file).st_size == size + written:
                    os.ftruncate(self._file, size)
