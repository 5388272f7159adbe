"""A row of the page's list for each exchange: what is shown of it, and what it is searched and filtered by."""

import json
from collections.abc import Sequence
from typing import Any

from toolcalls.insight.attention import concerns_of
from toolcalls.insight.formatting import escaped
from toolcalls.insight.report import visible
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.glossary import GLOSSARY, LEAK

# `place` is its address in the page, `kinds` what it is filtered by (words of the glossary), `text` only searched.
NAMES = (
    *("place", "id", "began", "session", "agent", "model", "status", "summary", "took", "tokens", "server"),
    *("kinds", "text"),
)
_SEARCHED = 300  # characters of what the model wrote


def row_of(turn: Turn, place: str, title: str) -> list[Any]:
    """The row of a turn, whose session has this title."""
    kinds = kinds_of(turn)
    tokens = (turn.tokens.input or 0) + (turn.tokens.output or 0)
    causes = {word for one in turn.verdicts for word in (one.name, one.reason, one.dialect, one.rule, *one.repairs)}
    wrote = " ".join(passage.text for passage in turn.written)[:_SEARCHED]
    searched = [*sorted(word for word in causes if word), *(one.code for one in turn.damage), wrote, turn.session]
    return [
        place,
        turn.id,
        turn.started_at[:19].replace("T", " "),
        visible(title),
        visible(turn.agent or "not named"),
        visible(turn.model or "not named"),
        kinds[0],
        visible(turn.summary or turn.error),
        None if turn.seconds is None else round(turn.seconds, 3),
        tokens or "",
        visible(turn.server),
        kinds,
        visible(" ".join(searched)),
    ]


def kinds_of(turn: Turn) -> list[str]:
    """What an exchange is, in words of the glossary, what most needs a look first; at least one."""
    if turn.state != "ended":
        return [turn.state]
    found = {concern.kind for concern in concerns_of(turn)}
    found |= {one.status for one in turn.verdicts if not (one.status == "declined" and one.outcome == LEAK)}
    if turn.worst is not None and turn.worst != "declined":
        found.add(turn.worst)
    known = [kind for kind in GLOSSARY if kind in found]
    return known or [turn.worst or ("no call" if turn.wire else "not read")]


def as_json(rows: Sequence[Sequence[Any]]) -> str:
    """The rows and the names of their columns as one JSON object."""
    return json.dumps({"names": NAMES, "rows": rows}, ensure_ascii=False, separators=(",", ":"))


def glossary() -> str:
    """What the page's script knows of the words, as a part of the page."""
    return f'<template id="words">{escaped(json.dumps(dict(GLOSSARY)))}</template>'
