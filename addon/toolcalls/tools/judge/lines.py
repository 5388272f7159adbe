"""What `toolcalls judge` prints of a flow: for people, and as annotations of GitHub."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolcalls.flows.recorded_verdicts import COMPARED
from toolcalls.insight.report import visible


def lines_of(result: Mapping[str, Any]) -> Iterator[str]:
    """The lines about a flow, none for one whose verdicts are the same."""
    change = result["change"]
    if change == "same":
        return
    about = f"{change:8} {result['file']} {result['flow']}: "
    if change == "changed":
        yield visible(about + sentence_of(result))
        yield from (f"           {line}" for line in differences(result))
    else:
        yield visible(about + sentence_of(result))


def sentence_of(result: Mapping[str, Any]) -> str:
    """What became of a flow, in one sentence."""
    now = f"not read: {result['why']}" if "why" in result else result["summary"] or "no calls"
    if result["change"] == "changed":
        return f"{result['was']['summary'] or 'no calls'} → {now}"
    return str(result.get("why", now))


def differences(result: Mapping[str, Any]) -> Iterator[str]:
    """What differs, a line for each verdict."""
    was: Sequence[Mapping[str, Any]] = result["was"]["verdicts"]
    now: Sequence[Mapping[str, Any]] = result["verdicts"]
    for place in range(max(len(was), len(now))):
        old = was[place] if place < len(was) else None
        new = now[place] if place < len(now) else None
        if old is None or new is None:
            one, sign = (new, "+") if old is None else (old, "-")
            yield visible(f"{sign} {_short(one or {})}")
            continue
        fields = [key for key in COMPARED if old.get(key) != new.get(key)]
        if fields:
            changes = "; ".join(f"{key} {_value(old.get(key))} → {_value(new.get(key))}" for key in fields)
            yield visible(f"± {_short(new)}: {changes}")


def annotation_of(result: Mapping[str, Any]) -> str | None:
    """A workflow command of GitHub Actions, which shows beside the run: an error for a change, a warning for a reply
    that cannot be read. None for the others.

    https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
    """
    level = {"changed": "error", "unread": "warning"}.get(result["change"])
    if level is None:
        return None
    details = differences(result) if result["change"] == "changed" else ()
    message = "\n".join([visible(sentence_of(result)), *details])
    title = f"toolcalls: {result['change']} verdicts of {result['flow']}"
    if level == "warning":
        title = f"toolcalls: {result['flow']} cannot be read"
    return f"::{level} file={_property(result['file'])},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """A message, escaped as the runner's own toolkit does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")


def _short(verdict: Mapping[str, Any]) -> str:
    reason = f": {verdict['reason']}" if verdict.get("reason") else ""
    return f"{verdict.get('status')} {verdict.get('name') or 'a call'} ({verdict.get('dialect') or 'native'}){reason}"


def _value(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
