"""The fields of an exchange and of its verdicts, as they are in `fields.toml`, read and checked when this is imported.

An exported field that is missing there fails `tests/insight/test_vocabulary.py`. The JSON Schema of the lines
(`exports/exchange.schema.json`) and the table in docs/exports.md are written from here by `make tables`.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from msgspec import convert

from toolcalls.events import Status
from toolcalls.insight.vocabulary.entries import Field, JsonSchema
from toolcalls.insight.vocabulary.statuses import SEVERITY
from toolcalls.insight.vocabulary.words import OUTCOMES
from toolcalls.requests.evidence import Kind

FILE = Path(__file__).with_name("fields.toml")
SCHEMA = "toolcalls.exchange"
VERSION = 1  # of the lines; it changes when a field changes its meaning

_VERDICT = "verdicts[]."
# The types whose values are declared in the code.
_DECLARED: Mapping[str, JsonSchema] = {
    "schema": {"const": SCHEMA},
    "version": {"const": VERSION},
    "kind": {"enum": [*get_args(Kind.__value__), None]},
    "status": {"enum": list(get_args(Status))},
    "outcome": {"enum": list(OUTCOMES)},
    "worst": {"enum": [*SEVERITY, None]},
}


def fields_of(text: str) -> tuple[Field, ...]:
    """The fields of a TOML document. Raises TOMLDecodeError, KeyError for an unknown type, and ValidationError."""
    data = tomllib.loads(text)
    types = {**data["type"], **_DECLARED}
    return tuple(convert(_entry(path, entry, types), Field) for path, entry in data["field"].items())


def _entry(path: str, entry: dict[str, Any], types: Mapping[str, JsonSchema]) -> dict[str, Any]:
    """An entry with its path, and with what it leaves out."""
    made = {"path": path, "har": f"_toolcalls.{path}", "otel": "", **entry}
    made["in_docs"], made["schema"] = made.pop("docs"), types[made.pop("type")]
    return made


FIELDS: tuple[Field, ...] = fields_of(FILE.read_text(encoding="utf-8"))

# The fields of a verdict, by their names in it.
VERDICT_FIELDS: Mapping[str, Field] = {
    field.path.removeprefix(_VERDICT): field for field in FIELDS if field.path.startswith(_VERDICT)
}
# Those of an exchange, by their names at the top of a line.
EXCHANGE_FIELDS: Mapping[str, Field] = {field.path: field for field in FIELDS if "." not in field.path}
# The kinds of damage of an exchange.
DAMAGE: Field = next(field for field in FIELDS if field.path == "damage[].code")

LOG_FIELDS: list[str] = [name for name, field in EXCHANGE_FIELDS.items() if field.in_log and field.in_report]
LOG_VERDICT_FIELDS: list[str] = [name for name, field in VERDICT_FIELDS.items() if field.in_log]
