"""What the demo shows: lines with colours where there is a terminal, and both sides of a reply in two columns."""

import os
import queue
import shutil
import sys
import time

from toolcalls.demo.parties import Seen, Sight, Unexpected
from toolcalls.insight.report import visible

_TOGETHER = 0.03  # seconds within which what the client gets is shown beside what was sent
_COLOURS = {"heading": "1", "command": "2", "text": "36", "call": "1;32", "other": "2"}


def say(text: str, kind: str = "") -> None:
    """One line, at once. `kind` gives the colour."""
    print(_painted(text, kind), flush=True)


def timeline(seen: Sight, deadline: float) -> None:
    """Both sides as it happens, until the client has seen the end. Raises Unexpected at the deadline."""
    width = max(30, min(54, (shutil.get_terminal_size().columns - 13) // 2))
    say(f"  seconds  {'the model server sends':{width}}  the client gets", "heading")
    first: float | None = None
    sent: Seen | None = None  # shown when it is known whether the client gets something at once
    while True:
        try:
            item = seen.next(_TOGETHER if sent else max(0.1, deadline - time.monotonic()))
        except queue.Empty:
            if sent is None:
                raise Unexpected("the reply did not end in time") from None
            item = sent  # nothing came of it at once: it stands alone
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


def _row(seconds: float, sent: Seen | None, got: Seen | None, width: int) -> None:
    left = _painted(f"{visible(sent.shown) if sent else '':{width}}", sent.what if sent else "")
    right = _painted(visible(got.shown), got.what) if got else ""
    say(f"  {seconds:7.2f}  {left}  {right}".rstrip())


def _painted(text: str, kind: str) -> str:
    """`text` in the colour of its kind, where colours are wanted (https://no-color.org)."""
    if kind not in _COLOURS or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m"
