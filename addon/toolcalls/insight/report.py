"""Verdicts as plain data: what the flow view, the log, the exports and the command line show of one exchange.

Everything here is None, bool, int, str, list or dict, so it survives JSON and mitmproxy's flow files. Text from a model
or a server is kept as it is; whoever shows it escapes it (`visible`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from toolcalls.events import Break, Defect, Note, Verdict
from toolcalls.insight.damage import damage_of
from toolcalls.insight.redaction import redacted_text
from toolcalls.insight.vocabulary.fields import DAMAGE, EXCHANGE_FIELDS, VERDICT_FIELDS
from toolcalls.insight.vocabulary.statuses import DAMAGED, FAILED_STATUS, IN_SUMMARY, MENDED, POSSIBLY_LOST, SEVERITY
from toolcalls.insight.vocabulary.words import NOTES, REASONS
from toolcalls.replies.calls import ClientCall
from toolcalls.replies.exchange import Exchange

VERSION = 1

_AFTER = 32  # characters of a call that are said to come before the place where it breaks
_PART_OF_WORD = re.compile(r"\A[\w+/=.~-]+")
_NAME = 40  # characters of a tool's name in a summary; an undeclared one may be as long as the model likes

# What a failure of our own does to a reply, and where a rule was written to block.
NO_CALLS = "no tool calls"  # instead of a summary, where there is nothing to sum up
FAILED = "the upstream's bytes were forwarded unchanged"
GUARDED = "nothing was forwarded after that, because the route blocks calls"

# Control, surrogate, bidi, zero-width and filler characters, and those in which text can be smuggled past a reader
# (variation selectors and tags). Wide spaces stay: East Asian text is full of them, and they are seen.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


_HIDDEN_IN_LINES = re.compile(HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def visible(text: str) -> str:
    """`text` on one line, with characters that show nothing or rearrange what is shown as escapes."""
    return HIDDEN.sub(lambda found: _escape(ord(found.group())), text)


def visible_lines(text: str) -> str:
    """The same of a text of several lines; tabs and line ends stay."""
    return _HIDDEN_IN_LINES.sub(lambda found: _escape(ord(found.group())), text)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def make_report(exchange: Exchange, *, model: str = "") -> dict[str, Any]:
    """The report of one exchange."""
    calls: dict[tuple[int, int | None], ClientCall] = {(lane, call.index): call for lane, call in exchange.client_calls}
    verdicts = [verdict_data(verdict, lane, calls.get((lane, verdict.index))) for lane, verdict in exchange.verdicts]
    failure = None if exchange.failure is None else describe_fault(exchange.failure)
    decision = exchange.decision
    data = {
        "version": VERSION,
        "wire": exchange.wire.name,
        "route": exchange.call_policy.route.name,
        "kind": decision.kind,
        "client": decision.client,
        "upstream": decision.upstream,
        "dialect": decision.dialect and str(decision.dialect),
        "evidence": list(decision.evidence),
        "policy": exchange.call_policy.route.policy,
        "model": model,
        "verdicts": verdicts,
        "notes": [note_data(note, lane) for lane, note in exchange.notes],
        "failure": failure,
        "guarded": exchange.guarded,
    }
    return {**data, "worst": worst(data), "summary": summarize(data)}


def describe_fault(error: BaseException) -> str:
    """What failed, and where: `KeyError in ledger.py, line 120`.

    Not in the exception's own words, which may hold what a client or a model said; those of a limit hold none.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    said = f": {error}" if isinstance(error, OverflowError) else ""
    return f"{type(error).__name__}{where}{said}"


def verdict_data(verdict: Verdict, lane: int = 0, call: ClientCall | None = None) -> dict[str, Any]:
    """One verdict. `arguments` is the call's JSON text as far as it came, None when nothing became a call."""
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "dialect": verdict.dialect,
        "name": verdict.name,
        "start": verdict.start,
        "end": verdict.end,
        "repairs": list(verdict.repairs),
        "lane": lane,
        "index": verdict.index,
        "id": call.id if call else None,
        "arguments": call.arguments if call else None,
        **_processed(verdict),
        **({"likely_meant": True} if verdict.likely_meant else {}),
        **({"nearest": list(verdict.nearest)} if verdict.nearest else {}),
        **({"defects": [defect_data(defect) for defect in verdict.defects]} if verdict.defects else {}),
        **({"broke": break_data(verdict.broke)} if verdict.broke is not None else {}),
    }


