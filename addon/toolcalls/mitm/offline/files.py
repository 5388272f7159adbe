"""Flow files in and out. What is written holds what people and models said, so only its owner can read it."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from io import BufferedReader
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, cast

from mitmproxy import http
from mitmproxy.exceptions import FlowReadException
from mitmproxy.flow import Flow
from mitmproxy.io import FlowReader

from toolcalls.commands.streams import BadInput, encode, input_name, print_error, write_output
from toolcalls.config import ConfigError, default_path, load
from toolcalls.dialects import all_dialects
from toolcalls.insight import report
from toolcalls.insight.exchange_record import ExchangeRecord
from toolcalls.mitm import flow_metadata
from toolcalls.mitm.exchange_plan import ReplyNotParsed
from toolcalls.mitm.flow_records import failure_report, records_of
from toolcalls.mitm.judging import recorded
from toolcalls.mitm.offline.archive.parts import opened_file
from toolcalls.mitm.offline.captures import captured
from toolcalls.mitm.recorded_verdicts import as_recorded, beside, joined
from toolcalls.mitm.websocket.connection import replay
from toolcalls.mitm.websocket.turns import turn_reports
from toolcalls.route import Config
from toolcalls.wires import all_wires


def configuration(path: str | None) -> Config:
    """The configuration in a file, or the one that ships. Raises BadInput with its first mistake."""
    try:
        return load(default_path() if path is None else Path(path), all_dialects(), all_wires())
    except ConfigError as wrong:
        raise BadInput(wrong.errors[0]) from wrong


def flows(path: str, seen: Callable[[int], None] | None = None) -> Iterator[Flow]:
    """The flows of a file, of mitmproxy or of another program (`captures`), one after the other. `-` is standard input;
    a URL (`s3://…`) is read through fsspec. Raises BadInput.

    seen   is called with the number of bytes that were read, before each flow

    A file that ends in the middle of a flow, as one does whose writer was killed, gives the flows before that, and a
    line on standard error.
    """
    count = 0
    with opened_file(path) as source:
        try:
            for flow in _read(source, input_name(path)):
                if seen is not None and source.seekable():
                    seen(source.tell())
                yield flow
                count += 1
        except BadInput:
            raise
        except (FlowReadException, ValueError) as error:
            if count and not source.read(1):
                print_error("toolcalls", f"{input_name(path)}: flow {count + 1} is torn off and left out")
                return
            known = "" if count else " (what can be read: flows of mitmproxy, HAR, captures in JSON lines)"
            why = f"flow {count + 1} cannot be read: {str(error).rstrip('.')}{known}"
            raise BadInput(f"{input_name(path)}: {why}") from error


def _read(source: BinaryIO, name: str) -> Iterator[Flow]:
    begin = cast(BufferedReader, source).peek(4).lstrip(b"\xef\xbb\xbf")
    return captured(source, name) if begin.startswith(b"{") else iter(FlowReader(source).stream())


def exchanges(paths: Iterable[str]) -> Iterator[tuple[str, http.HTTPFlow]]:
    """The HTTP flows of files, each with its file."""
    for path in paths:
        for flow in flows(path):
            if isinstance(flow, http.HTTPFlow):
                yield path, flow


def recorded_report(flow: http.HTTPFlow) -> dict[str, Any] | None:
    """What the addon wrote into a flow when its reply passed; None for one without, or with what nobody can read."""
    turns = [one for one in map(as_recorded, turn_reports(flow)) if one is not None]
    return joined(turns) if turns else as_recorded(flow.metadata.get(flow_metadata.REPORT))


def all_of(flow: http.HTTPFlow, config: Config, *, compare: bool = False) -> list[ExchangeRecord]:
    """The exchanges that a flow holds, with the verdicts of when they passed, and those that failed; [] for one that
    the addon passes by. A flow that was recorded without the addon has the verdicts of the current configuration.

    compare   what the current configuration says is beside verdicts that it would not give
    """
    recorded = recorded_report(flow)
    try:
        now = today(flow, config) if recorded is None or compare else None
    except ReplyNotParsed:
        now = None
    made = _merged(recorded, now) or failure_report(flow)
    if made is None:
        return []
    turns: list[dict[str, Any]] = []
    if flow.websocket is not None:
        held = {one["number"]: as_recorded(one) for one in turn_reports(flow)}
        current = dict(turns_today(flow, config)) if now is not None else {}
        merged = {number: _merged(held.get(number), current.get(number)) for number in {**held, **current}}
        turns = [{**one, "number": number} for number, one in merged.items() if one is not None]
    return records_of(flow, made, turns)


def _merged(recorded: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any] | None:
    """The report of then, with the one of now beside it where there are both."""
    return now if recorded is None else recorded if now is None else beside(recorded, now)


def today(flow: http.HTTPFlow, config: Config) -> dict[str, Any]:
    """The report of a flow by today's configuration and code. Raises ReplyNotParsed."""
    if flow.websocket is not None:
        turns = [{**turn, "number": number} for number, turn in turns_today(flow, config)]
        if not turns:
            raise ReplyNotParsed("no reply of the connection can be read")
        return joined(turns)
    reply = recorded(flow, config)
    made: dict[str, Any] = flow_metadata.writable(report.make_report(reply.read(), model=reply.plan.model))
    return made


def turns_today(flow: http.HTTPFlow, config: Config) -> Iterator[tuple[int, dict[str, Any]]]:
    """The reports of a connection's replies, each with the number of the message that asked for it.

    Raises ReplyNotParsed.
    """
    for number, exchange in replay(flow, config):
        yield number, flow_metadata.writable(report.make_report(exchange, model=exchange.call_policy.request.model))


def is_stream(path: str) -> bool:
    """Whether a path names a pipe, a device or standard output, which nothing may take the place of."""
    target = Path(path)
    special = target.exists() and not (target.is_file() or target.is_dir())
    return path == "-" or special or target.is_relative_to("/dev")


def write_summary(path: str, words: str) -> None:
    """Say what was written; on standard error where the path itself may be standard output."""
    if is_stream(path):
        print_error("toolcalls", words)
    else:
        write_output(encode(f"{path}: {words}\n"))


@contextmanager
def written(path: str, *, inputs: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """A file that is there as a whole or not at all, and that only its owner can read (0600).

    A link is not followed: the file takes its place. A pipe or a device is written to, and `-` is standard output.

    inputs   files that are read meanwhile

    Raises BadInput for a folder, for a file in a folder that is not there, and for one of the inputs.
    """
    target = Path(path)
    if is_stream(path):
        with nullcontext(sys.stdout.buffer) if path == "-" else target.open("wb") as stream:
            yield cast(BinaryIO, stream)
            stream.flush()
        return
    if target.is_dir():
        raise BadInput(f"{path}: this is a folder; name a file in it")
    if not target.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {target.parent}; make it first")
    if target.exists() and any(Path(one).exists() and target.samefile(one) for one in inputs):
        raise BadInput(f"{path}: this file is read, so it is not written over; name another one")
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:  # made with 0600
        try:
            yield cast(BinaryIO, file)
            file.flush()
            os.replace(file.name, target)  # noqa: PTH105 - one call that says what it is
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
