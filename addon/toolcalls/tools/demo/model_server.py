"""The demo's model server: a playback of a recorded reply."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from toolcalls.tools.demo.observations import PATIENCE, DemoError, Observations, choice_parts
from toolcalls.tools.serve.app import Playback
from toolcalls.tools.serve.matching import Library, asked
from toolcalls.tools.serve.recording import Piece, Recording
from toolcalls.tools.serve.server import playing

_PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Script:
    """What is asked, what is answered, and which of its events are not sent before the client has a call."""

    request: bytes
    recording: Recording
    after_call: frozenset[bytes]


def read_script(text: str) -> Script:
    """Read a script (`recordings/demo.sse`)."""
    request, pace, moment = b"", 0.0, 0.0
    pieces, gated = [], set()
    for block in text.split("\n\n"):
        sent, after_call = [], False
        for line in block.splitlines():
            if line.startswith(": request "):
                request = line.removeprefix(": request ").encode()
            elif line.startswith(": pace "):
                pace = float(line.removeprefix(": pace ")) / 1000
            elif line == ": until call":
                after_call = True
            elif not line.startswith(":"):
                sent.append(line)
        if sent:
            moment += pace
            data = ("\n".join(sent) + "\n\n").encode()
            pieces.append(Piece(moment, data))
            gated |= {data} if after_call else set()
    recording = Recording(
        "demo.sse",
        asked("POST", _PATH, request),
        200,
        ((b"content-type", b"text/event-stream"),),
        tuple(pieces),
        end=moment,
        framing="sse",
    )
    return Script(request, recording, frozenset(gated))


@contextmanager
def model_server(script: Script, *, pause: bool) -> Iterator[tuple[int, Observations]]:
    """A server on a free port that answers the script's request. Gives its port, and what it observes."""
    observed = Observations()

    async def before(event: bytes) -> None:
        if event in script.after_call and not await asyncio.to_thread(observed.called.wait, PATIENCE):
            raise DemoError("the client has no call")  # the demo gives up by itself
        observed.add("upstream", *_observation(event))

    def report(line: str) -> None:
        observed.add("upstream", "other", line)

    library = Library([script.recording])
    with playing(Playback(library, speed=1.0 if pause else None, report=report, before=before)) as port:
        try:
            yield port, observed
        finally:
            observed.called.set()  # the server ends, and nothing of it waits


def _observation(event: bytes) -> tuple[str, str]:
    """The kind of an event that is sent, and how it is shown."""
    data = event.removeprefix(b"data: ").strip()
    choices = json.loads(data)["choices"] if data.startswith(b"{") else []
    parts = [part for choice in choices for part in choice_parts(choice)] or [("other", "")]
    return parts[0][0], "  ".join(shown for _, shown in parts)
