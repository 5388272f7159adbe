"""What it means that a smaller example still shows what was found: one of three.

a verdict       one candidate keeps its status, reason, dialect and repairs (names may change)
an expectation  the same, and no candidate has the verdict that was expected
a difference    another configuration, or another version, gives another verdict in the same place, and both are
                those that differed at first
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

from toolcalls.events import Verdict
from toolcalls.flows.cases.example import Example, read
from toolcalls.streams import BadInput
from toolcalls.tools.line_program import LineProgram

# Whether an example still shows it.
type Shows = Callable[[Example], bool]

_FINISH = {"broken": "cut"}


@dataclass(frozen=True, slots=True)
class Sign:
    """What is recognised of a verdict: all but names and places. `name`: whether it has one, and a declared one."""

    status: str
    reason: str | None
    dialect: str | None
    repairs: tuple[str, ...]
    name: Literal["", "undeclared", "declared"]

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        repairs = f", repaired: {', '.join(self.repairs)}" if self.repairs else ""
        return f"{self.status}{reason} in {self.dialect or 'no dialect'}{repairs}"


def sign_of(verdict: Verdict | Mapping[str, Any], tools: Collection[str]) -> Sign:
    """The sign of a verdict, or of one as JSON, where these tools are declared."""
    if isinstance(verdict, Verdict):
        verdict = {key: getattr(verdict, key) for key in ("status", "reason", "dialect", "repairs", "name")}
    name: str | None = verdict.get("name")
    known: Literal["", "undeclared", "declared"] = (
        "" if not name else "declared" if name.strip() in tools else "undeclared"
    )
    repairs = tuple(verdict.get("repairs") or ())
    return Sign(verdict["status"], verdict.get("reason"), verdict.get("dialect"), repairs, known)


def signs(example: Example) -> list[Sign]:
    """The signs of our own verdicts."""
    return _signs(example, read(example).verdicts)


def _signs(example: Example, verdicts: Iterable[Verdict | Mapping[str, Any]]) -> list[Sign]:
    tools = {name for name, _ in example.tools}
    return [sign_of(one, tools) for one in verdicts]


def both(one: Shows, other: Shows) -> Shows:
    """What shows both."""
    return lambda example: one(example) and other(example)


def keeps(sign: Sign) -> Shows:
    """What shows that a candidate has this verdict."""
    return lambda example: sign in signs(example)


def keeps_and_lacks(sign: Sign, expected: tuple[str, str | None]) -> Shows:
    """A candidate has this verdict, and none has the expected status and reason."""

    def shows(example: Example) -> bool:
        found = signs(example)
        return sign in found and not any((one.status, one.reason) == expected for one in found)

    return shows


def first_difference[S](ours: Sequence[S], theirs: Sequence[S]) -> tuple[S | None, S | None] | None:
    """The first pair of signs that differ; None for none. A verdict that one side lacks is None."""
    return next(((one, other) for one, other in zip_longest(ours, theirs) if one != other), None)


def differs(other: Callable[[Example], Sequence[Sign]], pair: tuple[Sign | None, Sign | None]) -> Shows:
    """Two readings differ first in this pair of verdicts."""
    return lambda example: first_difference(signs(example), other(example)) == pair


def by_settings(settings: tuple[tuple[str, Any], ...]) -> Callable[[Example], Sequence[Sign]]:
    """The verdicts by another configuration's route."""
    return lambda example: signs(replace(example, settings=settings))


def by_program(program: LineProgram) -> Callable[[Example], Sequence[Sign]]:
    """The verdicts of another version, through its `toolcalls parse --jsonl`. Raises BadInput where it has none."""

    def other(example: Example) -> Sequence[Sign]:
        settings = dict(example.settings)
        asked: dict[str, Any] = {
            "chunks": example.pieces,
            "tools": example.openai_tools,
            "finish": _FINISH.get(example.finish, example.finish),
            "policy": settings.get("policy", "standard"),
        }
        if settings.get("dialects") is not None:
            asked["dialect"] = list(settings["dialects"])
        if settings.get("allowed_tools") is not None:
            asked["allowed_tools"] = list(settings["allowed_tools"])
        if example.request:
            asked["request"] = example.request
        answer = program.ask(asked)
        if "verdicts" not in answer:
            raise BadInput(f"--against-python: its `toolcalls parse --jsonl` gave no verdicts: {answer.get('error')}")
        return _signs(example, answer["verdicts"])

    return other
