"""`toolcalls doctor [-- COMMAND]`: what is between an agent and the addon on this machine.

Out: a line for each check, which begins with `ok`, with `--` for what is as it is and needs nothing, or with `!!` and
ends with what to do. Exit status 1 where there is one of these. Nothing is changed, and nothing leaves the machine.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import certifi
from cryptography import x509

from toolcalls import __version__
from toolcalls.insight.redaction import redacted_url
from toolcalls.streams import BadInput, encode, write_finding
from toolcalls.tools.addon_path import ADDON
from toolcalls.tools.doctor.trial import TrialFailed, try_new_proxy, try_running_proxy
from toolcalls.tools.run.agents import AGENTS, OTHER, Agent, agent_in
from toolcalls.tools.run.authorities import ADDING, certificates, system_authorities
from toolcalls.tools.run.routing import HOST, reserved_ports, routed
from toolcalls.tools.server_urls import server_url

_PORT = 8080  # mitmproxy's
_HERE = frozenset({HOST, "localhost", "::1"})
_SECONDS = 20.0  # for another program's answer
_BASE_URLS = tuple(dict.fromkeys(name for agent in (*AGENTS, OTHER) for name in agent.base_urls))


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    mark: Literal["ok", "--", "!!"]
    text: str


def run(arguments: Namespace) -> int:
    """The command: 1 where something is in the way."""
    environment = dict(os.environ)
    agent = agent_in(arguments.command_line)[0] if arguments.command_line else None
    checks: list[Callable[[], Iterator[Finding]]] = [
        _versions,
        _other_mitmproxy,
        lambda: _authority(environment),
        lambda: _proxies(environment),
        lambda: _base_urls(environment, agent),
        lambda: _command(arguments.command_line, environment),
        lambda: _trial(arguments.port),
    ]
    found = False
    for check in checks:
        for finding in check():
            found |= finding.mark == "!!"
            write_finding(encode(f"{finding.mark}  {finding.text}\n"))
    return int(found)


def _versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        mitmproxy = metadata.version("mitmproxy")
    except metadata.PackageNotFoundError:
        yield Finding("!!", f"no mitmproxy in this Python: {sys.executable} -m pip install mitmproxy-toolcalls")
        return
    yield Finding("ok", f"toolcalls {__version__}, mitmproxy {mitmproxy}, Python {python} ({sys.executable})")


def _other_mitmproxy() -> Iterator[Finding]:
    """The mitmproxy that the shell finds, where it is another installation."""
    found = shutil.which("mitmdump")
    if found is None:
        yield Finding("--", "no mitmdump on PATH; `toolcalls web` and `toolcalls dump` start the one beside it")
        return
    if Path(found).resolve().parent == Path(sys.executable).resolve().parent or Path(found).parent == Path(
        sys.prefix, "bin"
    ):
        yield Finding("ok", f"mitmdump on PATH is the one beside toolcalls ({found})")
        return
    python = _interpreter(Path(found))
    if python is None:
        yield Finding("--", f"{found} is another mitmproxy, and not a Python script: use `toolcalls web` in its place")
        return
    program = (
        f"import json, runpy, sys; room = runpy.run_path({str(ADDON.with_name('requirements.py'))!r}); "
        "print(json.dumps([room['missing_packages'](), room['remedy'](sys.prefix)]))"
    )
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=_SECONDS, check=True)
        missing, remedy = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        yield Finding(
            "!!", f"{found} is another mitmproxy, and does not answer ({type(error).__name__}): use toolcalls web"
        )
        return
    if missing:
        yield Finding("!!", f"{found} is another mitmproxy, and lacks {', '.join(missing)}: {remedy}")
    else:
        yield Finding("ok", f"{found} is another mitmproxy, and has what the addon needs: -s {ADDON}")


def _interpreter(script: Path) -> str | None:
    """The Python that runs a script; None where it is a program of its own."""
    with script.open("rb") as file:
        first = file.readline(500)
        if first.strip() == b"#!/bin/sh":  # what installers write where the path has blanks, or is long
            first = file.readline(500).replace(b"'''exec' ", b"#!")
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    return next((word.strip("'\"") for word in words if "python" in word), None)


def _authority(environment: Mapping[str, str]) -> Iterator[Finding]:
    """mitmproxy's certificate authority, and which runtimes trust it."""
    path = Path("~/.mitmproxy/mitmproxy-ca-cert.pem").expanduser()
    try:
        own = x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        yield Finding("--", f"{path} is made when mitmproxy first starts; only a forward proxy needs it")
        return
    except (OSError, ValueError) as error:
        yield Finding("!!", f"{path} cannot be read ({error}): remove it, and mitmproxy makes another one")
        return
    stores = {
        "curl, Go and OpenSSL": system_authorities(environment),
        "Python (httpx, openai, anthropic)": _file(environment.get("SSL_CERT_FILE") or certifi.where()),
        "Python (requests)": _file(environment.get("REQUESTS_CA_BUNDLE") or certifi.where()),
        "Node": _file(environment.get(ADDING, "")),
        "Rust": system_authorities(environment),
    }
    trusting = [name for name, text in stores.items() if own in certificates(text)]
    others = [name for name in stores if name not in trusting]
    if trusting:
        yield Finding("ok", f"mitmproxy's authority is trusted by {', '.join(trusting)}")
    if others:
        yield Finding(
            "--",
            f"mitmproxy's authority is not trusted by {', '.join(others)}; `toolcalls run` sees to that for its agent; "
            f"else set SSL_CERT_FILE, REQUESTS_CA_BUNDLE or {ADDING} to {path}",
        )


