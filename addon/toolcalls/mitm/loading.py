"""Loads what reads replies, in slices: mitmproxy starts without it, and the first flow must not wait for it.

Imports run in mitmproxy's loop, not in a thread: a reload of the addon forgets all of its modules, and must not do so
while another thread is importing them. So each slice is a module of the rooms, from the lowest room up.
"""

import gc
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

ROOMS = (
    *("text", "values", "shapes", "dialects", "reading", "writing", "mending", "requests", "requests.conversation"),
    *("processors", "replies"),
)

# What a report needs of `insight`: expressions for secrets take long to compile.
REPORT = ("vocabulary.reasons", "secret_patterns", "redaction", "report")


def apis() -> Iterator[None]:
    """Load the wires."""
    yield from _modules("toolcalls.values")
    yield from _modules("toolcalls.wires")


def reading() -> Iterator[None]:
    """Load the rooms that a reply goes through, each with all it holds, and what `text.patterns` loads late."""
    import_module("regex")
    yield
    for room in ROOMS:
        yield from _modules(f"toolcalls.{room}")
    for module in REPORT:
        import_module(f"toolcalls.insight.{module}")
        yield


def tables() -> None:
    """Build what is made once of all dialects and kept, by reading a reply: the first client need not wait for it."""
    from toolcalls.reading.policy import CallPolicy  # noqa: PLC0415 - it is loaded in slices
    from toolcalls.reading.reader import Reader  # noqa: PLC0415
    from toolcalls.request import Request, Tool  # noqa: PLC0415
    from toolcalls.route import Route  # noqa: PLC0415

    Reader(CallPolicy(Route(), Request(tools=(Tool("Bash", {}),)))).feed("Well, it depends.\n")


def exempt_from_collection() -> None:
    """Leave all that is there now out of garbage collections, until `end_exemption`.

    Modules, schemas and expressions stay as long as the process: looking at a hundred thousand such objects again and
    again stops the loop for tens of milliseconds each time. Nothing is collected here: that would stop it as well.
    """
    gc.freeze()


def end_exemption() -> None:
    """What goes with a reload can be collected."""
    gc.unfreeze()


def _modules(package: str) -> Iterator[None]:
    spec = find_spec(package)
    for module in iter_modules(spec.submodule_search_locations if spec is not None else None):
        import_module(f"{package}.{module.name}")
        yield
