"""How far a command has come with its files: a bar on standard error with the rate and the time left.

There is one only where standard error is a terminal. What counts is bytes, since nobody knows how many flows a file
holds before it has been read. Lines of results go out through `line`, so that the bar stays below them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from mitmproxy import http
from mitmproxy.flow import Flow

from toolcalls.flows.flow_files import flows
from toolcalls.insight.formatting import counted
from toolcalls.streams import encode
from toolcalls.tools.progress_bar import progress_bar, write_above


class Progress:
    """The bar of one command, a context manager. `files` are the paths that will be read, in order; `sizes` are theirs
    in bytes where they are known already, None for one that is not.
    """

    def __init__(self, files: Sequence[str], sizes: Sequence[int | None] | None = None) -> None:
        self._files = tuple(files)
        self._sizes = [_size(path) for path in files] if sizes is None else [*sizes]
        self._done = 0  # bytes of the files before this one
        self._flows = 0
        # Without a size that is known (standard input), the bar counts and names no time.
        total = sum(size for size in self._sizes if size is not None) if None not in self._sizes else None
        self._bar = progress_bar(total, "B", scaled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def exchanges(self) -> Iterator[tuple[str, int, http.HTTPFlow]]:
        """The HTTP flows of the files, each with its file and its number among the flows of it, from 1."""
        for path, number, flow in self.flows():
            if isinstance(flow, http.HTTPFlow):
                yield path, number, flow

    def flows(self) -> Iterator[tuple[str, int, Flow]]:
        """The same for flows of any kind."""
        for path, size in zip(self._files, self._sizes, strict=True):
            for number, flow in enumerate(flows(path, self._at), 1):
                yield path, number, flow
            self._done += size or 0

    def add(self, size: int, flows: int) -> None:
        """`flows` more have been read elsewhere, with `size` bytes."""
        self._flows += flows
        if not self._bar.disable:
            self._bar.set_postfix_str(counted(self._flows, "flow"), refresh=False)
            self._bar.update(size)

    def line(self, text: str) -> None:
        """Write a line to standard output."""
        write_above(self._bar, encode(f"{text}\n"))

    def _at(self, position: int) -> None:
        """`position` bytes of the current file have been read."""
        self._flows += 1
        if not self._bar.disable:
            self._bar.set_postfix_str(counted(self._flows, "flow"), refresh=False)
            self._bar.update(self._done + position - self._bar.n)


def _size(path: str) -> int | None:
    """Bytes of a file; None where they are not known. A file that is not there is reported when it is read."""
    try:
        return Path(path).stat().st_size if path != "-" else None
    except (OSError, ValueError):
        return 0