def note_data(note: Note, lane: int) -> dict[str, Any]:
    """One note on the reply; `mended` is a member only where it is true."""
    data = {"rule": note.rule, "text": note.text, "warns": note.warns, "lane": lane}
    return {**data, "mended": True} if note.mended else data


def break_data(place: Break) -> dict[str, Any]:
    """Where a call can be read no further. Of what was understood, the last whole words, without secrets."""
    said = redacted_text(place.after)
    after = said if len(said) <= _AFTER else _PART_OF_WORD.sub("", said[-_AFTER:])
    return {"line": place.line, "column": place.column, "after": after}


def defect_data(defect: Defect) -> dict[str, Any]:
    """One thing that is wrong with a native call; it holds no value of the call's."""
    return {
        "code": defect.code,
        "path": defect.path,
        "wanted": defect.wanted,
        "got": defect.got,
        "at": defect.at,
    }


def _processed(verdict: Verdict) -> dict[str, Any]:
    """What processors did to a call: `rule` and `changes`, each only where there is something to say."""
    data: dict[str, Any] = {} if verdict.rule is None else {"rule": verdict.rule}
    if verdict.changes:
        data["changes"] = [
            {"rule": change.rule, "before": list(change.before), "after": list(change.after) if change.after else None}
            for change in verdict.changes
        ]
    return data


def worst(data: Mapping[str, Any]) -> str | None:
    """The status that most needs a look, or what the reply is beside its verdicts (`REPLY_STATUSES`). A quotation that
    stays text counts only where there is nothing else.

    None when there was nothing to judge.
    """
    found = {verdict["status"] for verdict in data["verdicts"] if not _stays_rightly(verdict)}
    found = found or {verdict["status"] for verdict in data["verdicts"]}
    for one in damage_of(data, waits=False):  # of native calls, and of the reply as a whole
        found.add(POSSIBLY_LOST if one.possible else MENDED if one.mended == one.count else DAMAGED)
    if any(verdict.get("likely_meant") for verdict in data["verdicts"]):
        found.add(POSSIBLY_LOST)
    if data["failure"]:
        found.add(FAILED_STATUS)
    return max(found & set(SEVERITY), key=SEVERITY.index, default=None)  # a file of a newer version may hold others


def _stays_rightly(verdict: Mapping[str, Any]) -> bool:
    """Whether text was declined that was never meant as a call: beside a call, it needs no look."""
    reason = REASONS.get(verdict["reason"] or "")
    return verdict["status"] == "declined" and reason is not None and reason.outcomes.get("declined") == "decline"


def summarize(data: Mapping[str, Any]) -> str:
    """One line about a whole report: its verdicts, then what processors changed and what they warn of."""
    certain = [verdict for verdict in data["verdicts"] if not verdict.get("likely_meant")]
    line = summarize_verdicts(
        certain, data["failure"], passed=not data["guarded"], client_dialect=data["dialect"] or ""
    )
    changed = [
        str(change["rule"])
        for verdict in data["verdicts"]
        if verdict["status"] != "blocked" and not verdict.get("rule")
        for change in verdict.get("changes", ())
    ]
    warnings = [str(note["rule"]) for note in data["notes"] if note["warns"] and not is_possible(str(note["rule"]))]
    possible = list(possible_losses(data))
    parts = [line] if line else []
    if possible:
        parts.append(f"{len(possible)} {POSSIBLY_LOST}: {_counted([_short(visible(rule)) for rule in possible])}")
    if changed:
        parts.append(f"{len(changed)} changed: {_counted([_short(visible(rule)) for rule in changed])}")
    if warnings:
        parts.append(f"warning: {_counted([_short(visible(rule)) for rule in warnings])}")
    return " · ".join(parts)


