"""What the two sides of the demo see, in order of time, and how the demo waits and fails.

Nothing has to be done by a certain time, since a machine may be busy. The demo gives up when nothing new has happened
for `PATIENCE` seconds.
"""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds


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
        self.called = threading.Event()  # the client has a call, or the beginning of one
        self._queue: queue.Queue[Observation | None] = queue.Queue()
        self._lock = threading.Lock()  # held from reading the clock to adding, so that the order is that of the times
        self._sent = False  # the upstream sent more after the call

    @property
    def called_early(self) -> bool:
        """Whether the client had a call before the upstream had sent all that is shown."""
        return self._sent

    def add(self, side: str, kind: str, shown: str) -> None:
        """One side sees something now."""
        with self._lock:
            self._queue.put(Observation(time.monotonic(), side, kind, shown))
            self._sent = self._sent or (side == "upstream" and self.called.is_set() and bool(shown))
            if (side, kind) == ("client", "call"):
                self.called.set()

    def end(self) -> None:
        """The client has seen the end of the reply."""
        self._queue.put(None)

    def next(self, timeout: float) -> Observation | None:
        """The next observation, None at the end. Raises queue.Empty after `timeout` seconds."""
        return self._queue.get(timeout=timeout)


def wait_for[T](folder: Path, look: Callable[[], T], otherwise: str) -> T:
    """The first true value that `look` returns. Raises DemoError when nothing new is in the files of the folder."""
    sizes, since = _sizes(folder), time.monotonic()
    while not (found := look()):
        time.sleep(0.03)
        if (now := _sizes(folder)) != sizes:
            sizes, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise DemoError(f"{otherwise}, and nothing has happened for {PATIENCE:g} s")
    return found


def _sizes(folder: Path) -> dict[Path, int]:
    """How large the files of a folder are, in bytes."""
    return {path: path.stat().st_size for path in folder.iterdir()}


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
