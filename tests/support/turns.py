"""Turns and verdicts as the page has them, made by hand."""

from typing import Any

from toolcalls.insight.conversation import RequestSummary
from toolcalls.insight.replies import Moments
from toolcalls.insight.turn import Turn, Verdict
from toolcalls.values.usage import Tokens


def verdict(status: str, outcome: Any, **fields: Any) -> Verdict:
    """A verdict on a call of `read_file`, written as text unless `dialect` is None."""
    made: dict[str, Any] = {
        "status": status, "outcome": outcome, "reason": None, "dialect": "invoke", "name": "read_file", "repairs": (),
        "id": None, "arguments": None, "size": 0,
    }  # fmt: skip
    return Verdict(**(made | fields))


def turn(id_: str = "a", **fields: Any) -> Turn:
    """A turn whose reply has ended well."""
    made: dict[str, Any] = {
        "id": id_, "session": "s", "started": 1.0, "started_at": "", "agent": "", "model": "m", "host": "", "path": "",
        "wire": "openai_chat", "kind": "lift", "route": "default", "policy": "standard", "status": 200, "verdicts": (),
        "summary": "", "worst": None, "failure": None, "notes": (), "error": "", "finish": "stop", "text": "",
        "tokens": Tokens(), "moments": Moments(), "replied": None, "ended": None, "request": RequestSummary(),
    }  # fmt: skip
    return Turn(**(made | fields))
