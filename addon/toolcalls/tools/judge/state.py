"""A file that says which parts of an archive are done and with what result, so that a run that was ended goes on.

JSON lines, read by its owner only (0600): what the run was asked, then a line for each part that is done. A part counts
as done while its file has the size and the time that it had. The last line may be torn, as a process that is killed
leaves it: it is cut off, and its part is done again. What is kept in memory of a line is where it begins.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from toolcalls.streams import BadInput
from toolcalls.tools.archive.parts import Part

_VERSION = 1
_FIRST = 1 << 20  # bytes of the first line, at most


class State:
    """The file while a run goes on."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._done: dict[tuple[str, int], tuple[str, int | None, int]] = {}

    def load(self) -> None:
        """Read where each line begins, from the second one on, and cut off what is torn."""
        at = self._file.tell()
        for line in self._file:
            one = _read(line) if line.endswith(b"\n") else None
            if one is None or not isinstance(one.get("part"), list) or len(one["part"]) != 4:
                break
            path, version, start, end = one["part"]
            self._done[path, start] = (version, end, at)
            at += len(line)
        self._file.truncate(at)

    def has(self, part: Part) -> bool:
        """Whether a part is done, and its file is what it was."""
        version, end, _ = self._done.get((part.file.path, part.start), ("", -1, 0))
        return (version, end) == (part.file.version, part.end)

    def result(self, part: Part) -> Any:
        """What was said of a part that is done."""
        self._file.seek(self._done[part.file.path, part.start][2])
        one = _read(self._file.readline())
        assert one is not None
        return one["result"]

    def add(self, part: Part, result: Any) -> None:
        """Write down that a part is done."""
        self._file.seek(0, os.SEEK_END)
        at = self._file.tell()
        key = [part.file.path, part.file.version, part.start, part.end]
        self._file.write(json.dumps({"part": key, "result": result}).encode() + b"\n")
        self._file.flush()
        self._done[part.file.path, part.start] = (part.file.version, part.end, at)

    def parts(self) -> Iterator[tuple[str, int]]:
        """The parts that the file names, by path and start."""
        return iter([*self._done])


@contextmanager
def state(path: str, asked: Mapping[str, Any]) -> Iterator[State]:
    """The file at `path`, made if it is not there. `asked` is what results depend on. Raises BadInput."""
    asked = {"toolcalls_state": _VERSION, **asked}
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: the state file cannot be opened: {error}") from error
    with os.fdopen(number, "r+b") as file:
        first = file.readline(_FIRST)
        if not first:
            file.write(json.dumps(asked).encode() + b"\n")
        elif (one := _read(first)) is None or "toolcalls_state" not in one:
            raise BadInput(f"{path}: this is no state file; name another one")
        elif one != asked:
            names = ", ".join(sorted(key for key in {*one, *asked} if one.get(key) != asked.get(key)))
            raise BadInput(f"{path}: it was begun with something else ({names}); name another one, or remove it")
        made = State(file)
        made.load()
        yield made


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        one = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return one if isinstance(one, dict) else None
