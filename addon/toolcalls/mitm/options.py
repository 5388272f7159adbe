"""The addon's options, and what they name: the configuration file, the log of verdicts, the folder of recordings, the
addresses of the metrics and of the answers to a load balancer.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mitmproxy import ctx, exceptions
from mitmproxy.addonmanager import Loader

from toolcalls.config import ConfigError
from toolcalls.config.amounts import bytes_of, seconds_of
from toolcalls.config.mistakes import did_you_mean
from toolcalls.mitm import services
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.mitm.declared_options import OPTIONS
from toolcalls.mitm.recording.limits import Limits

if TYPE_CHECKING:
    from toolcalls.mitm.health import Health
    from toolcalls.mitm.journal import Journal
    from toolcalls.mitm.metrics.counts import Metrics
    from toolcalls.mitm.recording.recorder import Recorder
    from toolcalls.mitm.shared_store import SharedStore
    from toolcalls.mitm.traces import Traces

_OPTIONS_ERROR: type[Exception] = exceptions.OptionsError  # its constructor has no types


class Options:
    """What the options name, open; None where an option is empty or not read yet."""

    def __init__(self) -> None:
        self.config_file: ConfigFile | None = None
        self.journal: Journal | None = None
        self.recorder: Recorder | None = None
        self.metrics: Metrics | None = None
        self.health: Health | None = None
        self.memory: SharedStore | None = None
        self.traces: Traces | None = None

    @property
    def rejudges(self) -> bool:
        """Whether the verdicts of flows from a file are replaced by those of the current configuration."""
        return bool(ctx.options.toolcalls_rejudge)

    def declare(self, loader: Loader) -> None:
        """Add the options to mitmproxy's. A mistake in those given ends mitmproxy."""
        for option in OPTIONS:
            choices = list(option.choices) if option.choices else None
            loader.add_option(option.name, option.kind, option.default, option.help, choices)
        mistake = _mistake(ctx.options)
        if mistake and _is_starting():
            _exit(mistake)

    def configure(self, updated: set[str]) -> None:
        """Open what the `updated` options name. Raises OptionsError, on which mitmproxy takes back the change; while
        mitmproxy starts, a mistake ends it.
        """
        try:
            self._configure(updated)
        except ConfigError as error:
            if _is_starting():
                _exit(" | ".join(error.errors))
            raise _OPTIONS_ERROR(str(error)) from None

    def _configure(self, updated: set[str]) -> None:
        """Raises ConfigError."""
        if "toolcalls_config" in updated or self.config_file is None:
            self.config_file = ConfigFile(ctx.options.toolcalls_config)
        if "toolcalls_log" in updated:
            journal = _open("toolcalls_log", _journal)
            if self.journal is not None:
                self.journal.close()
            self.journal = journal
        if "toolcalls_metrics" in updated:
            if self.metrics is not None:  # first, since the new address may be the old one
                self.metrics.close()
                self.metrics = None
            self.metrics = services.metrics(ctx.options.toolcalls_metrics)
        if "toolcalls_health" in updated:
            if self.health is not None:
                self.health.close()
                self.health = None
            self.health = services.health(ctx.options.toolcalls_health)
        if any(name.startswith("toolcalls_otel") for name in updated):
            traces = services.traces(
                ctx.options.toolcalls_otel,
                content=ctx.options.toolcalls_otel_content,
                prices=lambda: self.config_file.current().prices if self.config_file is not None else (),
            )
            if self.traces is not None:
                self.traces.close()
            self.traces = traces
        if any(name.startswith("toolcalls_memory") for name in updated):
            memory = services.memory(
                ctx.options.toolcalls_memory,
                age=_number("toolcalls_memory_age", seconds_of),
                size=_number("toolcalls_memory_size", bytes_of),
            )
            if self.memory is not None:
                self.memory.close()
            self.memory = memory
        if any(name.startswith("toolcalls_record") for name in updated):
            limits = _limits()
            store = _store()
            recorder = _open("toolcalls_record", lambda path: _recorder(path, limits, store))
            if self.recorder is not None:
                self.recorder.close()
            self.recorder = recorder

    def close(self) -> None:
        """Close all that the options name."""
        for output in (self.journal, self.recorder, self.metrics, self.health, self.memory, self.traces):
            if output is not None:
                output.close()


def _open[T](option: str, kind: Callable[[Path], T]) -> T | None:
    """The output at the path that an option names; None for an empty one. Raises ConfigError."""
    path = getattr(ctx.options, option)
    try:
        return kind(Path(path).expanduser()) if path else None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: the home of an unknown user
        raise ConfigError(f"{option}: {error}") from error


def _journal(path: Path) -> "Journal":
    from toolcalls.mitm.journal import Journal  # noqa: PLC0415 - only where the option is set

    return Journal(path)


def _recorder(path: Path, limits: Limits, store: str) -> "Recorder":
    from toolcalls.mitm.recording.recorder import Recorder  # noqa: PLC0415 - only where the option is set

    return Recorder(path, limits, store)


def _store() -> str:
    """Where files of the recording go; "" for nowhere. Raises ConfigError."""
    url: str = ctx.options.toolcalls_record_store
    if url and not ctx.options.toolcalls_record:
        raise ConfigError("toolcalls_record_store: set toolcalls_record as well: files are moved from its folder")
    if url and "://" not in url:
        raise ConfigError("toolcalls_record_store: expected an address as in s3://bucket/folder")
    if url and find_spec("fsspec") is None:
        raise ConfigError("toolcalls_record_store: this needs the extra `dask`: pip install fsspec s3fs")
    return url


def _limits() -> Limits:
    """How recordings are cut and bounded. Raises ConfigError."""
    options = ctx.options
    return Limits(
        split=options.toolcalls_record_split,
        file_size=_number("toolcalls_record_file_size", bytes_of),
        file_age=_number("toolcalls_record_file_age", seconds_of),
        total=_number("toolcalls_record_total", bytes_of),
    )


def _number(option: str, read: Callable[[str], int]) -> int:
    try:
        return read(getattr(ctx.options, option))
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from error


def _mistake(options: Any) -> str:
    """What is wrong with our options on the command line; "" for nothing.

    mitmproxy ignores an option that no addon declares. One that is given twice makes it load the addon only halfway.
    """
    for name, given in options.deferred.items():
        if not name.replace("-", "_").startswith(("toolcall", "tool_call")):
            continue
        if name not in options:
            known = [one for one in sorted(options.keys()) if one.startswith("toolcalls_")]
            return f"--set {name}: there is no such option{did_you_mean(name, known)}; there are {', '.join(known)}"
        if len(getattr(given, "val", ())) > 1:
            return f"--set {name} is given {len(given.val)} times"
    return ""


def _is_starting() -> bool:
    """Whether mitmproxy is still starting: then a mistake may end it, since no traffic is lost."""
    server = ctx.master.addons.lookup.get("proxyserver")
    return server is not None and not server.is_running


def _exit(why: str) -> NoReturn:
    """End mitmproxy with one line and status 2. For an OptionsError it would print a traceback and return 1."""
    from toolcalls.insight.report import visible  # noqa: PLC0415 - only now

    print(f"toolcalls: {visible(why)}", file=sys.stderr, flush=True)
    raise SystemExit(2)
