"""What the demo prints: lines, with colours on a terminal, and both sides of a reply in two columns."""

import os
import queue
import shutil
import sys

from toolcalls.insight.report import visible
from toolcalls.tools.demo.observations import PATIENCE, DemoError, Observation, Observations

_TOGETHER = 0.03  # seconds within which what the client gets is printed beside what was sent
_COLOURS = {"heading": "1", "command": "2", "text": "36", "call": "1;32", "other": "2"}


def show(text: str, kind: str = "") -> None:
    """Print one line and flush. `kind` gives the colour."""
    print(_painted(text, kind), flush=True)


def show_timeline(observed: Observations) -> None:
    """Print what both sides see as it happens, until the client has seen the end. Raises DemoError if it never does."""
    width = max(30, min(54, (shutil.get_terminal_size().columns - 13) // 2))
    show(f"  seconds  {'the model server sends':{width}}  the client gets", "heading")
    first: float | None = None
    sent: Observation | None = None  # printed once it is known whether the client gets something at once
    while True:
        try:
            item = observed.next(_TOGETHER if sent else PATIENCE)
        except queue.Empty:
            if sent is None:
                raise DemoError(f"the reply did not end, and nothing has come for {PATIENCE:g} s") from None
            item = sent  # the client got nothing at once: a row of its own
        if item is not None and first is None:
            first = item.time
        start = first or 0.0
        if item is not None and item.side == "client":
            _row(item.time - start, sent, item, width)
            sent = None
            continue
        if sent is not None:
            _row(sent.time - start, sent, None, width)
        if item is None:
            return
        sent = item if item is not sent and item.shown else None


def _row(seconds: float, sent: Observation | None, got: Observation | None, width: int) -> None:
    left = _painted(f"{visible(sent.shown) if sent else '':{width}}", sent.kind if sent else "")
    right = _painted(visible(got.shown), got.kind) if got else ""
    show(f"  {seconds:7.2f}  {left}  {right}".rstrip())


def _painted(text: str, kind: str) -> str:
    """`text` in the colour of its kind, where colours are wanted (https://no-color.org)."""
    if kind not in _COLOURS or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m"
