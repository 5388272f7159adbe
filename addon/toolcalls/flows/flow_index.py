"""The index of a flow file: a line of JSON for each exchange, in `NAME.index.jsonl` beside `NAME.flow`.

With it an exchange is found without reading the file, which may have gigabytes. The flow file alone is the recording:
what has no line (the writer was killed between the two, or the file is of another program) is read from the file, from
where the lines end. A line's members:

id, time            the exchange's (a WebSocket holds several), and when its request began (ISO 8601, UTC)
offset, length      where its flow is in the file, in bytes
host, path, status  of the request and the reply; `status` is null where no reply came, `error` what broke then
model, wire, agent, session   as in the report; "" for what is not known
worst, calls, verdicts        the status that most needs a look, how many verdicts there are, and the first of them:
                    {status, reason, name, dialect}
sizes               bytes of the bodies: {request, upstream, client}; null for what is not there
seconds             from the request's beginning to the reply's end; null where that is not known
left_out            bodies that were too large to be recorded; only where there are any

The last line is written when the file is closed: {ended, why, exchanges, missing, reasons}; `missing` counts what was
not written since the last file was closed, `reasons` says why. A file without that line is being written, or its writer
was killed.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from mitmproxy import http
from mitmproxy.exceptions import FlowReadException

from toolcalls.flows import flow_metadata
from toolcalls.flows.content_codings import CodingError, decoded
from toolcalls.flows.exchange_plan import wire_for
from toolcalls.flows.flow_files import TornOff, flow_of_record, records
from toolcalls.flows.websocket.turns import turn_reports, turns_of
from toolcalls.insight.agents import agent_of, session_of
from toolcalls.insight.conversation import RequestSummary, request_opening
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.redaction import redacted_text, redacted_url

VERDICTS = 20  # that a line holds
_NAME = 120
_DIGITS = 12  # of a flow's length, as mitmproxy's reader allows
SUFFIX = ".index.jsonl"


def index_path(path: Path) -> Path:
    """The index of a flow file, beside it."""
    return path.with_name(path.name.removesuffix(".flow") + SUFFIX)


# --- lines ------------------------------------------------------------------------------------------------------------


def entries_of(flow: http.HTTPFlow, left_out: list[str] | None = None) -> list[dict[str, Any]]:
    """The lines of a flow that is recorded, without `offset` and `length`."""
    host, path = redacted_text(flow.request.pretty_host)[:_NAME], redacted_url(flow.request.path.partition("?")[0])
    common: dict[str, Any] = {
        "host": host,
        "path": path[:_NAME],
        "status": None if flow.response is None else flow.response.status_code,
        "error": "" if flow.error is None else redacted_text(flow.error.msg)[:_NAME],
    }
    if left_out:
        common["left_out"] = left_out
    wire = wire_for(flow.request)
    common["wire"] = "" if wire is None else wire.name
    headers = tuple((_text(name), _text(value)) for name, value in flow.request.headers.fields)
    if flow.websocket is not None and (reports := {one["number"]: one for one in turn_reports(flow)}):
        found = [(place, turn) for place, turn in enumerate(turns_of(flow)) if turn.number in reports]
        return [
            _entry(
                f"{flow.id}.{place}" if place else flow.id,
                turn.started,
                reports[turn.number],
                common,
                _record(flow, headers, turn.asked),
                (turn.asked, turn.upstream.body, turn.client.body),
                None if turn.ended is None else turn.ended - turn.started,
            )
            for place, turn in found
        ]
    held = flow.metadata.get(flow_metadata.REPORT)
    asked = flow.metadata.get(flow_metadata.REQUEST)
    asked = asked if isinstance(asked, bytes) else _body(flow.request)
    client = None if flow.response is None else flow.response.raw_content
    upstream = flow.metadata.get(flow_metadata.UPSTREAM)
    ended = None if flow.response is None else flow.response.timestamp_end
    return [
        _entry(
            flow.id,
            flow.request.timestamp_start,
            held if isinstance(held, dict) else {},
            common,
            _record(flow, headers, asked or b""),
            (asked, upstream if isinstance(upstream, bytes) else client, client),
            None if ended is None else ended - flow.request.timestamp_start,
        )
    ]


def _entry(
    id_: str,
    started: float,
    report: dict[str, Any],
    common: dict[str, Any],
    record: ExchangeRecord,
    bodies: tuple[bytes | None, bytes | None, bytes | None],
    seconds: float | None,
) -> dict[str, Any]:
    verdicts = [one for one in report.get("verdicts", ()) if isinstance(one, dict)]
    wire = str(report.get("wire") or common["wire"])
    request = request_opening(wire, record.request_body) if record.request_body else RequestSummary(size=0)
    sizes = {
        name: None if body is None else len(body)
        for name, body in zip(("request", "upstream", "client"), bodies, strict=True)
    }
    return {
        "id": id_,
        "time": datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds"),
        **common,
        "model": redacted_text(str(report.get("model") or request.model))[:_NAME],
        "wire": wire,
        "agent": agent_of(record),
        "session": session_of(record, request),
        "worst": report.get("worst"),
        "calls": len(verdicts),
        "verdicts": [
            {key: one.get(key) for key in ("status", "reason", "name", "dialect")} for one in verdicts[:VERDICTS]
        ],
        "sizes": sizes,
        "seconds": None if seconds is None else round(max(0.0, seconds), 3),
    }


def _record(flow: http.HTTPFlow, headers: tuple[tuple[str, str], ...], body: bytes) -> ExchangeRecord:
    """As much of an exchange as its agent and its session are recognised by."""
    return ExchangeRecord(
        id=flow.id,
        started=flow.request.timestamp_start,
        started_at="",
        method=flow.request.method,
        url="",
        http_version="",
        request_headers=headers,
        request_body=body,
        host=flow.request.pretty_host,
    )


def _body(message: http.Message) -> bytes | None:
    raw = message.raw_content
    if raw is None:
        return None
    try:
        return decoded(raw, message.headers.get("content-encoding", ""))
    except (CodingError, LookupError):
        return raw


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def line(entry: dict[str, Any]) -> bytes:
    """One entry of an index as a line of ASCII."""
    return json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n"


# --- reading ----------------------------------------------------------------------------------------------------------


class Index:
    """What is known of a flow file: its lines, and how it ended.

    Iterate over it for the lines; those that the index lacks are made from the file, which takes a read of that part.
    When that is over, `end` is the last line (None without one), `exchanges` counts the lines, `made` those that were
    made, and `torn` says whether the file ends inside a flow.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end: dict[str, Any] | None = None
        self.exchanges = 0
        self.made = 0
        self.torn = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The lines, in the order of the file. Raises OSError, and TornOff for what is no flow file."""
        size = self.path.stat().st_size
        covered = 0
        with self.path.open("rb") as file:
            for entry in self._lines():
                at, behind = entry["offset"], entry["offset"] + entry["length"]
                if behind > size or (at < covered and behind != covered):
                    break  # an index of another file: what follows is read from this one
                if at > covered:
                    yield from self._scan(file, covered, at)
                covered = behind
                self.exchanges += 1
                yield entry
            if covered < size:
                yield from self._scan(file, covered, None)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            source = index_path(self.path).open("rb")
        except OSError:
            return
        with source:
            for data in source:
                try:
                    entry = json.loads(data)
                except ValueError:
                    return  # the writer was killed in the middle of it
                if isinstance(entry, dict) and "ended" in entry:
                    self.end = entry
                elif isinstance(entry, dict) and all(isinstance(entry.get(key), int) for key in ("offset", "length")):
                    self.end = None
                    yield entry

    def _scan(self, file: BinaryIO, begin: int, end: int | None) -> Iterator[dict[str, Any]]:
        try:
            for offset, data in records(file, begin, end):
                try:
                    flow = flow_of_record(data)
                except (FlowReadException, ValueError) as error:
                    raise TornOff(offset, is_end=False) from error
                if isinstance(flow, http.HTTPFlow):
                    for entry in entries_of(flow):
                        self.exchanges += 1
                        self.made += 1
                        yield {**entry, "offset": offset, "length": len(data)}
        except TornOff as torn:
            if not torn.is_end:
                raise
            self.torn = True
