"""`toolcalls export FILE… --format F -o OUT`."""

import logging
import socket
from argparse import Namespace
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies

from toolcalls.flows.reports import all_of
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports.pieces import MissingExtra, pieces_of, spans
from toolcalls.route import Price
from toolcalls.streams import BadInput, write_summary, written
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.archive.progress import Progress
from toolcalls.tools.options import configuration

_SECONDS = 5.0  # for a collector's answer


def run(arguments: Namespace) -> int:
    config = configuration(arguments.config)
    output: str = arguments.output
    files = files_of(arguments.files)
    with Progress([file.path for file in files], [file.size for file in files]) as progress:
        counted = _Counted(one for _, _, flow in progress.exchanges() for one in all_of(flow, config))
        try:
            if arguments.format == "otel" and output.startswith(("http://", "https://")):
                _send(counted, output, content=arguments.content, prices=config.prices)
            else:
                with written(output, inputs=arguments.files) as file:
                    file.writelines(
                        pieces_of(arguments.format, counted, content=arguments.content, prices=config.prices)
                    )
        except MissingExtra as missing:
            raise BadInput(str(missing)) from missing
    write_summary(output, f"{counted.count} {'exchange' if counted.count == 1 else 'exchanges'}")
    return 0


def _send(found: Iterable[ExchangeRecord], endpoint: str, *, content: bool, prices: Sequence[Price]) -> None:
    otel = spans()
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
