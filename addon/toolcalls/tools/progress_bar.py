"""How far a command has come, as a bar on standard error: with its rate and the time left, and only on a terminal."""

import sys
from typing import Any

from tqdm import tqdm

from toolcalls.streams import write_finding

type Bar = "tqdm[Any]"  # a context manager; `disable` says that nothing is shown


def progress_bar(total: float | None, unit: str, *, scaled: bool = False, shape: str | None = None) -> Bar:
    """A bar that counts up to `total`, None where that is not known.

    scaled   large numbers are shortened (12.3M)
    shape    tqdm's `bar_format`, where another one says more
    """
    return tqdm(
        total=total,
        unit=unit,
        unit_scale=scaled,
        bar_format=shape,
        disable=not sys.stderr.isatty(),
        file=sys.stderr,
        leave=False,
    )


def write_above(bar: Bar, data: bytes) -> None:
    """Write to standard output while a bar is shown, so that it stays below. A reader that has left ends nothing."""
    if bar.disable:
        write_finding(data)
        return
    with tqdm.external_write_mode(file=sys.stdout):
        write_finding(data)