def summarize_verdicts(
    verdicts: Sequence[Mapping[str, Any]],
    failure: str | None = None,
    *,
    passed: bool = True,
    client_dialect: str | None = None,
) -> str:
    """One line: `lifted write_file (invoke) · 1 declined: fenced`; "" when there was nothing to judge.

    What went well is named by tool, what did not by reason, or by the rule that blocked it: mitmweb's column for it has
    room for some twenty characters. `passed`: after a failure of ours the upstream's bytes passed. `client_dialect`:
    what calls are written in for a text client, "" where nothing is; None where that is not known.
    """
    parts = [f"failed: {FAILED if passed else GUARDED}"] if failure else []
    unchanged = [one for one in verdicts if client_dialect is not None and is_unchanged(one, client_dialect)]
    if unchanged:
        parts.append(f"unchanged {_counted([_called(verdict) for verdict in unchanged])}")
    for status in IN_SUMMARY:
        found = [verdict for verdict in verdicts if verdict["status"] == status and verdict not in unchanged]
        well = [_called(verdict) for verdict in found if verdict["reason"] is None]
        ill = [cause_of(verdict) for verdict in found if verdict["reason"] is not None]
        reasons = [_short(visible(word)) for word in ill]
        if well:
            parts.append(f"{status} {_counted(well)}")
        if reasons:
            parts.append(f"{len(reasons)} {status}: {_counted(reasons)}")
    return " · ".join(parts)


def is_possible(rule: str) -> bool:
    """Whether a note says that a call may have been lost."""
    return rule in NOTES and NOTES[rule].possible


def possible_losses(data: Mapping[str, Any]) -> Iterator[str]:
    """Why each call of a reply was possibly lost: the reason of a quoted one, the code of a note."""
    yield from (cause_of(verdict) for verdict in data["verdicts"] if verdict.get("likely_meant"))
    yield from (str(note["rule"]) for note in data["notes"] if is_possible(str(note["rule"])))


def is_unchanged(verdict: Mapping[str, Any], client_dialect: str) -> bool:
    """Whether a text client got a call as the model wrote it, in its own dialect."""
    stood = verdict["status"] == "lowered" and bool(verdict["end"]) and not verdict.get("changes")
    return stood and client_dialect in {"", verdict["dialect"]}


def cause_of(verdict: Mapping[str, Any]) -> str:
    """What kept a call from being delivered as one: the rule that blocked it, else the reason."""
    return str((verdict["status"] == "blocked" and verdict.get("rule")) or verdict["reason"])


def filter_words(report: Mapping[str, Any]) -> str:
    """What mitmproxy's `~meta` finds a reply by: `reason:fenced`, `damage:empty`, each once, a blank between two."""
    found = [(field.filter_word, report.get(name)) for name, field in EXCHANGE_FIELDS.items() if field.filter_word]
    for verdict in report.get("verdicts", ()):
        for name, field in VERDICT_FIELDS.items():
            value = verdict.get(name)
            if field.filter_word:
                found += [(field.filter_word, one) for one in (value if isinstance(value, list) else [value])]
    kinds = damage_of(report, waits=report.get("client") != "text")
    found += [(DAMAGE.filter_word, one.code) for one in kinds]
    words = [f"{word}:{'_'.join(_short(visible(str(value))).split())}" for word, value in found if value]
    return " ".join(dict.fromkeys(words))


def _called(verdict: Mapping[str, Any]) -> str:
    """A call as `Bash (invoke)`: its name if it is known, its dialect if it was text."""
    name = "a call" if verdict["name"] is None else _short(visible(verdict["name"]))
    return f"{name} ({verdict['dialect']})" if verdict["dialect"] else name


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[:_NAME]}…"


def _counted(words: Sequence[str]) -> str:
    counts = dict.fromkeys(words, 0)
    for word in words:
        counts[word] += 1
    shown = [word if count == 1 else f"{word} ×{count}" for word, count in counts.items()]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
