"""`toolcalls export FILE… --format F -o OUT`, and the same for flows that mitmproxy has in memory (`pieces_of`)."""

import logging
import socket
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from mitmproxy import http

from toolcalls.commands.streams import BadInput
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports import Format, har, jsonl
from toolcalls.mitm.flow_records import failure_report, has_report, records_of
from toolcalls.mitm.offline.archive.parts import files_of
from toolcalls.mitm.offline.files import all_of, configuration, write_summary, written
from toolcalls.mitm.offline.progress import Progress
from toolcalls.route import Price

_MISSING = "this needs the extra `otel`: pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
_SECONDS = 5.0  # for a collector's answer


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    config = configuration(arguments.config)
    output: str = arguments.output
    files = files_of(arguments.files)
    with Progress([file.path for file in files], [file.size for file in files]) as progress:
        counted = _Counted(one for _, _, flow in progress.exchanges() for one in all_of(flow, config))
        if arguments.format == "otel" and output.startswith(("http://", "https://")):
            _send(counted, output, content=arguments.content, prices=config.prices)
        else:
            with written(output, inputs=arguments.files) as file:
                for piece in _pieces(arguments.format, counted, content=arguments.content, prices=config.prices):
                    file.write(piece)
    write_summary(output, f"{counted.count} {'exchange' if counted.count == 1 else 'exchanges'}")
    return 0


def pieces_of(
    flows: Iterable[http.HTTPFlow], format_: Format, *, content: bool = False, prices: Sequence[Price] = ()
) -> Iterator[bytes]:
    """A file of the flows that the addon has read, or that failed, made while it is asked for; others are passed by.
    Raises BadInput when an extra is missing.
    """
    if format_ == "otel":
        _otel()
    reported = ((flow, None if has_report(flow) else failure_report(flow)) for flow in flows)
    found = (one for flow, report in reported if report or has_report(flow) for one in records_of(flow, report))
    return _pieces(format_, found, content=content, prices=prices)


def _pieces(
    format_: Format, found: Iterable[ExchangeRecord], *, content: bool, prices: Sequence[Price]
) -> Iterator[bytes]:
    if format_ == "jsonl":  # line by line, whatever the size of the file
        for one in found:
            yield jsonl.line(one, content=content, prices=prices).encode()
    else:
        yield _data(format_, found, content=content, prices=prices)


def _data(format_: Format, found: Iterable[ExchangeRecord], *, content: bool, prices: Sequence[Price]) -> bytes:
    if format_ == "har":
        return har.text([har.entry(one, prices) for one in found]).encode()
    otel = _otel()
    made: str = otel.lines(otel.spans_of(found, content=content, prices=prices))
    return made.encode()


def _send(found: Iterable[ExchangeRecord], endpoint: str, *, content: bool, prices: Sequence[Price]) -> None:
    otel = _otel()
    _reach(endpoint)
    # The exporter logs each of its tries, at length.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    try:
        otel.send(otel.spans_of(found, content=content, prices=prices), otel.otlp(endpoint))
    except otel.NotSent as error:
        raise BadInput(f"{endpoint}: {error}") from error


def _reach(endpoint: str) -> None:
    """Raises BadInput where nobody listens at a collector's address: the exporter would try for ten seconds."""
    try:
        parts = urlsplit(endpoint)
        if getproxies().get(parts.scheme):
            return  # it may only be reached through that
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=_SECONDS).close()
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BadInput(
            f"{endpoint}: no collector answers there ({why}); start it, or write to a file with -o"
        ) from error


def _otel() -> Any:
    try:
        from toolcalls.insight.exports import otel  # noqa: PLC0415 - only for those who have the extra
    except ImportError as error:
        raise BadInput(_MISSING) from error
    return otel


class _Counted:
    """Counts what passes."""

    def __init__(self, items: Iterable[ExchangeRecord]) -> None:
        self._items = items
        self.count = 0

    def __iter__(self) -> "_Counted":
        self._iterator = iter(self._items)
        return self

    def __next__(self) -> ExchangeRecord:
        one = next(self._iterator)
        self.count += 1
        return one
