"""What the model did and what the client got, in a few words for each verdict: the same in the view and on the page."""

from collections.abc import Mapping
from typing import Any

_AS_WRITTEN = "got the text as the model wrote it"
_RESULTS = {"invented_result": _AS_WRITTEN, "dropped_result": "did not get it"}

_LARGER = "the route's {} is larger"
_TAKES = "the route has take: [{}]"

# What would take a call all the same: how a sentence goes on that begins with its reason and "unless".
UNLESS: dict[str, str] = {
    "observed": "the route has client: native and upstream: text",
    "no_tools": "the route has tools, or take: [undeclared]",
    "undeclared": "the route has tools of this name, or take: [undeclared]",
    "not_allowed": "the route's allowed_tools names it",
    "inline": _TAKES.format("inline"),
    "fenced": _TAKES.format("fenced"),
    "indented_code": _TAKES.format("indented_code"),
    "inline_code": _TAKES.format("inline_code"),
    "escaped": "the route has take: [escaped], or names the dialect",
    "block_quote": _TAKES.format("block_quote"),
    "html_comment": _TAKES.format("html_comment"),
    "reasoning": _TAKES.format("reasoning"),
    "echo": _TAKES.format("echo"),
    "duplicate": _TAKES.format("duplicate"),
    "repeated": _TAKES.format("duplicate"),
    "multiple_calls": "the route has multiple_calls: true",
    "missing_argument": "the route has require without arguments",
    "not_terminal": "the route has require without terminal",
    "overflow": "the route's max_buffer_bytes or max_frame_bytes is larger",
    "max_call_chars": _LARGER.format("max_call_chars"),
    "max_depth": _LARGER.format("max_depth"),
    "max_calls": _LARGER.format("max_calls"),
    "max_candidates": _LARGER.format("max_candidates"),
    "max_payload_chars": _LARGER.format("max_payload_chars"),
}


# What the client got of a call that processors changed.
_CHANGED = {"native": "got it, changed", "lifted": "got a native call, changed", "lowered": "got it as text, changed"}


def story(verdict: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[str, str]:
    """What the model did, and what the client got. Both arguments are plain data, as `report.of` makes them."""
    dialect, status = verdict["dialect"], verdict["status"]
    if verdict["reason"] in _RESULTS:
        return "wrote a tool result itself", _RESULTS[verdict["reason"]]
    if verdict["reason"] == "max_candidates":  # no candidate, so it has no dialect
        return "wrote more that begins like a call", _AS_WRITTEN
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
    if verdict.get("changes") and status in _CHANGED:
        got = _CHANGED[status]
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
    if verdict["reason"] in _RESULTS:
        return f"text → {'not delivered' if verdict['reason'] == 'dropped_result' else 'stays as it is'}"
    if verdict["reason"] == "max_candidates":
        return "text → stays as it is"
    native = dialect is None or (status == "lowered" and not verdict["end"])
    became = _BECAME.get(status, status) + (f" ({dialect})" if native and dialect else "")
    return f"{'native' if native else f'text ({dialect})'} → {became}"


def medium(verdict: Mapping[str, Any]) -> str:
    """In what a call came, where no dialect says it: `native`; `no call` for what is told as a verdict and was none."""
    return "no call" if verdict["reason"] in {*_RESULTS, "max_candidates"} else "native"


def about(verdict: Mapping[str, Any]) -> str:
    """What a verdict is about: the tool's name as the model wrote it, or what stands there instead of a call."""
    if verdict["name"] is not None:
        return str(verdict["name"])
    if verdict["reason"] in _RESULTS:
        return "a tool result"
    return "the rest" if verdict["reason"] == "max_candidates" else "a call"
