"""What the log says when the proxy listens: version, configuration, APIs, and the addresses to configure in an agent.

The same lines come however mitmproxy was started. mitmweb's page has a line of its own (`page/addon.py`).
"""

from collections.abc import Iterator
from typing import Any

from mitmproxy import ctx, version
from mitmproxy.proxy.mode_specs import ReverseMode

from toolcalls import __version__, config
from toolcalls.mitm.config_file import ConfigFile
from toolcalls.wires import all_wires


def banner(config_file: ConfigFile) -> Iterator[str]:
    """The lines; none where mitmproxy does not listen (`-n`)."""
    server: Any = ctx.master.addons.get("proxyserver")
    if server is None or not ctx.options.server:
        return
    yield f"toolcalls {__version__} in mitmproxy {version.VERSION}; configuration: {_configuration(config_file)}"
    read = [wire.name for wire in all_wires().values() if wire.answer is not None]
    watched = [wire.name for wire in all_wires().values() if wire.answer is None]
    yield f"toolcalls: reads the APIs {', '.join(read)}; shows, and never changes, {', '.join(watched)}"
    for one in server.servers:
        for host, port, *_ in one.listen_addrs[:1]:
            yield from _way_in(one.mode, _reachable(host, port))


def _configuration(config_file: ConfigFile) -> str:
    if config_file.path == config.default_path():
        return f"the default ({config_file.path}); --set toolcalls_config=FILE names another"
    return str(config_file.path)


def _way_in(mode: Any, address: str) -> Iterator[str]:
    """The address of a listener, as an agent's settings take it."""
    if isinstance(mode, ReverseMode):
        host, port = mode.address
        if mode.scheme in {"http", "https"}:
            yield (
                f"toolcalls: base URL for your agent: http://{address}/v1 (OpenAI) or http://{address} (Anthropic, "
                f"Gemini, Ollama), in place of {mode.scheme}://{host}:{port}"
            )
    elif mode.type_name == "regular":
        yield f"toolcalls: proxy for your agent: HTTPS_PROXY=http://{address}, and it must trust {_authority()}"


def _authority() -> str:
    return f"{ctx.options.confdir.rstrip('/')}/mitmproxy-ca-cert.pem"


def _reachable(host: str, port: int) -> str:
    """An address that this machine reaches a listener at."""
    host = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1", "": "127.0.0.1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
