"""Moves files of a recording that nobody writes any more into a store (`toolcalls_record_store`), such as S3.

A thread of the process that writes looks into the folder now and then. A file is locked while it is moved, so several
processes may record into one folder, and what a killed one has left is moved by another. Its index goes first: who
finds a file there also finds its index. Where the store does not take a file, it stays in the folder, which is bounded
by `toolcalls_record_total`, and is tried again.

Paths with a scheme are written through fsspec, which has its settings from its own files and from the environment
(https://filesystem-spec.readthedocs.io/): no key is in an option.
"""

import fcntl
import logging
import os
from pathlib import Path
from threading import Event, Thread
from typing import Any

from toolcalls.flows.flow_index import index_path
from toolcalls.mitm.recording.folder import NAME, size_of

_LOOKS = 5.0  # seconds between two looks into the folder
_TRIES = 60.0  # seconds until a store that has failed is tried again
_CLOSE = 50.0  # seconds for what is left at the end; mitmproxy waits for a minute

logger = logging.getLogger(__name__)


class RecordingStore:
    """A store for the files of one folder, until `close`."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url.rstrip("/")
        self._system: Any = None
        self._failed = False
        self._ends = Event()
        self._thread = Thread(target=self._run, name="toolcalls-record-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Move what is left, as far as there is time for it."""
        self._ends.set()
        self._thread.join(_CLOSE)
        if left := len(self._files()):
            logger.warning(f"toolcalls: files not yet moved to toolcalls_record_store: {left}")

    def _run(self) -> None:
        while not self._ends.wait(_TRIES if self._failed else _LOOKS):
            self._move_all()
        self._move_all()

    def _files(self) -> list[Path]:
        """What is to be moved. In an empty file nothing is, and who has just made one may not have locked it yet."""
        return [path for path in sorted(self._folder.iterdir()) if NAME.fullmatch(path.name) and size_of(path)]

    def _move_all(self) -> None:
        try:
            for path in self._files():
                self._move(path)
        except Exception as error:  # noqa: BLE001 - each store fails in its own way, and the recording goes on
            if not self._failed:  # without what it says, which may hold a key
                logger.warning(
                    f"toolcalls: toolcalls_record_store does not accept files ({type(error).__name__}); "
                    "they stay in the folder, and the addon tries again"
                )
            self._failed = True
            return
        if self._failed:
            self._failed = False
            logger.info("toolcalls: toolcalls_record_store accepts files again")

    def _move(self, path: Path) -> None:
        """Move a file and its index, unless somebody writes it. Raises what the store raises."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # another process has moved it
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return  # it is being written, or moved
        try:
            index = index_path(path)
            for one in (index, path):
                if one.exists():
                    self._put(one)
            index.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)

    def _put(self, path: Path) -> None:
        if self._system is None:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - a second, and here only

            self._system, self._root = url_to_fs(self._url)
            self._system.makedirs(self._root, exist_ok=True)
        self._system.put_file(str(path), f"{self._root}/{path.name}")
