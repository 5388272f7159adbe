"""The configuration: a YAML file comes in, frozen routes (`toolcalls.route`) go out.

Every mistake is one line that names the file, the line, what was found and what was expected. Three steps find them:
`load` turns the file into text (size, UTF-8), `nodes` turns the text into nodes that remember their lines, `routes`
turns the nodes into routes. Every key has one reader. A reader returns the fields of `Route` that the key sets, or
raises `Mistake`. Mistakes are collected key by key.

    routes        the keys of a document and of a route, and what each accepts: read this first
    processors    the keys of processors: `access`, `loops`, `reactors`, `filters`, `steering`
    tools         the key `tools`
    readers       what a value may be: a flag, a number, one of some words, a pattern, …
    keys          reads mappings and lists key by key, and collects the mistakes
    ineffective   warnings for settings that have no effect, mistakes for those that contradict each other
    nodes         YAML text → nodes
    mistakes      one mistake, and all of them as an error

The names of dialects and wires come in as arguments, since this room sits below both.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from toolcalls.config.ineffective import findings
from toolcalls.config.keys import Keys
from toolcalls.config.mistakes import MAX_MISTAKES, ConfigError, Mistake, config_error
from toolcalls.config.nodes import MAX_BYTES, TOO_LARGE, document
from toolcalls.config.routes import OwnDialects, RouteKeys
from toolcalls.route import Config, Route

__all__ = [
    "MAX_MISTAKES",
    "ConfigError",
    "OwnDialects",
    "candidates",
    "default_path",
    "load",
    "parse",
    "select",
    "text_of",
]


def default_path() -> Path:
    """The file that is read when none is named: the repository's own, else the one that an installed wheel holds."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1] / "config" / "toolcalls.yaml"
    return checkout if checkout.is_file() else package / "_config" / "toolcalls.yaml"


def load(path: Path, dialects: Collection[str], wires: Collection[str], own: OwnDialects | None = None) -> Config:
    """Read a file of at most MAX_BYTES bytes of UTF-8. Raises ConfigError, also when the file cannot be read.

    own   reads what names no dialect of the package; without it, nothing else may be named
    """
    text = text_of(path)
    if not text.strip() and path.is_file():  # an editor may be about to write it: rules must not be lost meanwhile
        raise config_error(str(path), [Mistake(1, "the file is empty; a configuration begins with `version: 1`")])
    return parse(text, str(path), dialects, wires, own)


def text_of(path: Path) -> str:
    """What is in a file of at most MAX_BYTES bytes of UTF-8. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode() if len(data) <= MAX_BYTES else ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        mistake = Mistake(line, f"found byte 0x{data[error.start]:02x}, which is not UTF-8; expected UTF-8 text")
        raise config_error(str(path), [mistake]) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise config_error(str(path), [Mistake(1, f"the file cannot be read: {reason}")]) from error
    if len(data) > MAX_BYTES:
        raise config_error(str(path), [Mistake(1, TOO_LARGE)])
    return text


def parse(
    text: str, source: str, dialects: Collection[str], wires: Collection[str], own: OwnDialects | None = None
) -> Config:
    """Read YAML text. `source` is the name that mistakes begin with; `dialects` and `wires` are the names that exist,
    in the order in which mistakes list them; they are asked for only where the text needs them.

    Empty text gives the default Config. Raises ConfigError and nothing else, whatever the text is.
    """
    keys = Keys()
    routes = RouteKeys(keys, dialects, wires, Path(source).parent, own)
    try:
        config = routes.config(document(text))
    except Mistake as mistake:
        raise config_error(source, [*keys.mistakes, mistake]) from mistake
    if not keys.mistakes:
        found = sorted(findings(config, keys.lines), key=lambda finding: finding.line)
        wrong = [Mistake(finding.line, finding.text) for finding in found[:MAX_MISTAKES] if finding.is_mistake]
        keys.mistakes.extend(wrong)
        warnings = [Mistake(finding.line, finding.text) for finding in found if not finding.is_mistake]
        config = replace(config, warnings=config_error(source, warnings).errors[:MAX_MISTAKES])
    if keys.mistakes:
        raise config_error(source, keys.mistakes)
    return config


def select(config: Config, *, host: str, path: str, model: str, wire: str) -> Route:
    """The first route whose `match` fits, else `config.default`. A query string in `path` is ignored.

    `*` and `?` match any character, also `/` and `.`. Matching is case-sensitive, except for host names (RFC 4343).
    """
    routes = candidates(config, host=host, path=path, wire=wire)
    fits = (one for one in routes if one.match.model is None or fnmatchcase(model, one.match.model))
    return next(fits, config.default)


def candidates(config: Config, *, host: str, path: str, wire: str) -> Iterator[Route]:
    """The routes that `select` chooses from where the model is not known yet, in their order."""
    host, path = host.lower(), path.partition("?")[0]
    for route in config.routes:
        match = route.match
        if (
            (match.host is None or fnmatchcase(host, match.host.lower()))
            and (match.path is None or fnmatchcase(path, match.path))
            and (match.wire is None or fnmatchcase(wire, match.wire))
        ):
            yield route
            if match.model is None:
                return
    yield config.default
