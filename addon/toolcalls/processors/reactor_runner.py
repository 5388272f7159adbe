"""Reactors as a host runs them: their files loaded, their time measured.

A file is run once, when the configuration that names it is read, and again when it has changed; one that went wrong is
not run again before it changes. Files and functions run in threads of their own, so one that hangs holds a reply up for
its time limit and no longer. It is then asked to end, which Python code does at its next step, and code that waits for
something when that has come; and it is not called again until its file changes. What never comes back to Python (a
pattern that tries without end) cannot be ended by anybody: it holds the whole process.

The limit is for what a thread computes, where the system tells that (macOS does not): on a busy machine a function that
is quick enough by itself must not fail. One that waits, for the machine or for anything else, has `_PATIENCE` times as
long.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread, get_ident
from typing import Any

from toolcalls.processors import Answer, Call
from toolcalls.processors.reactors import Failed
from toolcalls.route import Config, Reactor

_LOADING = 5.0  # seconds that running a file may take
_PATIENCE = 4
_LOOK = 0.05  # seconds between two looks at a thread that has not ended in time
_MOST = 8  # functions that were asked to end and did not; with so many, none is called


class Broken(ValueError):
    """A file of reactors that cannot be run; the text names it, with the line, and says why."""


class _Ended(BaseException):
    """Raised in the thread of a function that ran out of time."""


class _OutOfTime(Exception):
    """Something took longer than it may."""


@dataclass(slots=True)
class _File:
    """A file as it was run. `broken` says why it could not be; `hanging` are functions that ran out of time."""

    stamp: tuple[int, int]
    functions: dict[str, Any]
    broken: Broken | None = None
    hanging: set[str] = field(default_factory=set)


class Runner:
    """Runs reactors by file and name (`processors.reactors.Runner`)."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._stuck: list[Thread] = []

    def load(self, config: Config) -> None:
        """Run the files that a configuration names. Raises Broken."""
        for route in (*config.routes, config.default):
            for reactor in route.reactors:
                file = self._file(reactor.file)
                if file.broken is not None:
                    raise file.broken

    def __call__(self, reactor: Reactor, call: Call) -> Answer:
        """What a function answers. Raises whatever it raises, and Failed where there is no answer."""
        try:
            file = self._file(reactor.file)
        except Broken as error:
            raise Failed(f"is not there: {error}") from error
        if file.broken is not None:
            raise Failed(f"is not there: {file.broken}")
        if reactor.function in file.hanging:
            raise Failed("ran out of time before, and is not called again until its file changes")
        function = file.functions.get(reactor.function)
        if function is None:
            raise Failed("is no longer in its file")
        try:
            answer: Answer = self._limited(lambda: function(call), reactor.time_limit)
        except _OutOfTime as error:
            file.hanging.add(reactor.function)
            raise Failed(f"took longer than {reactor.time_limit:g} s") from error
        return answer

    def _limited(self, work: Callable[[], Any], limit: float) -> Any:
        """What `work` returns in time. Raises what it raises, Failed for what ends programs, and _OutOfTime."""
        self._stuck = [thread for thread in self._stuck if thread.is_alive()]
        if len(self._stuck) >= _MOST:
            raise Failed("is not called: too many reactors hang")
        made: list[Any] = []
        raised: list[Exception] = []
        clocks: list[int] = []

        def run() -> None:
            try:
                clocks.extend(_own_clock())
                made.append(work())
            except _Ended:
                return
            except Exception as error:  # noqa: BLE001 - the user's code; it is raised again in the caller's thread
                raised.append(error)
            except BaseException as error:  # noqa: BLE001 - SystemExit and the like must not end the host
                raised.append(Failed(f"raised {type(error).__name__}"))

        thread = Thread(target=run, name="toolcalls reactor", daemon=True)
        thread.start()
        begun = time.monotonic()
        thread.join(limit)
        while thread.is_alive() and time.monotonic() - begun < _PATIENCE * limit and _computed(clocks) < limit:
            thread.join(_LOOK)
        if thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Ended))
            self._stuck.append(thread)
            raise _OutOfTime
        for error in raised:
            raise error
        return made[0] if made else None

    def _file(self, name: str) -> _File:
        """A file as it is now. Raises Broken for one that cannot be read."""
        path = Path(name)
        try:
            stat = path.stat()
        except OSError as error:
            raise Broken(f"{name} cannot be read: {error.strerror}") from error
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._files.get(name)
        if known is None or known.stamp != stamp:
            try:
                known = _File(stamp, self._limited(lambda: _run(path), _LOADING))
            except Broken as error:
                known = _File(stamp, {}, error)
            except _OutOfTime:
                known = _File(stamp, {}, Broken(f"{path} cannot be run: it takes longer than {_LOADING:g} s"))
            self._files[name] = known
        return known


RUNNER = Runner()


def _own_clock() -> list[int]:
    """The clock of what the calling thread computes, [] where the system has none."""
    found: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
    return [] if found is None else [found(get_ident())]


def _computed(clocks: list[int]) -> float:
    """The seconds that a thread has computed, without end where nobody can tell."""
    try:
        return time.clock_gettime(clocks[0])
    except (IndexError, OSError):  # it has not begun, the system does not tell, or it has ended by now
        return 0.0 if hasattr(time, "pthread_getcpuclockid") else float("inf")


def _run(path: Path) -> dict[str, Any]:
    """The names that a file defines. Raises Broken."""
    name = f"toolcalls_reactors_{blake2b(bytes(path), digest_size=8).hexdigest()}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Broken(f"{path} is no Python file")
    module = module_from_spec(spec)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Broken(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        # Not through the loader: what it keeps compiled is found by size and seconds, too coarse for a file that is
        # being edited.
        sys.modules[name] = module  # dataclasses look for it there
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise Broken(f"{error.filename or path}{line}: {error.msg}") from error
    except _Ended:
        raise
    except BaseException as error:
        raise Broken(f"{path}:{_line(error, path)}: {error!r}") from error
    return vars(module)


def _line(error: BaseException, path: Path) -> int:
    """The last line of a file that an error came through."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
