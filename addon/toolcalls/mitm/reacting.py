"""Reactors as the host runs them: their files loaded, their time measured.

A file is run once, when the configuration that names it is read, and again when it has changed. Each function runs in
a thread of its own, so that one that hangs holds a reply up for its time limit and no longer; such a thread cannot be
ended, so the function is not called again until its file changes.
"""

from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from typing import Any

from toolcalls.processors import Answer, Call
from toolcalls.route import Config, Reactor


class Broken(ValueError):
    """A file of reactors that cannot be run; the text names it and says why."""


@dataclass(slots=True)
class _File:
    stamp: tuple[int, int]
    functions: dict[str, Any]
    hanging: set[str] = field(default_factory=set)


class Runner:
    """Runs reactors by file and name (`processors.reactors.Runner`)."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def load(self, config: Config) -> None:
        """Run the files that a configuration names. Raises Broken."""
        for route in (*config.routes, config.default):
            for reactor in route.reactors:
                self._file(reactor.file)

    def __call__(self, reactor: Reactor, call: Call) -> Answer:
        """What a function answers. Raises whatever it raises, TimeoutError, and Broken for a file that went wrong."""
        file = self._file(reactor.file)
        if reactor.function in file.hanging:
            raise TimeoutError
        answer: list[Answer] = []
        failed: list[Exception] = []

        def work() -> None:
            try:
                answer.append(file.functions[reactor.function](call))
            except Exception as error:  # noqa: BLE001 - the user's code; it is raised again in the caller's thread
                failed.append(error)

        thread = Thread(target=work, name=f"toolcalls reactor {reactor.function}", daemon=True)
        thread.start()
        thread.join(reactor.time_limit)
        if thread.is_alive():
            file.hanging.add(reactor.function)
            raise TimeoutError
        for error in failed:
            raise error
        return answer[0] if answer else None

    def _file(self, name: str) -> _File:
        path = Path(name)
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._files.get(name)
            if known is None or known.stamp != stamp:
                known = self._files[name] = _File(stamp, _run(path))
        except OSError as error:
            raise Broken(f"{name} cannot be read: {error.strerror}") from error
        return known


RUNNER = Runner()


def _run(path: Path) -> dict[str, Any]:
    """The names that a file defines. Raises Broken."""
    spec = spec_from_file_location(f"toolcalls_reactors_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise Broken(f"{path} is no Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Broken(f"{path} cannot be run: {error!r}") from error
    return vars(module)
