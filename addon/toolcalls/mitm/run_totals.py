"""What became of all calls since mitmproxy started, counted for the last lines of its log and for `toolcalls run`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from mitmproxy import http

from toolcalls.insight import report
from toolcalls.insight.formatting import counted
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.vocabulary.reasons import with_remedy
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NOTES

_ERROR = 80  # characters of what broke
_REASONS = 8  # that are named, the most frequent ones
_FAILURES = 200  # kinds that are counted apart: hosts and errors may be any


class RunTotals:
    """Counts of live replies."""

    def __init__(self) -> None:
        self._replies = 0
        self._mended = 0
        self._statuses = Counter[str]()
        self._reasons = Counter[tuple[str, str]]()
        self._possible = Counter[str]()
        self._failed = Counter[str]()

    def add(self, data: Mapping[str, Any]) -> None:
        """Count the report of a reply."""
        self._replies += 1
        self._possible.update(report.possible_losses(data))
        for verdict in data["verdicts"]:
            if verdict.get("likely_meant"):
                continue
            self._statuses[verdict["status"]] += 1
            self._mended += verdict["status"] == "native" and bool(verdict.get("repairs"))
            if verdict["reason"] is not None:
                self._reasons[verdict["status"], str(verdict["reason"])] += 1

    def ended(self, flow: http.HTTPFlow) -> None:
        """Count a request that got no reply, or an error."""
        if flow.response is None:
            host = redacted_text(flow.request.pretty_host)[:_ERROR]
            why = f" ({redacted_text(flow.error.msg)[:_ERROR]})" if flow.error is not None else ""
            self._fail(f"no reply from {host}{why}")
        elif flow.response.status_code >= 400:
            self._fail(f"status {flow.response.status_code}")

    def _fail(self, why: str) -> None:
        known = why in self._failed or len(self._failed) < _FAILURES
        self._failed[why if known else "other failures"] += 1

    def lines(self) -> Iterator[str]:
        """The lines; none where no request came."""
        if not self._replies and not self._failed:
            return
        counts = [f"{count} {status}" for status, count in self._statuses.most_common()]
        if self._mended:
            counts.append(f"{self._mended} mended")
        if self._possible:
            counts.append(f"{self._possible.total()} {POSSIBLY_LOST}")
        calls = f"; calls: {', '.join(counts)}" if counts else "; no calls"
        if self._replies:
            yield f"toolcalls: in total: {counted(self._replies, 'reply')}{calls}"
        for (status, reason), count in self._reasons.most_common(_REASONS):
            yield report.visible(f"toolcalls: in total: {count} {status}: {with_remedy(reason)}")
        for code, count in self._possible.most_common(_REASONS):
            note = NOTES.get(code)
            said = with_remedy(code) if note is None else f"{code}: {note.sentence}; {note.remedy}"
            yield report.visible(f"toolcalls: in total: {count} {POSSIBLY_LOST}: {said}")
        if self._failed:
            told = ", ".join(f"{count} with {why}" for why, count in self._failed.most_common(_REASONS))
            yield report.visible(f"toolcalls: in total: {counted(self._failed.total(), 'request')} failed: {told}")
