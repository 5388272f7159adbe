"""The log's line about a reply: when there is one, and what it says."""

from typing import Any

import pytest

from toolcalls.mitm.log_line import log_line


def _verdict(status: str, reason: str | None = None, dialect: str | None = None, **more: Any) -> dict[str, Any]:
    made = {"status": status, "reason": reason, "dialect": dialect, "name": "Bash", "start": 0, "end": 0, "repairs": []}
    return made | more


def _report(*verdicts: dict[str, Any], notes: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    made = {"verdicts": list(verdicts), "notes": list(notes), "failure": None, "summary": "said", "kind": "lift"}
    return made | more


NOTED = {"rule": "empty", "text": "no text", "warns": True}
NATIVE = _verdict("native")
FENCED = _verdict("declined", "fenced", "invoke", end=9)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (_report(), ""),
        (_report(NATIVE, NATIVE), ""),
        (_report(NATIVE, notes=({**NOTED, "warns": False},)), ""),
        (_report(_verdict("lifted", None, "invoke")), "said"),
        (_report(_verdict("native", repairs=["no_id"])), "said | Bash, native → native call, mended. put right: no_id"),
        (_report(NATIVE, notes=(NOTED,)), "said | empty: no text"),
        (_report(failure="KeyError"), "said"),
        (
            _report(NATIVE, summary="", current={"summary": "lifted"}),
            "no tool calls | by the current configuration: lifted",
        ),
        (
            _report(FENCED),
            "said | Bash, text (invoke) → stays as it is. fenced: it is in a fenced code block; it is accepted if the "
            "route has take: [fenced]",
        ),
        (
            _report(_verdict("malformed", "bad_arguments")),
            "said | Bash, native → stays as it is. bad_arguments: the call's arguments are not a JSON object",
        ),
    ],
)
def test_a_reply_has_one_line_where_there_is_something_to_say(report: dict[str, Any], line: str) -> None:
    assert log_line(report) == line or (line and log_line(report).startswith(line))


def test_of_many_causes_the_first_are_said_and_the_others_counted() -> None:
    line = log_line(_report(*[FENCED] * 7))
    assert line.count("→ stays as it is") == 3
    assert line.endswith(" | and 4 more")
    assert "\n" not in line
