"""How the process that writes begins: it takes what comes from the first moment, and then loads what it works with.

Loading takes a second. What has not been taken when mitmproxy is killed is lost, and a pipe holds little; so a thread
empties it into memory, at first with nothing but the standard library. Signals that people send to a terminal or to a
service reach this process, too, and do not end it: then mitmproxy ends, and so does its input.
"""

import signal
import struct
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

LENGTH = struct.Struct(">Q")  # is in front of a message

# The bytes of a message; None where mitmproxy ended inside one, and () when nothing more comes.
type Taken = bytes | tuple[()] | None


def frames(source: BinaryIO) -> Iterator[bytes | None]:
    """The messages of a stream up to its end; None at its end where it ends inside one."""
    while head := source.read(LENGTH.size):
        size = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else -1
        data = source.read(size) if size >= 0 else b""
        if len(data) != size:
            yield None
            return
        yield data


def taken(source: BinaryIO) -> SimpleQueue[Taken]:
    """The messages of a stream, which a thread takes from it as they come."""
    queue: SimpleQueue[Taken] = SimpleQueue()

    def take() -> None:
        try:
            for one in frames(source):
                queue.put(one)
        finally:
            queue.put(())

    Thread(target=take, name="toolcalls-record-take", daemon=True).start()
    return queue


def begin() -> SimpleQueue[Taken]:
    """Begin the process: what comes on standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return taken(sys.stdin.buffer)
