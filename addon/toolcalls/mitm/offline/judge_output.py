"""Where the results of `toolcalls judge` go: lines for people, JSON, JSON lines, annotations of GitHub, JUnit XML.

`--jsonl` is also what `--against-python` reads of another version: its first line says the version of the lines (raise
`other_python.LINES` when a key changes its meaning), then one line for each flow, then the sum.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from toolcalls import __version__
from toolcalls.commands.streams import as_json, write_line
from toolcalls.mitm.offline.judge_lines import annotation_of, lines_of
from toolcalls.mitm.offline.judge_summary import Summary
from toolcalls.mitm.offline.junit import JUnit
from toolcalls.mitm.offline.other_python import LINES


class Output:
    """What the options ask for. `line` writes a line to standard output, above the progress bar."""

    def __init__(self, arguments: Namespace, line: Callable[[str], None]) -> None:
        self._line = line
        self._json: bool = arguments.json
        self._jsonl: bool = arguments.jsonl
        self._github: bool = arguments.github
        self._table: bool = arguments.summary
        self._junit_path: str | None = arguments.junit
        self._junit = JUnit() if arguments.junit is not None else None
        self._results: list[Mapping[str, Any]] = []
        self.summary = Summary()
        if self._jsonl:
            line(as_json({"version": LINES, "toolcalls": __version__}))

    def add(self, result: Mapping[str, Any]) -> None:
        """One compared flow (`judged_flow.compare`)."""
        self.summary.add(result)
        if self._junit is not None:
            self._junit.add(result)
        if self._json:
            self._results.append(result)
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
        if self._json:
            data = {"version": 1, "flows": self._results, "summary": self.summary.data()}
            write_line(as_json(data, pretty=sys.stdout.isatty()))
        elif self._jsonl:
            self._line(as_json({"summary": self.summary.data()}))
        else:
            if self._table:
                for line in self.summary.table():
                    self._line(line)
            self._line(self.summary.line)
