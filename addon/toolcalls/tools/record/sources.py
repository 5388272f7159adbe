"""Exchanges of recordings, found by their indexes; what has none is read."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mitmproxy import http

from toolcalls.flows.flow_files import TornOff, flows, serialized
from toolcalls.flows.flow_index import SUFFIX, Index, entries_of, index_path
from toolcalls.flows.remote_files import first_line, path_of
from toolcalls.insight.report import visible
from toolcalls.streams import BadInput, print_error
from toolcalls.tools.archive.parts import SUFFIXES

_FILTERS = ("model", "agent", "session")


@dataclass(frozen=True, slots=True)
class Found:
    """A flow, with the lines of its exchanges. `data` is the flow itself where its file is no flow file."""

    path: Path
    entries: list[dict[str, Any]]
    data: bytes | None = None

    @property
    def time(self) -> str:
        """When its first request began."""
        return str(self.entries[0].get("time", ""))

    @property
    def id(self) -> str:
        """The flow's id."""
        return str(self.entries[0].get("id", "")).partition(".")[0]

    @property
    def size(self) -> int:
        """The bytes of the flow."""
        return len(self.data) if self.data is not None else int(self.entries[0]["length"])

    def read(self) -> bytes:
        """The flow as it is in its file. Raises BadInput."""
        if self.data is not None:
            return self.data
        with self.path.open("rb") as source:
            source.seek(self.entries[0]["offset"])
            data = source.read(self.entries[0]["length"])
        if len(data) != self.entries[0]["length"]:
            raise BadInput(f"{self.path}: the file has changed; run the command again")
        return data


def files_of(paths: Iterable[str]) -> list[Path]:
    """Files, and the flow files of folders in the order of their names. Raises BadInput."""
    return [path for name in paths for path in _named(name)]


def _named(name: str) -> list[Path]:
    path = path_of(name)
    try:
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.suffix.lower() in SUFFIXES)
            if not inside:
                raise BadInput(f"{name}: no file in this folder ends in {', '.join(SUFFIXES)}")
            return inside
        is_there = path.is_file()
    except BadInput:
        raise
    except Exception as error:  # each store fails in its own way
        raise BadInput(f"{name}: it cannot be listed: {first_line(error)}") from error
    if not is_there:
        raise BadInput(f"{name}: the file cannot be read: there is none; name a recording or its folder")
    if path.name.endswith(SUFFIX):
        raise BadInput(f"{name}: this is an index; name the file beside it, or its folder")
    return [path]


def found_in(path: Path, index: Index | None = None) -> Iterator[Found]:
    """The flows of a file, in its order. Raises BadInput."""
    if not index_path(path).exists() and not _holds_flows(path):
        for flow in flows(str(path)):
            if isinstance(flow, http.HTTPFlow):
                yield Found(path, entries_of(flow), serialized(flow))
        return
    held: list[dict[str, Any]] = []
    index = Index(path) if index is None else index
    try:
        for entry in index:
            if held and held[0]["offset"] != entry["offset"]:
                yield Found(path, held)
                held = []
            held = [*held, entry]
    except TornOff as torn:
        raise BadInput(f"{path}: {torn}; is this a flow file?") from torn
    if held:
        yield Found(path, held)
    if index.made > 20 and sys.stderr.isatty():
        print_error(
            "toolcalls record", f"{path}: {index.made} exchanges have no index; toolcalls record merge makes one"
        )
    if index.torn:
        print_error("toolcalls record", f"{visible(str(path))}: the last flow is torn off and left out")


def _holds_flows(path: Path) -> bool:
    """Whether a file is mitmproxy's, or empty. One that has an index is, and of a store it would take a request."""
    with path.open("rb") as source:
        begin = source.read(1)
    return not begin or begin.isdigit()


def wanted(entry: dict[str, Any], arguments: Namespace) -> bool:
    """Whether an exchange is one of those that the options ask for."""
    for name in _FILTERS:
        asked = getattr(arguments, name)
        if asked is not None and asked.lower() not in str(entry.get(name, "")).lower():
            return False
    if arguments.verdict is None:
        return True
    verdicts = entry.get("verdicts") or ()
    return any(arguments.verdict in {one.get("status"), one.get("reason")} for one in verdicts)


def filtered(arguments: Namespace) -> bool:
    """Whether any such option is given."""
    return any(getattr(arguments, name) is not None for name in (*_FILTERS, "verdict"))
