"""How an agent's requests get to the proxy: by its base URL (reverse), or as through any proxy (forward).

A base URL that the user has set, or names with `--upstream`, is reached through a reverse proxy: nothing else of the
agent's traffic passes, and no certificate is needed. Everything else goes by the forward proxy.
"""

import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from toolcalls.streams import BadInput
from toolcalls.tools.run.agents import OTHER, SUFFIXES, Agent, agent_in
from toolcalls.tools.server_urls import server_url

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Routing:
    """What mitmproxy and the agent are started with.

    agent         of the table
    modes         mitmproxy's, each with its port
    command       the agent's, with what its base URL needs
    environment   variables that point the agent at the proxy, beside those for certificates
    forward       the port of the forward proxy; None for base URLs
    """

    agent: Agent
    modes: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    forward: int | None = None


def routed(
    command: Sequence[str], environment: Mapping[str, str], free_port: Callable[[], int], upstream: str = ""
) -> Routing:
    """The routing of an agent's command, with ports that `free_port` gives. Raises BadInput for an upstream that is no
    URL, or that no variable of this agent can hold.
    """
    agent, place = agent_in(command)
    bases = _bases(agent, environment, upstream)
    if not bases:
        return _forward(agent, command, environment, free_port())
    modes, variables, words = [], {}, list(command)
    for variable, url in bases.items():
        server = server_url(url, "--upstream" if upstream else variable)
        port = free_port()
        modes.append(f"reverse:{server.origin}@{HOST}:{port}")
        suffix = SUFFIXES.get(variable, agent.suffix) if upstream else ""
        variables[variable] = f"http://{server.credentials}{HOST}:{port}{server.rest or suffix}"
    if agent.arguments:
        (url, *_) = variables.values()
        words[place + 1 : place + 1] = [word.format(url=url) for word in agent.arguments]
    # A proxy of the user's, or of their system, does not get what is for this machine.
    names = [name for name in (environment.get("no_proxy") or environment.get("NO_PROXY", "")).split(",") if name]
    excluded = ",".join(dict.fromkeys([*names, HOST]))
    return Routing(agent, tuple(modes), tuple(words), variables | {"NO_PROXY": excluded, "no_proxy": excluded})


def _bases(agent: Agent, environment: Mapping[str, str], upstream: str) -> dict[str, str]:
    """The variables of base URLs that the agent is given, with where each leads."""
    if upstream:
        if not agent.base_urls:
            raise BadInput(
                f"--upstream: {agent.name} takes its base URL from its settings only ({agent.settings}); write "
                f"{upstream} there and run it without --upstream"
            )
        chosen = agent.base_urls if agent is OTHER else agent.base_urls[:1]
        return dict.fromkeys(chosen, upstream)
    return {name: environment[name] for name in agent.base_urls if environment.get(name)}


def _forward(agent: Agent, command: Sequence[str], environment: Mapping[str, str], port: int) -> Routing:
    url = f"http://{HOST}:{port}"
    outer = environment.get("https_proxy") or environment.get("HTTPS_PROXY", "")
    mode = f"regular@{HOST}:{port}"
    if outer:
        proxy = server_url(outer, "HTTPS_PROXY")
        if proxy.credentials:
            raise BadInput(
                "HTTPS_PROXY: only a proxy at http://HOST:PORT without a password can stand behind mitmproxy here; "
                "start `toolcalls web --mode upstream:… --upstream-auth …` yourself, or unset it"
            )
        mode = f"upstream:{proxy.origin}@{HOST}:{port}"
    variables = dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"), url)
    # NO_PROXY often excludes model servers on this machine, whose traffic matters here. Node's fetch uses a proxy only
    # if NODE_USE_ENV_PROXY is set (22.21 and newer).
    variables |= {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}
    return Routing(agent, (mode,), tuple(command), variables, port)


@contextmanager
def reserved_ports() -> Iterator[Callable[[], int]]:
    """A function that gives a port of this machine at each call; nobody else gets these while the block runs.

    A socket that is bound and does not listen holds each. On Linux a server may listen there all the same, as both set
    SO_REUSEADDR (ip(7), socket(7)). Elsewhere no two sockets may have one port, so it is only free when it is chosen.
    """
    with ExitStack() as held:

        def free_port() -> int:
            free = held.enter_context(socket.socket())
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind((HOST, 0))
            port: int = free.getsockname()[1]
            if sys.platform != "linux":
                free.close()
            return port

        yield free_port
