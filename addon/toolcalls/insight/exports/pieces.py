"""A file in one of the formats, piece by piece, made while it is asked for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.insight.exports import Format, har, jsonl
from toolcalls.route import Price


class MissingExtra(ValueError):
    """A format needs an extra that is not installed. The message is one line that names it."""


def pieces_of(
    format_: Format, found: Iterable[ExchangeRecord], *, content: bool = False, prices: Sequence[Price] = ()
) -> Iterator[bytes]:
    """The file of these exchanges. Raises MissingExtra before it asks for the first."""
    if format_ == "otel":
        spans()
    return _pieces(format_, found, content=content, prices=prices)


def _pieces(
    format_: Format, found: Iterable[ExchangeRecord], *, content: bool, prices: Sequence[Price]
) -> Iterator[bytes]:
    if format_ == "jsonl":  # line by line, whatever the size of the file
        for one in found:
            yield jsonl.line(one, content=content, prices=prices).encode()
    elif format_ == "har":
        yield har.text([har.entry(one, prices) for one in found]).encode()
    else:
        otel = spans()
        lines: str = otel.lines(otel.spans_of(found, content=content, prices=prices))
        yield lines.encode()


def spans() -> Any:
    """The module that makes spans. Raises MissingExtra."""
    try:
        from toolcalls.insight.exports import otel  # noqa: PLC0415 - only for those who have the extra
    except ImportError as error:
        raise MissingExtra(
            "this needs the extra `otel`: pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
        ) from error
    return otel
