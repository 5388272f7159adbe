"""`toolcalls serve FILE…`: an upstream on loopback that answers from recordings (`playback`), and asks nobody.

It prints one line with its URLs once it listens, and runs until SIGINT or SIGTERM, which is how it is meant to end:
exit status 0, and a last line that says how many requests it answered. Which request no recording answers, and why, is
said on standard error.
"""

import re
import signal
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolcalls.flows.flow_files import exchanges
from toolcalls.insight.formatting import counted
from toolcalls.streams import BadInput, input_name, print_error, write_line
from toolcalls.tools.archive.parts import files_of
from toolcalls.tools.serve.app import Playback
from toolcalls.tools.serve.faults import Fault, fault
from toolcalls.tools.serve.matching import Library
from toolcalls.tools.serve.playable import Side, recordings_of
from toolcalls.tools.serve.recording import Recording
from toolcalls.tools.serve.server import HOST, listening, server_for


def run(arguments: Namespace) -> int:
    faults, ignored = _faults(arguments.fault), _patterns(arguments.ignore)
    recordings = _recordings(arguments.files, arguments.side)
    if not recordings:
        raise BadInput(f"{', '.join(map(input_name, arguments.files))}: no reply is recorded here")
    playback = Playback(
        Library(recordings, ignored),
        speed=None if arguments.no_pace else arguments.speed,
        faults=faults,
        report=_say,
        verbose=arguments.verbose,
    )
    try:
        bound = listening(arguments.port)
    except OSError as error:
        raise BadInput(f"--port {arguments.port}: {error.strerror or error}; 0 takes a free one") from error
    with bound, _ended_by_signals():
        url = f"http://{HOST}:{bound.getsockname()[1]}"
        server = server_for(playback)
        write_line(f"serving {counted(len(recordings), 'recorded reply')} at {url} (for OpenAI's SDKs: {url}/v1)")
        server.run(sockets=[bound])
    answered, left = counted(playback.answered, "request"), counted(len(playback.library.left), "recording")
    _say(f"{answered} answered, {playback.unmatched} not; not asked for: {left}")
    return 0


def _recordings(files: list[str], side: Side) -> list[Recording]:
    found: list[Recording] = []
    unanswered = number = 0
    last = ""
    for path, flow in exchanges(file.path for file in files_of(files)):
        number, last = (1 if path != last else number + 1), path
        held = list(recordings_of(flow, f"{Path(path).name}, flow {number}", side))
        unanswered += not held
        found += held
    if unanswered:
        print_error("toolcalls serve", f"{unanswered} recorded requests have no reply and are left out")
    return found


def _faults(texts: list[str]) -> list[Fault]:
    try:
        return [fault(text) for text in texts]
    except ValueError as error:
        raise BadInput(f"--fault: {error}") from error


def _patterns(texts: list[str]) -> list[re.Pattern[str]]:
    try:
        return [re.compile(text) for text in texts]
    except re.error as error:
        raise BadInput(f"--ignore: {error.pattern!r} is no regular expression: {error.msg}") from error


def _say(text: str) -> None:
    """Report something: a line on standard error each."""
    for line in text.split("\n"):
        print_error("toolcalls serve", line)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """uvicorn ends on these signals and raises them again when it has; that shall not end the process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: None) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
