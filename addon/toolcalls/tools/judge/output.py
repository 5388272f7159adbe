"""Where the results of `toolcalls judge` go: lines for people, JSON, JSON lines, annotations of GitHub, JUnit XML.

`--jsonl` is also what `--against-python` reads of another version: its first line says the version of the lines (raise
`other_python.LINES` when a key changes its meaning), then one line for each flow, then the sum.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from tempfile import TemporaryFile
from textwrap import indent
from types import TracebackType
from typing import IO, Any, Self

from toolcalls import __version__
from toolcalls.streams import as_json, encode, write_finding
from toolcalls.tools.judge.junit import JUnit
from toolcalls.tools.judge.lines import annotation_of, lines_of
from toolcalls.tools.judge.other_python import LINES
from toolcalls.tools.judge.summary import Summary

_PIECE = 1 << 20  # bytes


class Output:
    """What the options ask for, a context manager. `line` writes a line to standard output, above the progress bar.

    Memory does not grow with the flows: what `--json` and `--junit` can write only at the end waits in temporary files.
    """

    def __init__(self, arguments: Namespace, line: Callable[[str], None]) -> None:
        self._line = line
        self._jsonl: bool = arguments.jsonl
        self._github: bool = arguments.github
        self._table: bool = arguments.summary
        self._junit_path: str | None = arguments.junit
        self._files = ExitStack()
        self._junit = JUnit(self._temporary()) if arguments.junit is not None else None
        self._whole = _Whole(self._temporary()) if arguments.json else None
        self.summary = Summary()
        if self._jsonl:
            line(as_json({"version": LINES, "toolcalls": __version__}))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    def _temporary(self) -> IO[bytes]:
        return self._files.enter_context(TemporaryFile())

    def add(self, result: Mapping[str, Any]) -> None:
        """Write one compared flow (`judged_flow.compare`), and count it."""
        self.summary.add(result)
        if self._junit is not None:
            self._junit.add(result)
        if self._whole is not None:
            self._whole.add(result)
        elif self._jsonl:
            self._line(as_json(result))
        elif self._github:
            if (annotation := annotation_of(result)) is not None:
                self._line(annotation)
        else:
            for line in lines_of(result):
                self._line(line)

    def end(self) -> None:
        """All flows have been read. Raises OSError where the JUnit file cannot be written."""
        if self._junit is not None and self._junit_path is not None:
            self._junit.write(self._junit_path)
        if self._whole is not None:
            for piece in self._whole.pieces(self.summary.data()):
                write_finding(piece)
        elif self._jsonl:
            self._line(as_json({"summary": self.summary.data()}))
        else:
            if self._table:
                for line in self.summary.table():
                    self._line(line)
            self._line(self.summary.line)


class _Whole:
    """One JSON object of all results, which is written as a whole or, where the files cannot be read, not at all."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._pretty = sys.stdout.isatty()
        self._empty = True

    def add(self, result: Mapping[str, Any]) -> None:
        made = as_json(result, pretty=self._pretty)
        between = "" if self._empty else ",\n" if self._pretty else ", "
        self._file.write(encode(between + (indent(made, "    ") if self._pretty else made)))
        self._empty = False

    def pieces(self, summary: Mapping[str, Any]) -> Iterator[bytes]:
        """The object, piece by piece, as `as_json` writes it."""
        frame = as_json({"version": 1, "flows": [], "summary": summary}, pretty=self._pretty)
        before, _, after = frame.partition("[]")
        newline = "\n" if self._pretty and not self._empty else ""
        yield encode(f"{before}[{newline}")
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece
        yield encode(f"{newline and '\n  '}]{after}\n")
