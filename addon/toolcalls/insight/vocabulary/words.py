"""The vocabulary as it is in `words.toml`, read and checked when this is imported: tables by code, in their order.

A mistake in that file (an unknown key or code, a missing sentence) is an error here, which says where it is. That every
declared code has its entry is `tests/insight/test_vocabulary.py`'s to check. Codes of old and new files may be any, so
the tables are asked with `get`.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from toolcalls.insight.vocabulary.entries import (
    ConditionNumber,
    NoteEntry,
    Outcome,
    OutcomeEntry,
    ReasonEntry,
    RepairEntry,
    ReplyStatus,
    StatusEntry,
)

FILE = Path(__file__).with_name("words.toml")
_TABLES = ("outcome", "status", "reply_status", "reason", "repair", "note")


class _Words(Struct, forbid_unknown_fields=True):
    """The file, once each entry has its code and each remedy its words."""

    conditions: dict[ConditionNumber, str]
    beyond_conditions: str
    beyond_conditions_in_docs: str
    needs_look: dict[str, str]
    other_words: dict[str, str]
    outcome: dict[Outcome, OutcomeEntry]
    status: dict[str, StatusEntry]
    reply_status: dict[str, ReplyStatus]
    reason: dict[str, ReasonEntry]
    repair: dict[str, RepairEntry]
    note: dict[str, NoteEntry]


def words_of(text: str) -> _Words:
    """The vocabulary of a TOML document. Raises TOMLDecodeError and msgspec's ValidationError."""
    data = tomllib.loads(text)
    for table in _TABLES:
        data[table] = {code: {"code": code, **entry} for code, entry in data[table].items()}
    for entry in data["reason"].values():
        if "remedy" in entry:
            entry["remedy"] = _remedy(entry["remedy"])
        if "subject" in entry:
            entry["subject"] = {"name": entry["subject"], "description": entry.pop("description")}
    data["conditions"] = dict(enumerate(data["conditions"], 1))
    return convert(data, _Words)


def _remedy(form: dict[str, Any]) -> dict[str, Any]:
    """A remedy that is written in a short form.

    take     the route takes this reason
    mend     it mends this kind of damage
    larger   one of these limits is larger
    """
    match form:
        case {"take": reason}:
            return {"words": f"the route has take: [{reason}]", "setting": f"`take: [{reason}]`"}
        case {"mend": kind}:
            words = f"the route has mend: [{kind}], and it has one reading"
            return {"words": words, "setting": f"`mend: [{kind}]`", "does": "mended"}
        case {"larger": limits}:
            setting = ", ".join(f"`{limit}`" for limit in limits)
            return {"words": f"the route's {' or '.join(limits)} is larger", "setting": setting}
    return form


_WORDS = words_of(FILE.read_text(encoding="utf-8"))

# The seven conditions that text must meet to be a call, and what a policy or a route asks beyond them.
CONDITIONS: Mapping[ConditionNumber, str] = _WORDS.conditions
BEYOND_THEM, BEYOND_THEM_IN_DOCS = _WORDS.beyond_conditions, _WORDS.beyond_conditions_in_docs

OUTCOMES: Mapping[Outcome, OutcomeEntry] = _WORDS.outcome
STATUSES: Mapping[str, StatusEntry] = _WORDS.status
REPLY_STATUSES: Mapping[str, ReplyStatus] = _WORDS.reply_status
REASONS: Mapping[str, ReasonEntry] = _WORDS.reason
REPAIRS: Mapping[str, RepairEntry] = _WORDS.repair
NOTES: Mapping[str, NoteEntry] = _WORDS.note

NEEDS_LOOK: Mapping[str, str] = _WORDS.needs_look
OTHER_WORDS: Mapping[str, str] = _WORDS.other_words
