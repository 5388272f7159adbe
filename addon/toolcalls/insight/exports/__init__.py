"""Exchanges for other programs: JSON lines, HAR, OpenTelemetry spans. `docs/exports.md` describes each.

All of them leave secrets out by `redaction`. JSON lines and spans hold what people and models said only when that is
asked for (`content`); HAR is made of bodies, so it always does.
"""

from typing import Literal

type Format = Literal["jsonl", "har", "otel"]
FORMATS: tuple[Format, ...] = ("jsonl", "har", "otel")
