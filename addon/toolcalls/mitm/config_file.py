"""The configuration file while the proxy runs: it is read at the start, and again when it has changed.

A mistake in the file stops the start, but never the traffic: if the file becomes invalid later, the configuration stays
as it was, and the log has one line about it. Changes are looked for when a request comes, once a second at most.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_IWOTH

from toolcalls import config
from toolcalls.config import OwnDialects
from toolcalls.route import Config, PolicyName, Route

logger = logging.getLogger(__name__)

_INTERVAL = 1.0  # seconds


class _Names(Collection[str]):
    """Names that are known once the modules are loaded that have them: when a configuration names one."""

    def __init__(self, read: Callable[[], Collection[str]]) -> None:
        self._read = read

    def __contains__(self, name: object) -> bool:
        return name in self._read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def _dialects() -> Collection[str]:
    from toolcalls.dialects import all_dialects  # noqa: PLC0415 - see `_Names`

    return all_dialects()


def _wires() -> Collection[str]:
    from toolcalls.wires import all_wires  # noqa: PLC0415 - see `_Names`

    return all_wires()


_DIALECTS, _WIRES = _Names(_dialects), _Names(_wires)

type _Stamp = tuple[int, int] | None


def _stamp(path: Path) -> _Stamp:
    """Modification time in nanoseconds and size; None for a file that cannot be read."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


class _OwnDialects:
    """Finds dialects of files and of installed packages, once a configuration names one.

    stamps   of the files, from before they were read
    """

    def __init__(self) -> None:
        self.stamps: dict[Path, _Stamp] = {}
        self._found: OwnDialects | None = None

    def in_file(self, path: Path, name: str | None) -> str:
        self.stamps.setdefault(path, _stamp(path))
        return self._loading().in_file(path, name)

    def installed(self, name: str) -> str | None:
        return self._loading().installed(name)

    def _loading(self) -> OwnDialects:
        if self._found is None:
            from toolcalls.own_dialects.loading import Loading  # noqa: PLC0415 - see `_Names`

            self._found = Loading()
        return self._found


class ConfigFile:
    """One file, or for "" the one that ships with the package. Raises ConfigError for an invalid one."""

    def __init__(self, option: str) -> None:
        self.path = Path(option).expanduser() if option else config.default_path()
        self._stamp = _stamp(self.path)
        self._beside: dict[Path, _Stamp] = {}  # the files of its dialects
        self._looked = time.monotonic()
        self._config = self._load()
        self._policies: dict[str, PolicyName] = {}
        if self._is_world_writable():
            logger.warning(f"toolcalls: every user of this machine can write {self.path}")

    def override_policy(self, route: str, policy: PolicyName | None) -> None:
        """Use another policy for a route until mitmproxy stops; None: the file's again."""
        self._policies.pop(route, None)
        if policy is not None:
            self._policies[route] = policy

    def current(self) -> Config:
        """The configuration in the file, with the policies that were overridden."""
        config = self._read()
        if not self._policies:
            return config
        return replace(
            config, routes=tuple(map(self._overridden, config.routes)), default=self._overridden(config.default)
        )

    def _overridden(self, route: Route) -> Route:
        policy = self._policies.get(route.name)
        return route if policy is None else replace(route, policy=policy, take=None, require=None)

    def _read(self) -> Config:
        """The configuration in the file, or the last valid one."""
        now = time.monotonic()
        if now - self._looked < _INTERVAL:
            return self._config
        self._looked = now
        stamp = _stamp(self.path)
        if stamp != self._stamp or any(_stamp(path) != was for path, was in self._beside.items()):
            self._stamp = stamp
            try:
                self._config = self._load()
            except config.ConfigError as error:
                logger.warning("toolcalls: the old configuration stays in effect: " + " | ".join(error.errors))
            else:
                logger.info(f"toolcalls: read {self.path} again")
        return self._config

    def _load(self) -> Config:
        own = _OwnDialects()
        try:
            loaded = config.load(self.path, _DIALECTS, _WIRES, own)
        finally:  # a mistake in one of them is looked for again when that file changes
            self._beside = {path: stamp for path, stamp in own.stamps.items() if path != self.path}
        if any(route.reactors for route in (*loaded.routes, loaded.default)):
            self._load_reactors(loaded)
        for warning in loaded.warnings:
            logger.warning(f"toolcalls: {warning}")
        return loaded

    def _load_reactors(self, loaded: Config) -> None:
        from toolcalls.processors.reactor_runner import RUNNER, Broken  # noqa: PLC0415 - few configurations have any

        try:
            RUNNER.load(loaded)
        except Broken as error:
            raise config.ConfigError(f"{self.path}: {error}") from error

    def _is_world_writable(self) -> bool:
        """Whether every user of this machine may write the file."""
        try:
            return bool(self.path.stat().st_mode & S_IWOTH)
        except OSError:
            return False
