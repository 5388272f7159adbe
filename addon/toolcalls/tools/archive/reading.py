"""The flows of a part, one after the other, and what of it cannot be read.

A flow that is damaged inside is left out and the next one read. Where not even the length of a flow can be read,
nothing after it in its file can. What mitmproxy does not write itself (HAR) is read as `flow_files.flows` reads it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from mitmproxy import http
from mitmproxy.flow import Flow
from mitmproxy.io import compat

from toolcalls.flows.flow_files import flows
from toolcalls.flows.frames import NotAFrame, dictionary, next_frame
from toolcalls.streams import BadInput, input_name
from toolcalls.tools.archive.parts import Part, opened


@dataclass(frozen=True, slots=True)
class Broken:
    """What cannot be read: one line that names the file and the flow. `torn`: the file ends in the middle of it."""

    said: str
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A flow, its number in its file, from 1, and how many bytes it takes there (0 where that is not known)."""

    number: int
    flow: http.HTTPFlow
    size: int = 0


def flows_of(part: Part) -> Iterator[Found | Broken]:
    """The HTTP flows of a part, in their order."""
    name = input_name(part.file.path)
    try:
        with opened(part) as source:
            start = source.read(1)
            if start and not start.isdigit():
                yield from _as_files(part)
                return
            at = part.start + len(start)
            source_ = _Source(source, start)
            number = part.first
            while part.end is None or at < part.end:
                frame = next_frame(source_)
                if frame is None:
                    return
                at += source_.taken()
                yield from _flow(name, number, frame)
                number += 1
    except NotAFrame as error:
        torn = error.torn and number > 1
        why = "is torn off and left out" if torn else f"cannot be read: {error}"
        yield Broken(f"{name}: flow {number} {why}", torn)
    except BadInput as error:
        yield Broken(str(error))
    except OSError as error:
        yield Broken(f"{name}: the file cannot be read: {error.strerror or error}")


def _flow(name: str, number: int, frame: bytes) -> Iterator[Found | Broken]:
    """The flow of a frame, unless it is no HTTP."""
    try:
        found = Flow.from_state(compat.migrate_flow(dictionary(frame)))
    except Exception as error:  # noqa: BLE001 - the host raises what its parts raise for data that nobody expected
        yield Broken(f"{name}: flow {number} cannot be read: {_why(error)}")
        return
    if isinstance(found, http.HTTPFlow):
        yield Found(number, found, len(frame))


def _why(error: Exception) -> str:
    """The kind of a fault, and not its message, which may hold what was said; our own messages hold nothing."""
    known = isinstance(error, NotAFrame) or (isinstance(error, ValueError) and "flow format version" in str(error))
    return str(error) if known else f"mitmproxy raises {type(error).__name__}"


def _as_files(part: Part) -> Iterator[Found | Broken]:
    """What is read as a whole file. A remote one is copied, since files are read by their name."""
    if "://" not in part.file.path:
        yield from _numbered(flows(part.file.path))
        return
    with opened(part) as source, NamedTemporaryFile(suffix=Path(part.file.path).suffix) as copy:
        copyfileobj(source, copy)
        copy.flush()
        try:
            yield from _numbered(flows(copy.name))
        except BadInput as error:
            yield Broken(str(error).replace(copy.name, part.file.path))


def _numbered(found: Iterable[Flow]) -> Iterator[Found]:
    for number, flow in enumerate(found, 1):
        if isinstance(flow, http.HTTPFlow):
            yield Found(number, flow)


class _Source:
    """The rest of a stream after a byte that was read of it to see what it is. `-` cannot be read again."""

    def __init__(self, source: BinaryIO, start: bytes) -> None:
        self._source = source
        self._start = start
        self._taken = -len(start)

    def read(self, size: int) -> bytes:
        data, self._start = self._start, b""
        data += self._source.read(size - len(data))
        self._taken += len(data)
        return data

    def taken(self) -> int:
        """Bytes that were read since this was asked before."""
        taken, self._taken = self._taken, 0
        return taken
