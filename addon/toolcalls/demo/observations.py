"""What the two sides of the demo see, in order of time, and how the demo waits and fails."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


class DemoError(Exception):
    """The demo did not go as expected; the message is one line."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one side saw. `side` is "upstream" or "client", `kind` is "text", "call" or "other"."""

    time: float
    side: str
    kind: str
    shown: str


class Observations:
    """What both sides see, in order of time. Their threads add to it, the main thread reads it."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Observation | None] = queue.Queue()
        self._lock = threading.Lock()  # held from reading the clock to adding, so that the order is that of the times

    def add(self, side: str, kind: str, shown: str) -> None:
        """One side sees something now."""
        with self._lock:
            self._queue.put(Observation(time.monotonic(), side, kind, shown))

    def end(self) -> None:
        """The client has seen the end of the reply."""
        self._queue.put(None)

    def next(self, timeout: float) -> Observation | None:
        """The next observation, None at the end. Raises queue.Empty after `timeout` seconds."""
        return self._queue.get(timeout=timeout)


def wait_for[T](look: Callable[[], T], deadline: float, otherwise: str) -> T:
    """The first true value that `look` returns. Raises DemoError at the deadline."""
    while not (found := look()):
        if time.monotonic() > deadline:
            raise DemoError(f"{otherwise} in time")
        time.sleep(0.03)
    return found


def choice_parts(choice: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The kind of each piece in a choice of Chat Completions, and how it is shown."""
    delta = choice.get("delta", {})
    if delta.get("content"):
        yield "text", json.dumps(delta["content"], ensure_ascii=False)
    for call in delta.get("tool_calls", ()):
        name, arguments = call["function"].get("name"), call["function"].get("arguments", "")
        yield "call", f"native call {name} {arguments}" if name else f"            … {arguments}"
    if choice.get("finish_reason"):
        yield "other", f"finish_reason {choice['finish_reason']}"
