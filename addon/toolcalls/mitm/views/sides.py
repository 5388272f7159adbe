"""What the model wrote beside what the agent got, where the screen is known to be wide enough.

mitmproxy does not tell a view how wide it is shown. In the console its screen can be asked. Half of mitmweb's window
has no room for two columns, and only the browser knows its width, so there, and in mitmdump,
one is below the other.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from mitmproxy import ctx

from toolcalls.mitm.views.lines import wrapped

WIDE = 120  # characters of a screen on which two columns can be read
_EDGE = 8  # characters in front of both, and at the screen's edge
_WROTE, _GOT = "the model wrote", "the agent got"


def room() -> int:
    """The characters of a line for both columns; 0 where they do not fit, or nobody knows."""
    try:
        screen: Any = getattr(ctx.master, "ui", None)
        options: Any = ctx.options
        width = 0 if screen is None else int(screen.get_cols_rows()[0])
    except AttributeError:  # outside of mitmproxy
        return 0
    if width and getattr(options, "console_layout", "single") == "horizontal":
        width //= 2
    return width - _EDGE if width >= WIDE else 0


def side_by_side(wrote: Iterable[str], got: Iterable[str], width: int) -> Iterator[str]:
    """Two columns of lines, already visible, with their headings."""
    left, right = (width - 3) // 2, width - 3 - (width - 3) // 2
    columns = wrapped([_WROTE, "", *wrote], left - 2), wrapped([_GOT, "", *got], right - 2)
    for one, other in zip_longest(*columns, fillvalue=""):
        yield f"{one:<{left}} │ {other}".rstrip(" ")
