"""What the options that hold an address open. Each needs an extra or a library that is loaded only then."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolcalls.config import ConfigError
from toolcalls.route import Price

if TYPE_CHECKING:
    from toolcalls.mitm.health import Health
    from toolcalls.mitm.metrics.counts import Metrics
    from toolcalls.mitm.shared_store import SharedStore
    from toolcalls.mitm.traces import Traces

_SDK = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
_NO_CLIENT = "toolcalls_metrics: this needs the extra `metrics`: pip install prometheus-client"


def metrics(address: str) -> "Metrics | None":
    """The metrics at an address; None for an empty one. Raises ConfigError."""
    if not address:
        return None
    host, port = _host_and_port("toolcalls_metrics", address)
    try:
        from toolcalls.mitm.metrics.counts import Metrics  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        raise ConfigError(_NO_CLIENT) from error
    try:
        return Metrics(host, port)
    except OSError as error:
        raise ConfigError(f"toolcalls_metrics: {host}:{port}: {error.strerror}") from error


def health(address: str) -> "Health | None":
    """The answers to a load balancer at an address; None for an empty one. Raises ConfigError."""
    if not address:
        return None
    from toolcalls.mitm.health import Health  # noqa: PLC0415 - only where the option is set

    host, port = _host_and_port("toolcalls_health", address)
    try:
        return Health(host, port)
    except OSError as error:
        raise ConfigError(f"toolcalls_health: {host}:{port}: {error.strerror}") from error


def memory(url: str, *, age: int, size: int) -> "SharedStore | None":
    """The store at a URL, for values of so many seconds and bytes; None for an empty one. Raises ConfigError."""
    if not url:
        return None
    try:
        from toolcalls.mitm.shared_store import SharedStore  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        if error.name != "redis":
            raise
        raise ConfigError("toolcalls_memory: this needs the extra `redis`: pip install redis") from error
    try:
        return SharedStore(url, age, size)
    except ValueError as error:  # without what it says, which may quote the password
        raise ConfigError("toolcalls_memory: expected an address as in redis://127.0.0.1:6379/0") from error


def traces(endpoint: str, *, content: bool, prices: Callable[[], Sequence[Price]]) -> "Traces | None":
    """The spans for a collector; None for an empty address. Raises ConfigError."""
    if not endpoint:
        return None
    try:
        from toolcalls.mitm.traces import Traces  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise ConfigError(f"toolcalls_otel: this needs the extra `otel`: pip install {_SDK}") from error
    try:
        return Traces(endpoint, content=content, prices=prices)
    except ValueError as error:  # without the address, which may hold a password
        raise ConfigError("toolcalls_otel: expected an address as in http://127.0.0.1:4318") from error


def _host_and_port(option: str, address: str) -> tuple[str, int]:
    """What `9464`, `127.0.0.1:9464` and `[::1]:9464` name. Raises ConfigError."""
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 2**16):
        raise ConfigError(f"{option}: expected a port, or an address as in 127.0.0.1:9464, found {address!r}")
    return host.strip("[]") or "127.0.0.1", int(port)
