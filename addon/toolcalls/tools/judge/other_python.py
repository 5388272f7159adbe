"""`toolcalls judge --against-python PATH`: the same files judged by another installed version of the project.

Its `toolcalls judge --jsonl` runs in that Python, and its lines are read as it writes them, flow by flow beside our own
reading, so memory does not grow with the archive. Both read the files by themselves: nothing of a flow goes through the
pipe but its verdicts. The first line says which version of the lines it speaks; one that is not ours is refused.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Self

from toolcalls.streams import BadInput

LINES = 1  # the version of the lines of `judge --jsonl`
_PATIENCE = 600.0  # seconds for one flow
_STARTS = 120.0  # seconds until the first line
_PIECE = 1 << 16
_LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")  # ours, which would be found first


class OtherPython:
    """What another version says of the same files, in their order. A context manager; raises BadInput."""

    def __init__(self, python: str, config: str | None, files: Sequence[str]) -> None:
        path = Path(python)
        self._python = str(path / "bin" / "python") if path.is_dir() else python
        if "-" in files:
            raise BadInput("--against-python: standard input cannot be read twice; name files")
        options = [] if config is None else ["--config", config]
        # -P: a folder `toolcalls` in the working directory is not what is installed.
        self._command = [self._python, "-P", "-m", "toolcalls", "judge", "--jsonl", *options, "--", *files]
        self._buffer = b""
        self._ahead: dict[str, Any] | None = None
        self._order = {name: place for place, name in enumerate(files)}  # each is named once
        self.version = ""

    def __enter__(self) -> Self:
        self._errors: IO[bytes] = TemporaryFile()
        environment = {key: value for key, value in os.environ.items() if key not in _LEFT_OUT}
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, env=environment
            )
        except OSError as error:
            self._errors.close()
            raise BadInput(f"--against-python: {self._python}: {error.strerror or error}") from error
        try:
            first = self._next(_STARTS)
            if first is None or "version" not in first or "toolcalls" not in first:
                raise BadInput(self._failure("its `toolcalls judge --jsonl` did not begin with a version"))
            if first["version"] != LINES:
                raise BadInput(
                    f"--against-python: {self._python} has toolcalls {first['toolcalls']}, which writes version "
                    f"{first['version']} of the lines of `judge --jsonl`; this one reads {LINES}"
                )
        except BaseException:
            self._end()
            self._errors.close()
            raise
        self.version = str(first["toolcalls"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._errors.close()

    def before(self, file: str, number: int) -> dict[str, Any] | None:
        """What it says of a flow; None where it says nothing. Flows are asked for in the order of the files."""
        wanted = (self._order[file], number)
        while True:
            if self._ahead is None:
                self._ahead = self._next(_PATIENCE)
            if self._ahead is None or "flow" not in self._ahead:
                return None  # the sum, or the end
            have = (self._order.get(self._ahead["file"], -1), self._ahead["number"])
            if have > wanted:
                return None
            found, self._ahead = self._ahead, None
            if have == wanted:
                return found

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """Its next line; None at its end."""
        line = self._line(seconds)
        if line is None:
            if self._process.wait(timeout=_STARTS) not in {0, 1}:
                raise BadInput(self._failure(f"its `toolcalls judge` ended with status {self._process.returncode}"))
            return None
        try:
            found = json.loads(line)
        except ValueError as error:
            raise BadInput(self._failure("its `toolcalls judge --jsonl` wrote a line that is no JSON")) from error
        return found if isinstance(found, dict) else {}

    def _line(self, seconds: float) -> bytes | None:
        pipe = self._process.stdout
        assert pipe is not None
        ends = time.monotonic() + seconds
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([pipe], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise BadInput(self._failure(f"its `toolcalls judge` has written nothing for {seconds:.0f} seconds"))
            piece = os.read(pipe.fileno(), _PIECE)
            if not piece:
                self._buffer = b""
                return None
            pieces.append(piece)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line

    def _failure(self, what: str) -> str:
        """What went wrong, in one line that says what to do."""
        self._end()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        last = said[-1] if said else ""
        where = f"--against-python: {self._python}"
        if "No module named" in last and "toolcalls" in last:
            return f"{where}: toolcalls is not installed there; install it with `{self._python} -m pip install …`"
        if "--jsonl" in last and ("unrecognized arguments" in last or "unknown --jsonl" in last):
            return f"{where}: its toolcalls is too old for this: its `judge` has no --jsonl"
        return f"{where}: {what}" + (f": {last}" if last else "")

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