def _file(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace") if path else ""
    except OSError:
        return ""


def _proxies(environment: Mapping[str, str]) -> Iterator[Finding]:
    """The variables that lead to a proxy, or past it."""
    proxy = environment.get("https_proxy") or environment.get("HTTPS_PROXY", "")
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    if not proxy:
        yield Finding(
            "--", "HTTPS_PROXY is not set: agents reach their APIs directly, unless `toolcalls run` starts them"
        )
        return
    try:
        shown = server_url(proxy, "HTTPS_PROXY")
    except BadInput as error:
        yield Finding("!!", f"{error}; correct it, or unset it")
        return
    where = f"{shown.host}:{shown.port}"  # without a password
    if shown.host in _HERE and not _listens(shown.port):
        yield Finding("!!", f"HTTPS_PROXY is {where}, where nothing listens: start `toolcalls web`, or unset it")
    else:
        yield Finding("ok", f"HTTPS_PROXY is {where}")
    if excluded:
        yield Finding("!!", f"NO_PROXY is {excluded}: requests to these go past the proxy; unset it, or use a base URL")


def _base_urls(environment: Mapping[str, str], agent: Agent | None) -> Iterator[Finding]:
    """Where base URLs that are set point."""
    names = agent.base_urls if agent is not None and agent is not OTHER else _BASE_URLS
    for name in names:
        if not (url := environment.get(name)):
            continue
        try:
            server = server_url(url, name)
        except BadInput as error:
            yield Finding("!!", f"{error}; correct it")
            continue
        where = redacted_url(f"{server.origin}{server.rest}")
        if server.host in _HERE and not _listens(server.port):
            yield Finding("!!", f"{name} is {where}, where nothing listens: start that server, or unset it")
        else:
            yield Finding("ok", f"{name} is {where}; `toolcalls run` puts the addon in front of it")
    if agent is not None and agent.settings:
        yield Finding("--", f"{agent.name} has its base URL in its settings: {agent.settings}")


def _command(command: list[str], environment: Mapping[str, str]) -> Iterator[Finding]:
    """The agent, and how `toolcalls run` would lead it."""
    if not command:
        return
    if shutil.which(command[0]) is None:
        yield Finding("!!", f"{command[0]}: there is no such command on PATH")
        return
    try:
        with reserved_ports() as free_port:
            routing = routed(command, environment, free_port)
    except BadInput as error:
        yield Finding("!!", str(error))
        return
    known = "" if routing.agent is not OTHER else ", which is not in the table of agents"
    way = "a forward proxy" if routing.forward else f"a reverse proxy ({', '.join(routing.environment)})"
    yield Finding(
        "ok", f"{shutil.which(command[0])} is {routing.agent.name}{known}: `toolcalls run` leads it through {way}"
    )


def _trial(port: int) -> Iterator[Finding]:
    """One call as text through a proxy that runs, else through one that is started for it."""
    try:
        if _listens(port):
            if try_running_proxy(port):
                yield Finding("ok", f"a text call came back as a native one through the proxy at {HOST}:{port}")
                return
            yield Finding("--", f"something listens at {HOST}:{port} that is no forward proxy, so it is not tried")
        else:
            yield Finding("--", f"nothing listens at {HOST}:{port}, so no proxy is running there")
    except TrialFailed as failed:
        yield Finding(
            "!!", f"the proxy at {HOST}:{port} runs without the addon ({failed}): stop it, start `toolcalls web`"
        )
        return
    try:
        try_new_proxy()
    except (TrialFailed, BadInput) as failed:
        yield Finding("!!", f"a text call through a new proxy failed: {failed}: please file it")
    else:
        yield Finding("ok", "a text call came back as a native one through a proxy that was started for it")


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        asking.settimeout(1.0)
        return asking.connect_ex((HOST, port)) == 0
