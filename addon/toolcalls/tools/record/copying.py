"""`toolcalls record merge` and `toolcalls record split`: the same flows, byte for byte, in other files.

Only the lines of the indexes are in memory, so the files may have gigabytes. Each file that is made has its index.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mitmproxy.utils.human import pretty_size

from toolcalls.config.amounts import bytes_of
from toolcalls.flows.flow_index import index_path, line
from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible
from toolcalls.streams import BadInput, encode, write_output, written
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.record.sources import Found, files_of, found_in


def merge(arguments: Namespace) -> int:
    """All flows of files in one file, in the order of their times, each once. Raises BadInput."""
    output = Path(arguments.output)
    files = files_of(arguments.paths)
    flows = _in_order(files)
    with _copying(flows) as progress:
        _make(output, flows, f"merged from {counted(len(files), 'file')}", progress)
    write_output(encode(f"{visible(str(output))}: {counted(len(flows), 'flow')} of {counted(len(files), 'file')}\n"))
    return 0


def split(arguments: Namespace) -> int:
    """The flows of files in one file for each session, model, agent or day, or of a size each. Raises BadInput."""
    folder = Path(arguments.output)
    flows = _in_order(files_of(arguments.paths))
    if not flows:
        raise BadInput("there is no exchange to be split")
    try:
        groups = (
            _by_size(flows, bytes_of(arguments.size)) if arguments.by == "size" else _by(flows, _KEYS[arguments.by])
        )
    except ValueError as error:
        raise BadInput(f"--size: {error}") from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = [folder / f"part-{number:04}.flow" for number in range(1, len(groups) + 1)]
    if there := next((path for path in paths if path.exists()), None):
        raise BadInput(f"{there} is there already; name an empty folder")
    with _copying(flows) as progress:
        for path, (label, group) in zip(paths, groups, strict=True):
            _make(path, group, f"split by {arguments.by}", progress)
            size = pretty_size(path.stat().st_size)
            progress.line(visible(f"{path}: {counted(len(group), 'flow')}, {size}, {label}"))
    return 0


_KEYS: dict[str, Callable[[dict[str, Any]], str]] = {
    "session": lambda entry: f"session {entry['session']}",
    "model": lambda entry: f"model {entry['model'] or 'not known'}",
    "agent": lambda entry: f"agent {entry['agent'] or 'not known'}",
    "day": lambda entry: str(entry["time"])[:10],
}


def _in_order(files: Sequence[Path]) -> list[Found]:
    flows: dict[str, Found] = {}
    with Progress([str(path) for path in files]) as progress:
        for path in files:
            for found in found_in(path):
                progress.add(found.size, 1)
                flows.setdefault(found.id, found)
    return sorted(flows.values(), key=lambda one: one.time)


def _copying(flows: Sequence[Found]) -> Progress:
    """How far it has come with copying these."""
    return Progress(["all of them"], [sum(one.size for one in flows)])


def _by(flows: Sequence[Found], key: Callable[[dict[str, Any]], str]) -> list[tuple[str, list[Found]]]:
    groups: dict[str, list[Found]] = {}
    for one in flows:
        groups.setdefault(key(one.entries[0]), []).append(one)
    return list(groups.items())


def _by_size(flows: Sequence[Found], limit: int) -> list[tuple[str, list[Found]]]:
    groups: list[tuple[str, list[Found]]] = []
    size = 0
    for one in flows:
        if not groups or size + one.size > limit:
            groups.append((f"from {one.time}", []))
            size = 0
        groups[-1][1].append(one)
        size += one.size
    return groups


def _make(path: Path, flows: Sequence[Found], why: str, progress: Progress) -> None:
    """A file and its index, whole or not at all."""
    offset = exchanges = 0
    with written(str(path)) as file, written(str(index_path(path))) as lines:
        for one in flows:
            data = one.read()
            file.write(data)
            for entry in one.entries:
                lines.write(line({**entry, "offset": offset, "length": len(data)}))
                exchanges += 1
            offset += len(data)
            progress.add(len(data), 1)
        ended = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines.write(line({"ended": ended, "why": why, "exchanges": exchanges, "missing": 0, "reasons": {}}))
