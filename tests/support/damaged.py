"""Damaged calls: what the reader makes of a text, whole and cut anywhere, in `auto` and by a dialect's name."""

import json
from dataclasses import dataclass
from typing import Any

from support.sampling import share, some
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.tools.parse.command import parsed


def tool(name: str, **properties: str | dict[str, Any]) -> Tool:
    """A tool; a property is a type or a whole schema."""
    schemas = {key: {"type": one} if isinstance(one, str) else one for key, one in properties.items()}
    return Tool(name, schema={"type": "object", "properties": schemas})


TOOLS = (
    tool("Write", path="string", content="string"),
    tool("Noop"),
    tool("Tune", n="integer", list="array", map="object"),
)


@dataclass(frozen=True)
class Outcome:
    """The text that is shown, the calls as (name, arguments), and all repairs."""

    text: str
    calls: tuple[tuple[str, str], ...]
    repairs: tuple[str, ...]


def outcome(
    text: str,
    dialect: str | None = None,
    *,
    tools: tuple[Tool, ...] = TOOLS,
    finish: str = "stop",
    turn: int = 0,
    turns: int = 1,
) -> Outcome:
    """The outcome of `text`, which must be the same wherever it is cut.

    dialect   the one that is read; None: all are looked for
    turn      of so many texts of a kind: each is cut at other places, and together at all (`sampling.share`)
    """
    route = Route(dialects=None if dialect is None else (dialect,))
    policy = CallPolicy(route, Request(tools=tools), open_calls=True)

    def read(pieces: list[str]) -> dict[str, Any]:
        return parsed(pieces, policy, cut=finish == "length")

    whole = read([text])
    assert read(list(text)) == whole
    for at in some(share(range(1, len(text)), turn, turns), 12, text):
        assert read([text[:at], text[at:]]) == whole, at
    return Outcome(
        whole["text"],
        tuple((call["name"], json.dumps(json.loads(call["arguments"]))) for call in whole["calls"]),
        tuple(repair for verdict in whole["verdicts"] for repair in verdict["repairs"]),
    )


def of_shape(shape: type) -> list[str]:
    """The names of the dialects of a shape."""
    return [name for name, dialect in all_dialects().items() if isinstance(dialect, shape)]
