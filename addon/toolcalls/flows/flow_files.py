"""Flow files: the one place that reads and writes them.

`flows` gives the flows of a file one after the other, `records` their bytes with their places, `flow_of_record` the
flow of such bytes, and `serialized` writes one. Files of other programs become flows in `captures`; `frames` reads the
bytes of a flow quicker than mitmproxy does, for archives.
"""

from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader, BytesIO
from typing import BinaryIO, cast

from mitmproxy import http
from mitmproxy.exceptions import FlowReadException
from mitmproxy.flow import Flow
from mitmproxy.io import FlowReader, FlowWriter

from toolcalls.flows.captures import captured
from toolcalls.flows.remote_files import opened_file
from toolcalls.streams import BadInput, input_name, print_error

_DIGITS = 12  # of a flow's length, as mitmproxy's reader allows


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


class TornOff(ValueError):
    """A file ends inside a flow, or what is there is none. `offset` is where, `is_end` whether the file ends."""

    def __init__(self, offset: int, *, is_end: bool) -> None:
        super().__init__(f"no flow can be read at byte {offset}")
        self.offset = offset
        self.is_end = is_end


def records(source: BinaryIO, offset: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The flows of a file as bytes, each with its place. Raises TornOff."""
    source.seek(offset)
    while end is None or offset < end:
        head = b""
        while not head.endswith(b":") and len(head) <= _DIGITS:
            one = source.read(1)
            if not one:
                if not head:
                    return
                raise TornOff(offset, is_end=True)
            head += one
        if not head[:-1].isdigit() or not head.endswith(b":"):
            raise TornOff(offset, is_end=False)
        size = int(head[:-1]) + 1
        body = source.read(size)
        if len(body) < size:
            raise TornOff(offset, is_end=True)
        yield offset, head + body
        offset += len(head) + size


def flow_of_record(data: bytes) -> Flow:
    """The flow of one record. Raises FlowReadException or ValueError."""
    return next(iter(FlowReader(cast(BinaryIO, BytesIO(data))).stream()))


def serialized(flow: Flow) -> bytes:
    """A flow as mitmproxy writes it."""
    out = BytesIO()
    FlowWriter(out).add(flow)
    return out.getvalue()
