"""What `toolcalls.export` writes: flows in formats that other programs read.

A format is a function of flows to the bytes of a file. Files hold what models and clients said, so only their owner can
read them, and what stands there is written over only where it is a plain file.
"""

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mitmproxy import http

from toolcalls.mitm.store import REPORT

type ExportFormat = Callable[[Sequence[http.HTTPFlow]], bytes]


def all_formats() -> dict[str, ExportFormat]:
    """The formats by name."""
    return {"jsonl": _jsonl}


def write_file(path: str, data: bytes) -> None:
    """A file that only its owner can read. Raises OSError."""
    file = os.open(Path(path).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as written:
        os.fchmod(file, 0o600)
        written.write(data)


def _jsonl(flows: Sequence[http.HTTPFlow]) -> bytes:
    """One line of JSON for each flow: which it is, and its report."""
    lines = []
    for flow in flows:
        seconds = flow.response.timestamp_start if flow.response is not None else flow.timestamp_created
        about = {
            "flow": flow.id,
            "time": datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds"),
            "host": flow.request.pretty_host,
            "path": flow.request.path.partition("?")[0],
        }
        lines.append(json.dumps(about | flow.metadata[REPORT]) + "\n")
    return "".join(lines).encode()
