"""What is said of a reason: with its sentence, with what would help, and which reasons a condition gives."""

from typing import get_args

from toolcalls.events import Quotation, Reason
from toolcalls.insight.vocabulary.entries import ConditionNumber, Deed
from toolcalls.insight.vocabulary.words import REASONS

# The reasons of text that is quoted.
QUOTATIONS: frozenset[Reason] = frozenset(get_args(Quotation))


def with_sentence(code: str, unknown: str = "") -> str:
    """A reason with its sentence: `fenced: it is in a fenced code block`. `unknown` is said of no code of ours."""
    entry = REASONS.get(code)
    return f"{code}: {entry.sentence if entry else unknown}"


def remedy_of(code: str) -> str:
    """What would accept such a call anyway, as a sentence goes on after "unless"; "" for nothing."""
    entry = REASONS.get(code)
    return entry.remedy.words if entry else ""


def help_for(code: str, condition: str = "if", does: Deed | None = None) -> str:
    """The setting that would accept such a call or mend it: `it is accepted if the route has …`; "" for none.

    does   only what a setting does is of interest; None: all of them
    """
    remedy = remedy_of(code)
    if not remedy or does not in {None, REASONS[code].remedy.does}:
        return ""
    return f"it is {REASONS[code].remedy.does} {condition} {remedy}"


def with_remedy(code: str) -> str:
    """A reason with its sentence, and with what would help where there is something."""
    remedy = help_for(code)
    return with_sentence(code) + (f"; {remedy}" if remedy else "")


def failing(condition: ConditionNumber) -> frozenset[Reason]:
    """The reasons that a condition gives."""
    return frozenset(entry.code for entry in REASONS.values() if entry.condition == condition)
