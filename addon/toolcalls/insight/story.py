"""What the model did and what the client got, in a few words for each verdict: the same in the view and on the page."""

from collections.abc import Mapping
from typing import Any

_AS_WRITTEN = "got the text as the model wrote it"


def story(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[str, str]:
    """What the model did, and what the client got. Both arguments are plain data, as `report.of` makes them."""
    dialect, status = verdict["dialect"], verdict["status"]
    if verdict["reason"] in {"invented_result", "dropped_result"}:
        dropped = verdict["reason"] == "dropped_result"
        return "wrote a tool result itself", "did not get it" if dropped else _AS_WRITTEN
    if dialect is None or (status == "lowered" and not verdict["end"]):
        made = {"truncated": "began a native call and did not end it", "malformed": "made a native call with a fault"}
        got = f"got it as text ({dialect})" if status == "lowered" else "got it as the model made it"
        model = made.get(status, "made a native call")
    else:
        wrote = {
            "truncated": f"began a call as text ({dialect}) and did not end it",
            "malformed": f"wrote what begins like a call ({dialect}) and is none",
        }
        model = wrote.get(status, f"wrote this call as text ({dialect})")
        got = _AS_WRITTEN
        if status == "lifted":
            got = "got a native call"
        elif status == "lowered" and dialect != report.get("dialect"):
            got = f"got it as text in another dialect ({report.get('dialect')})"
        elif verdict.get("index") is not None and report.get("kind") == "lift":
            got = "got the beginning of a native call, which is never completed"
        elif status == "truncated":
            got = "got no call"
    return model, "did not get it" if status == "blocked" else got


_BECAME = {
    "lifted": "native call",
    "lowered": "text",
    "native": "native call",
    "declined": "stays as it is",
    "truncated": "never completed",
    "malformed": "stays as it is",
    "blocked": "not delivered",
}


def shortly(verdict: Mapping[str, Any]) -> str:
    """The same in a few words: `text (invoke) → native call`."""
    dialect, status = verdict["dialect"], verdict["status"]
    native = dialect is None or (status == "lowered" and not verdict["end"])
    became = _BECAME.get(status, status) + (f" ({dialect})" if native and dialect else "")
    return f"{'native' if native else f'text ({dialect})'} → {became}"
