"""`toolcalls web|dump|console`: starts mitmproxy with the addon, in this process.

In: the upstream, and mitmproxy's own options, which are handed on as they are. mitmproxy listens on loopback unless an
option says otherwise. What it prints at the start is the addon's (`banner`).
"""

import sys
from argparse import Namespace
from collections.abc import Sequence

from mitmproxy.tools import main

from toolcalls.tools.addon_path import ADDON
from toolcalls.tools.server_urls import server_url

_TOOLS = {"web": main.mitmweb, "dump": main.mitmdump, "console": main.mitmproxy}
_LISTEN = "--listen-host"


def run(arguments: Namespace) -> int:
    """The command, until mitmproxy ends. Raises BadInput, and SystemExit with mitmproxy's own status."""
    options = mitmproxy_options(arguments.rest)
    sys.argv = [f"toolcalls {arguments.command}", *options]  # mitmproxy names itself by it, and looks for old options
    _TOOLS[arguments.command](options)
    return 0


def mitmproxy_options(rest: Sequence[str]) -> list[str]:
    """mitmproxy's options for a command line of ours, without the command. Raises BadInput for an upstream that is no
    URL.
    """
    upstream, given = (rest[0], list(rest[1:])) if rest and not rest[0].startswith("-") else ("", list(rest))
    options = ["-s", str(ADDON)]
    if not any(word == _LISTEN or word.startswith((f"{_LISTEN}=", "listen_host=")) for word in given):
        options += [_LISTEN, "127.0.0.1"]
    if upstream:
        options += ["--mode", f"reverse:{server_url(upstream, 'UPSTREAM').origin}"]
    return [*options, *given]
