"""The dialects, found by their file names: each module here holds one `DIALECT`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from toolcalls.shapes import Dialect

# Read after all others that share an opener: `qwen3_xml` reads the same text as the same call, and is likelier.
_LAST = ("openhands_fn",)


@cache
def all_dialects() -> dict[str, Dialect]:
    """Every dialect by name, in the order of their names."""
    found: dict[str, Dialect] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        dialect: Dialect = import_module(f"{__name__}.{module.name}").DIALECT
        if dialect.name != module.name:
            raise ImportError(f"dialects/{module.name}.py calls its dialect {dialect.name!r}")
        found[dialect.name] = dialect
    return found


def chosen(names: tuple[str, ...] | None) -> tuple[Dialect, ...]:
    """The dialects named, in that order; all of them for None. Raises KeyError for an unknown name."""
    known = all_dialects()
    if names is None:
        return tuple(sorted(known.values(), key=lambda dialect: dialect.name in _LAST))
    return tuple(known[name] for name in names)
