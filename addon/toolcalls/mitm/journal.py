"""The file of the option `toolcalls_log`: one line of JSON for each verdict, for scripts.

Nothing of a request's headers or query is written, and no arguments: a log outlives what it is about. How the file is
opened and what a full disk does to it is described in `append_file`.
"""

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mitmproxy import http

from toolcalls.insight.redaction import redacted_url
from toolcalls.insight.vocabulary.fields import LOG_FIELDS, LOG_VERDICT_FIELDS
from toolcalls.insight.vocabulary.statuses import FAILED_STATUS
from toolcalls.mitm.append_file import WRITE, AppendFile, OpenFile


class Journal:
    """One open file, appended to. Raises OSError when it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._file = AppendFile(lambda: _opened(path))

    @property
    def missing(self) -> int:
        """How many exchanges have no line because the file could not be written."""
        return self._file.missing

    def write(self, flow: http.HTTPFlow, report: dict[str, Any]) -> None:
        """One line for each verdict, and one for a fault of our own."""
        exchange = {
            "time": _time(flow),
            "flow": flow.id,
            "host": flow.request.pretty_host,
            "path": redacted_url(flow.request.path.partition("?")[0]),
            **{key: report[key] for key in LOG_FIELDS},
        }
        lines = [exchange | {key: verdict.get(key) for key in LOG_VERDICT_FIELDS} for verdict in report["verdicts"]]
        if report["failure"]:
            lines.append(
                exchange | dict.fromkeys(LOG_VERDICT_FIELDS) | {"status": FAILED_STATUS, "reason": report["failure"]}
            )
        if lines:
            self._file.append("".join(json.dumps(line) + "\n" for line in lines).encode("ascii"))

    def close(self) -> None:
        self._file.close()


def _opened(path: Path) -> OpenFile:
    """A file to append to. A link is followed to a terminal or a pipe only, which is what `/dev/stdout` is."""
    try:
        return OpenFile(path, os.open(path, WRITE | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        if error.errno != errno.ELOOP or path.is_file():
            raise
    return OpenFile(path, os.open(path, WRITE))


def _time(flow: http.HTTPFlow) -> str:
    """When the reply came, also where it is read from a file: ISO 8601, UTC."""
    response = flow.response
    seconds = response.timestamp_start if response is not None else flow.timestamp_created
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
