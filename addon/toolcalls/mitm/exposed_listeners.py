"""Which of mitmproxy's listeners the whole network can reach.

mitmproxy listens on all interfaces unless an address is given (`listen_host`, or `--mode regular@127.0.0.1:8080`), and
its `block_global` keeps out public addresses only. Whoever reaches such a proxy can use it, and what it forwards to.
https://docs.mitmproxy.org/stable/concepts/options/
"""

import ipaddress
from collections.abc import Sequence

from mitmproxy.proxy.mode_specs import ProxyMode

_LOCAL = ("local", "tun", "wireguard")  # modes that do not listen for a client's connections


def exposed_modes(modes: Sequence[str], host: str) -> list[str]:
    """The names of the modes, in order, whose listener every host of the network can reach.

    modes   specifications as in the option `mode`; mitmproxy itself reports an invalid one
    host    the option `listen_host`, "" for all interfaces
    """
    found = []
    for spec in modes:
        try:
            mode = ProxyMode.parse(spec)
        except ValueError:
            continue
        if mode.type_name not in _LOCAL and not _is_restricted(mode.listen_host(host)):
            found.append(mode.type_name)
    return found


def _is_restricted(host: str) -> bool:
    """Whether an address is a loopback address, or that of one interface that somebody chose."""
    if not host:
        return False
    try:
        return not ipaddress.ip_address(host).is_unspecified
    except ValueError:  # a name: somebody chose it
        return True
