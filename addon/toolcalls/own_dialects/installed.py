"""Dialects of installed packages: entry points of the group `toolcalls.dialects`.

The entry point's name is the dialect's. It points at a module that is written as a file of `dialects/` is: `DIALECT`,
`ABOUT`, and `RESULT` where it has a form of its own. Such a dialect is read where a route names it, and nowhere else.
"""

from collections.abc import Collection
from importlib.metadata import entry_points

from toolcalls.dialects import OwnForm, OwnName
from toolcalls.own_dialects.form_file import check_name
from toolcalls.shapes import About

GROUP = "toolcalls.dialects"


def names() -> tuple[str, ...]:
    """The names of all installed ones."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def installed(name: str, taken: Collection[str]) -> OwnName | None:
    """The installed dialect of this name, None for none. Raises ValueError for one that cannot be used."""
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        return None
    point = found[0]
    package = point.dist.name if point.dist is not None else point.value
    where = f"the installed dialect {name} ({package})"
    wrong = check_name(name, taken)
    if wrong is not None:
        raise ValueError(f"{where}: {wrong}")
    if len(found) > 1:
        raise ValueError(f"{where}: {len(found)} packages bring one of this name; expected one")
    try:
        module = point.load()
        dialect, about = module.DIALECT, module.ABOUT
        own_name, opens = dialect.name, dialect.openers(("zqProbe9",))
    except Exception as error:  # it is other people's code
        raise ValueError(f"{where}: it cannot be loaded: {error!r}") from error
    if own_name != name:
        raise ValueError(f"{where}: its DIALECT is named {own_name!r}; expected the entry point's name")
    if not isinstance(about, About) or not opens or not all(isinstance(one, str) and one.strip() for one in opens):
        raise ValueError(f"{where}: expected DIALECT and ABOUT, as a file of toolcalls/dialects has them")
    return OwnName(name, OwnForm(dialect, about, getattr(module, "RESULT", None)))
