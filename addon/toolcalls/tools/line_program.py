"""A program that answers a line of JSON with a line of JSON: started, asked with a limit of time, started again.

A program that dies or is silent for too long costs the case that it was asked about, and no other: it is started again
for the next one. One that dies again and again is given up.
"""

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Self

from toolcalls.streams import BadInput, as_json

_GIVEN_UP = 10  # deaths in a row
_ENDS = 2.0  # seconds to end by itself when nothing more is asked
_PIECE = 1 << 16
_MAX_LINE = 1 << 26  # bytes of an answer


class LineProgram:
    """A context manager. `command` is a program and its arguments, or one text that is split as a shell would (no shell
    runs); `seconds` is for one answer.
    """

    def __init__(self, command: str | Sequence[str], seconds: float) -> None:
        try:
            self._command = shlex.split(command) if isinstance(command, str) else [*command]
        except ValueError as error:
            raise BadInput(f"--run: {error}: {command}") from error
        if not self._command:
            raise BadInput("--run: no command was given")
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._deaths = 0

    def __enter__(self) -> Self:
        self._errors: IO[bytes] = TemporaryFile()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(_ENDS)
        self._errors.close()

    def ask(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its answer, or {"error"} where it has none. Raises BadInput where it cannot be started or keeps dying."""
        process = self._process or self._start()
        ends = time.monotonic() + self._seconds
        try:
            self._write(process, as_json(line).encode() + b"\n", ends)
            answer = self._read(process, ends)
        except TimeoutError:
            self._end()
            return {"error": f"no answer in {self._seconds:g} seconds (does it flush each line?)"}
        except (BrokenPipeError, EOFError):
            status = self._end(_ENDS)
            self._deaths += 1
            if self._deaths >= _GIVEN_UP:
                why = f"{self._command[0]} has died {self._deaths} times in a row (status {status})"
                raise BadInput(why + self._last_words()) from None
            return {"error": f"it died with status {status}{self._last_words()}"}
        self._deaths = 0
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError) as error:
            return {"error": f"its answer is no JSON: {error}"}
        if not isinstance(found, dict):
            return {"error": "its answer is no JSON object"}
        if found.get("id", line.get("id")) != line.get("id"):
            self._end()  # whatever comes next would be an answer to something else, too
            return {"error": f"its answer is for {str(found['id'])[:80]!r}"}
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        self._buffer = b""
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            raise BadInput(f"{self._command[0]}: {error.strerror or error}") from error
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)  # one that does not read must not hold us
        self._process = process
        return process

    def _write(self, process: subprocess.Popen[bytes], data: bytes, ends: float) -> None:
        assert process.stdin is not None
        pipe = process.stdin.fileno()
        while data:
            _, ready, _ = select.select([], [pipe], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise TimeoutError
            data = data[os.write(pipe, data[:_PIECE]) :]

    def _read(self, process: subprocess.Popen[bytes], ends: float) -> bytes:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        pieces, size = [self._buffer], len(self._buffer)
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([pipe], [], [], max(0.0, ends - time.monotonic()))
            if not ready or size > _MAX_LINE:
                raise TimeoutError
            piece = os.read(pipe, _PIECE)
            if not piece:
                raise EOFError
            pieces.append(piece)
            size += len(piece)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line

    def _end(self, patience: float = 0.0) -> int | None:
        """End the program and whatever it started; its exit status. `patience`: seconds to end by itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        return process.wait()

    def _last_words(self) -> str:
        """The last line that it wrote to standard error."""
        self._errors.seek(0)
        said = self._errors.read()[-_PIECE:].decode("utf-8", "replace").strip().splitlines()
        self._errors.seek(0, os.SEEK_END)
        return f": {said[-1]}" if said else ""
