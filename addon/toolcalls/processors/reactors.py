"""Reactors: functions of the user's own that see a complete call and may change it. This is what their files import.

    from toolcalls.processors import Call, Drop, Edit, Keep, Say

    def no_force_push(call: Call) -> Keep | Drop | Edit | Say | None:
        if "push --force" in str(call.arguments.get("command", "")):
            return Drop("Force pushes are not allowed here.")
        return Keep()

A function is given a call and returns what is to become of it; None means Keep. It runs in the proxy, so it should be
quick. Of an edited call only the arguments that differ are written anew; the others keep their spelling.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcalls.route import Reactor
from toolcalls.text.patterns import Work, any_fullmatch, compiled
from toolcalls.values.conversion import members, quote


@dataclass(frozen=True, slots=True)
class Call:
    """A complete call. `arguments` are plain values, a copy: to change them, return an `Edit`."""

    name: str
    arguments: Mapping[str, Any]
    model: str = ""
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """The call stays as it is."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The client does not get the call, and `text` in its place ("": nothing)."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """The call gets another name, other arguments (all of them, as plain values), or both; None: as they are."""

    name: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """The call stays, and the client gets `text` before it."""

    text: str


_DEEPEST = 10_000  # frames of an error that are looked at

type Answer = Keep | Drop | Edit | Say | None

# Runs a function within its time limit. Raises whatever the function raises, and TimeoutError.
type Runner = Callable[[Reactor, Call], Answer]


def unavailable(reactor: Reactor, call: Call) -> Answer:
    """A `Runner` for hosts that load no files of reactors: each call stays as it is."""
    raise LookupError(f"{reactor.function} of {reactor.file} is not loaded; {call.name} stays")


class Failed(Exception):
    """A reactor gave no usable answer; the text says why, without values."""


@dataclass(frozen=True, slots=True)
class ReactorResult:
    """What the reactors made of a call: its name and argument JSON, None where one dropped it.

    changes   each that changed it, in order: the function's name, name and argument JSON after it (None: dropped)
    texts     what the client gets before it, or in its place
    failures  each that failed: the function's name and why
    """

    call: tuple[str, str] | None
    changes: tuple[tuple[str, tuple[str, str] | None], ...] = ()
    texts: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = field(default=())


class Reactors:
    """The reactors of one route, in order."""

    def __init__(self, reactors: tuple[Reactor, ...], run: Runner, *, model: str, work: Work | None = None) -> None:
        self._reactors = [(reactor, [compiled(tool, re.DOTALL) for tool in reactor.tools]) for reactor in reactors]
        self._run = run
        self._work = work or Work()
        self._model = model

    def watches(self, name: str) -> bool:
        """Whether any of them is for this tool."""
        return any(any_fullmatch(tools, name, self._work) for _, tools in self._reactors)

    def react(self, name: str, arguments: str, dialect: str | None) -> ReactorResult:
        """Ask each in turn; one that fails leaves the call as it was."""
        call = (name, arguments)
        changes: list[tuple[str, tuple[str, str] | None]] = []
        texts: list[str] = []
        failures: list[tuple[str, str]] = []
        for reactor, tools in self._reactors:
            if not any_fullmatch(tools, call[0], self._work):
                continue
            try:
                answer = _answer(self._run(reactor, Call(call[0], json.loads(call[1]), self._model, dialect)))
                made = _edited(call, answer) if isinstance(answer, Edit) else call
            except Exception as error:  # noqa: BLE001 - it is the user's code: whatever it raises, the call stays
                failures.append((reactor.function, _why(error, reactor.file)))
                continue
            if isinstance(answer, Say | Drop) and answer.text:
                texts.append(answer.text)
            if isinstance(answer, Drop):
                changes.append((reactor.function, None))
                return ReactorResult(None, tuple(changes), tuple(texts), tuple(failures))
            if made != call:
                call = made
                changes.append((reactor.function, call))
        return ReactorResult(call, tuple(changes), tuple(texts), tuple(failures))


def _answer(answer: object) -> Answer:
    """What a function returned, which may be anything, as may what it holds. Raises Failed."""
    if isinstance(answer, Drop | Say) and not isinstance(answer.text, str):
        raise Failed(f"gave a text that is none, but {type(answer.text).__name__}")
    if isinstance(answer, Edit) and not isinstance(answer.name, str | None):
        raise Failed(f"gave the call a name that is no text, but {type(answer.name).__name__}")
    if isinstance(answer, Edit) and not isinstance(answer.arguments, Mapping | None):
        raise Failed(f"gave the call arguments that are no mapping, but {type(answer.arguments).__name__}")
    if answer is None or isinstance(answer, Keep | Drop | Edit | Say):
        return answer
    raise Failed(f"returned {type(answer).__name__}, no Keep, Drop, Edit or Say")


def _why(error: Exception, file: str) -> str:
    """An error without its text, which may hold what the call holds, with the line of the reactor's file."""
    if isinstance(error, Failed):
        return str(error)
    line, trace = 0, error.__traceback__
    for _ in range(_DEEPEST):
        if trace is None:
            break
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else line
        trace = trace.tb_next
    return f"raised {type(error).__name__}" + (f" in line {line}" if line else "")


def _edited(call: tuple[str, str], edit: Edit) -> tuple[str, str]:
    """The call as an `Edit` wants it. Raises Failed."""
    name = call[0] if edit.name is None else edit.name
    if not name:
        raise Failed("gave the call no name")
    return name, call[1] if edit.arguments is None else with_values(call[1], edit.arguments)


def with_values(arguments: str, wanted: Mapping[str, Any], *, keep_others: bool = False) -> str:
    """Argument JSON with the values of `wanted`; a value that is the same keeps its spelling. Raises Failed.

    keep_others   what `wanted` does not name stays; else it goes
    """
    was = dict(members(arguments))
    if keep_others:
        wanted = {key: wanted[key] if key in wanted else _Spelt(raw) for key, raw in was.items()}
    parts: list[str] = []
    for key, value in wanted.items():
        if not isinstance(key, str):
            raise Failed("gave an argument a name that is no text")
        raw = was.get(key)
        if isinstance(value, _Spelt):
            raw = value
        elif raw is None or _differ(json.loads(raw), value):
            try:
                raw = quote(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise Failed("gave an argument a value that is no JSON") from error
        parts.append(f"{quote(key)}:{raw}")
    made = "{" + ",".join(parts) + "}"
    return arguments if len(was) == len(parts) and members(arguments) == members(made) else made


class _Spelt(str):
    """A value as its JSON text."""

    __slots__ = ()


def _differ(left: object, right: object) -> bool:
    """Whether two plain values differ; true is not 1."""
    return json.dumps(left, sort_keys=True) != json.dumps(right, sort_keys=True, default=repr)
