"""`toolcalls run -- COMMAND`: starts mitmproxy with the addon, and an agent whose requests go through it.

In: the agent's command as it would be typed. Out: the agent in this terminal, with its input, output and signals; its
exit status; on standard error, at the end, what became of its calls. The variables that point the agent at the proxy
are set for it alone, and files that they name lie in a folder that is removed.
"""

import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcalls.streams import BadInput, print_error
from toolcalls.tools.run.authorities import is_written, java_options, trusting
from toolcalls.tools.run.proxy import Proxy, running
from toolcalls.tools.run.routing import HOST, Routing, reserved_ports, routed

_NAME = "toolcalls run"
_PAGE = "toolcalls: sessions and scorecard at "
_SUM = "toolcalls: in total: "
_UNREACHED = "error establishing server connection: "  # mitmproxy's words, in reverse mode before any request
_NOT_FOUND, _NOT_RUNNABLE, _SIGNAL = 127, 126, 128  # exit statuses, as shells give them
_STEP = 1.0  # seconds that one wait for the agent's end takes at most


def run(arguments: Namespace) -> int:
    """The command: the agent's exit status. Raises BadInput."""
    with reserved_ports() as free_port, TemporaryDirectory(prefix="toolcalls-run-") as made:
        folder = Path(made)
        routing = routed(arguments.command_line, os.environ, free_port, arguments.upstream or "")
        modes = (word for mode in routing.modes for word in ("--mode", mode))
        options = [*_options(arguments, free_port), *modes]
        with running("web" if arguments.web else "dump", options, folder / "mitmproxy.log") as proxy:
            proxy.wait_for(
                lambda lines: (
                    _listens(lines, len(routing.modes), page=arguments.web)
                    and (routing.forward is None or is_written(_authority()))
                )
            )
            environment = {**os.environ, **routing.environment, **_certificates(routing, folder)}
            page = next((line.removeprefix(_PAGE) for line in proxy.lines if line.startswith(_PAGE)), "")
            if page:
                _say(f"the page with its calls: {page}")
            status = _agent(routing.command, environment)
            if page and sys.stdin.isatty():
                _wait_for_reader(page)
            proxy.stop()
            _summarize(proxy, routing, arguments.record)
    return status


def _options(arguments: Namespace, free_port: Callable[[], int]) -> list[str]:
    """mitmproxy's options, without its modes."""
    settings = ["flow_detail=0"]
    if arguments.web:
        settings += [f"web_port={free_port()}", "web_open_browser=false"]
    if arguments.record:
        folder = Path(arguments.record).expanduser()
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"--record {arguments.record}: this is a file, and a folder is needed")
        settings.append(f"toolcalls_record={folder.resolve()}")
    if arguments.config:
        settings.append(f"toolcalls_config={Path(arguments.config).expanduser().resolve()}")
    return [word for setting in settings for word in ("--set", setting)]


def _listens(lines: Sequence[str], modes: int, *, page: bool) -> bool:
    """Whether mitmproxy listens for all modes, and has said where its page is."""
    listening = sum(" listening at " in line and "Web server" not in line for line in lines)
    return listening >= modes and (not page or any(line.startswith(_PAGE) for line in lines))


def _authority() -> Path:
    """mitmproxy's authority, which it makes at its first start, after it has begun to listen."""
    return Path("~/.mitmproxy/mitmproxy-ca-cert.pem").expanduser()


def _certificates(routing: Routing, folder: Path) -> dict[str, str]:
    """The variables that make programs trust mitmproxy's authority. Raises BadInput."""
    if routing.forward is None:
        return {}
    own = _authority()
    try:
        variables = trusting(own, folder, os.environ)
        java = java_options(own, folder, os.environ, HOST, routing.forward)
    except OSError as error:
        raise BadInput(f"{own}: mitmproxy's authority cannot be read: {error.strerror or error}") from error
    return variables | ({"JAVA_TOOL_OPTIONS": java} if java else {})


def _agent(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run the agent in this terminal; its exit status, or that of a shell where it cannot be started or was killed."""
    with _signals_for_agent() as agent:
        try:
            process = subprocess.Popen(command, env=environment)
        except FileNotFoundError:
            _say(f"{command[0]}: there is no such command")
            return _NOT_FOUND
        except OSError as error:
            _say(f"{command[0]}: {error.strerror or error}")
            return _NOT_RUNNABLE
        agent.is_started(process)
        status = _status_of(process)
    return status if status >= 0 else _SIGNAL - status


def _status_of(process: "subprocess.Popen[bytes]") -> int:
    """The exit status of the agent, once it has ended.

    Python runs the handler of a signal between two of its steps. One that comes right before the system call that waits
    would only be handed on when the agent has ended, so no wait is without an end.
    """
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=_STEP)


class _Signals:
    """Hands signals on to an agent, those that came before its start too."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def is_started(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def hand_on(self, number: int, _frame: object) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


@contextmanager
def _signals_for_agent() -> Iterator[_Signals]:
    """While the block runs, signals are the agent's. The terminal sends it SIGINT and SIGQUIT by itself; what is sent
    to this process alone is handed on.
    """
    signals = _Signals()
    # A handler and not SIG_IGN, which the agent would inherit.
    handlers: dict[signal.Signals, Callable[[int, object], None]] = {signal.SIGTERM: signals.hand_on}
    handlers[signal.SIGINT] = lambda *_: None
    if os.name == "posix":
        handlers |= {signal.SIGQUIT: lambda *_: None, signal.SIGHUP: signals.hand_on}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_reader(page: str) -> None:
    """Keep the page until somebody who looks at it is done."""
    print(f"{_NAME}: the page stays at {page} until you press Enter ", end="", file=sys.stderr, flush=True)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _summarize(proxy: Proxy, routing: Routing, record: str | None) -> None:
    """Say what became of the agent's calls."""
    found = [line.removeprefix(_SUM) for line in proxy.lines if line.startswith(_SUM)]
    for line in found:
        _say(line)
    unreached = next((line.partition(_UNREACHED)[2] for line in reversed(proxy.lines) if _UNREACHED in line), "")
    if unreached and not found:
        _say(f"the model server cannot be reached: {unreached}")
    elif not found:
        settings = f"; its base URL: {routing.agent.settings}" if routing.agent.settings else ""
        _say(f"no request of an LLM API came through; `toolcalls doctor -- {routing.command[0]}` says why{settings}")
    elif record:
        _say(f"recorded in {record}; `toolcalls report {record} -o report.html` makes the page of it")


def _say(text: str) -> None:
    print_error(_NAME, text)
