"""The demo's client: asks as a coding agent does, and collects the reply while it streams."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from toolcalls.tools.demo.observations import PATIENCE, Observations, choice_parts


@dataclass(slots=True)
class Received:
    """The reply as far as the client has received it."""

    text: str = ""
    finish: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def streaming_client(port: int, request: bytes, observed: Observations) -> Iterator[Received]:
    """A client that sends `request` and receives the reply in a thread; the reply is complete when the block ends."""
    received = Received()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("POST", "/v1/chat/completions", request, {"content-type": "application/json"})
            response = connection.getresponse()
            while line := response.readline():
                if line.startswith(b"data: {"):
                    _receive(received, json.loads(line.removeprefix(b"data: ")), observed)
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            observed.add("client", "other", f"{type(error).__name__}: {error}")
        finally:
            connection.close()
            observed.end()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    yield received
    thread.join(PATIENCE)


def _receive(received: Received, chunk: dict[str, Any], observed: Observations) -> None:
    for choice in chunk["choices"]:
        delta = choice["delta"]
        received.text += delta.get("content") or ""
        for call in delta.get("tool_calls", ()):
            function = call["function"]
            if function.get("name"):
                received.calls.append({"name": function["name"], "arguments": ""})
            received.calls[-1]["arguments"] += function.get("arguments", "")
        received.finish = choice.get("finish_reason") or received.finish
        for kind, shown in choice_parts(choice):
            observed.add("client", kind, shown)
