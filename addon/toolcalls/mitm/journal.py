"""The file of the option `toolcalls_log`: one line of JSON for each verdict, for scripts.

Nothing of a request's headers or query is written, and no arguments: a log outlives what it is about. The file is
readable by its owner only, and a link to a file is not followed, since whoever made it chose where we write. A full
disk stops the journal, with one warning, never the traffic.
"""

import errno
import json
import logging
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mitmproxy import http

from toolcalls.redaction import redacted_url

logger = logging.getLogger(__name__)

_VERDICT = ("status", "reason", "rule", "dialect", "name", "start", "end", "repairs", "lane", "index", "id")
_EXCHANGE = ("wire", "route", "kind", "policy", "model")


class Journal:
    """One open file, appended to. Raises OSError when it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        if stat.S_ISREG(os.fstat(self._file).st_mode):  # a terminal or a pipe is not ours to close to others
            os.fchmod(self._file, 0o600)

    def write(self, flow: http.HTTPFlow, report: dict[str, Any]) -> None:
        """One line for each verdict, and one for a fault of our own."""
        if self._file < 0:
            return
        exchange = {
            "time": _time(flow),
            "flow": flow.id,
            "host": flow.request.pretty_host,
            "path": redacted_url(flow.request.path.partition("?")[0]),
            **{key: report[key] for key in _EXCHANGE},
        }
        lines = [exchange | {key: verdict.get(key) for key in _VERDICT} for verdict in report["verdicts"]]
        if report["failure"]:
            lines.append(exchange | dict.fromkeys(_VERDICT) | {"status": "failed", "reason": report["failure"]})
        try:
            os.write(self._file, "".join(json.dumps(line) + "\n" for line in lines).encode("ascii"))
        except OSError as error:
            logger.warning(f"toolcalls: {self.path} is written no further: {error.strerror}")
            self.close()

    def close(self) -> None:
        """Write nothing more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _opened(path: Path) -> int:
    """A file to append to. A link is followed to a terminal or a pipe only, which is what `/dev/stdout` is."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP or path.is_file():
            raise
    return os.open(path, flags)


def _time(flow: http.HTTPFlow) -> str:
    """When the reply came, also where it is read from a file: ISO 8601, UTC."""
    response = flow.response
    seconds = response.timestamp_start if response is not None else flow.timestamp_created
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
