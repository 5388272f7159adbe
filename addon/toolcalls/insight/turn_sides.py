"""One reply as HTML: what the model wrote, with each call marked in its place, beside what the agent got.

Arguments are shown as people read them: each by its name, text as text, lines as lines. What is copied is the JSON.
"""

from collections.abc import Sequence
from urllib.parse import quote

from toolcalls.insight.descriptions import subject_of
from toolcalls.insight.formatting import counted, escaped, escaped_lines, preformatted
from toolcalls.insight.turn import Turn, Verdict
from toolcalls.insight.vocabulary.reasons import with_sentence
from toolcalls.values.conversion import members, to_text

_OPEN_LINES, _OPEN = 14, 700  # lines and characters of arguments that are shown without being asked for
_DELIVERED = frozenset({"lifted", "native"})
_AS_WRITTEN = frozenset({"native", "declined", "malformed"})


def sides(turn: Turn) -> str:
    """Both sides; one where the agent got what the model wrote. "" where there is nothing of either."""
    calls = [one for one in turn.verdicts if is_delivered(one)]
    got = f"{_text(turn.text)}{''.join(map(_call, calls))}"
    natives = [one for one in turn.verdicts if one.dialect is None and one.name is not None]
    if not (turn.written or got or natives):
        return ""
    if turn.written and any(one.verdict is not None for one in turn.written):
        wrote = preformatted(_written(turn), "".join(one.text for one in turn.written), "written")
    else:
        wrote = "".join(
            preformatted(_cut(escaped_lines(one.text), one.size, one.text), one.text) for one in turn.written
        )
    copy = copied("text", "".join(one.text for one in turn.written)) if turn.written else ""
    if all(_passed(one) for one in turn.verdicts):
        head = f"<h4>The model wrote, and the agent got {copy}</h4>"
        return f'<div class="sides one"><div class="side">{head}{wrote}{"".join(map(_call, calls))}</div></div>'
    named = "".join(f'<p class="native">native call <b>{escaped(one.name)}</b></p>' for one in natives)
    got += "".join(
        f"<p>{escaped(subject_of(one.name, one.reason))}: the agent {escaped(one.client)}</p>"
        for one in turn.verdicts
        if _is_withheld(one)
    )
    nothing = '<p class="hint">nothing</p>'
    return (
        f'<div class="sides"><div class="side"><h4>The model wrote {copy}</h4>{wrote}{named or (nothing * (not wrote))}'
        f'</div><div class="side"><h4>The agent got</h4>{got or nothing}</div></div>'
    )


def is_delivered(verdict: Verdict) -> bool:
    """Whether the agent got it as a native call, whose arguments are on its side."""
    return verdict.status in _DELIVERED and verdict.arguments is not None and not verdict.rule


def _is_withheld(one: Verdict) -> bool:
    return one.status in {"blocked", "truncated"} or bool(one.rule)


def _passed(one: Verdict) -> bool:
    return one.status in _AS_WRITTEN and not (one.repairs or one.changed or one.rule)


def _written(turn: Turn) -> str:
    made = []
    for passage in turn.written:
        text = _cut(escaped_lines(passage.text), passage.size, passage.text)
        if passage.verdict is None or passage.verdict >= len(turn.verdicts):
            made.append(text)
            continue
        one = turn.verdicts[passage.verdict]
        why = f": {with_sentence(one.reason)}" if one.reason else ""
        kind = "leak" if one.outcome == "leak" else one.status
        made.append(f'<mark class="{escaped(kind)}" title="{escaped(one.status + why)}">{text}</mark>')
    return "".join(made)


def _cut(shown: str, size: int, text: str) -> str:
    """The text as far as it is shown, and how much more there is."""
    left = size - len(text.removesuffix("…"))
    return f"{shown}<small> {counted(left, 'character')} more</small>" if text.endswith("…") and left > 0 else shown


def _text(text: str) -> str:
    return preformatted(escaped_lines(text), text) if text.strip() else ""


def _call(verdict: Verdict) -> str:
    name = escaped(subject_of(verdict.name, verdict.reason))
    copy = copied("arguments", verdict.arguments or "")
    return f'<div class="call"><p>→ <b>{name}</b> {copy}</p>{arguments(verdict)}</div>'


def copied(what: str, text: str) -> str:
    """A button that copies a text, which it holds. The page's script shows it."""
    return f'<button type="button" class="copy" data-copy="{escaped_lines(text)}">copy {what}</button>' if text else ""


def fetched(words: str, id_: str, what: str) -> str:
    """A button that copies the answer of mitmweb's page about an exchange."""
    address = f"/toolcalls/copy?what={what}&id={quote(id_, safe='', errors='backslashreplace')}"
    return f'<button type="button" class="copy" data-from="{escaped(address)}">copy {words}</button>'


def arguments(verdict: Verdict) -> str:
    """A call's arguments, folded with their length where they are long; "" for none."""
    if not verdict.arguments:
        return ""
    shown = _members(verdict.arguments) if verdict.size == len(verdict.arguments) else ""
    shown = shown or preformatted(escaped_lines(_unescaped(verdict.arguments)), verdict.arguments)
    if verdict.size <= _OPEN and verdict.arguments.count("\\n") <= _OPEN_LINES:
        return shown
    return f"<details><summary>Arguments, {verdict.size:,} characters</summary>{shown}</details>"


def _members(text: str) -> str:
    """A JSON object as names and values; "" for anything else."""
    try:
        found: Sequence[tuple[str, str]] = members(text)
    except (ValueError, RecursionError):
        return ""
    rows = []
    for name, raw in found:
        value, is_text = to_text(raw)
        lines = "\n" in value.rstrip("\n") or len(value) > 160
        kind = "text" if is_text else "json"
        tag = (
            preformatted(escaped_lines(value), value, kind)
            if lines
            else f'<code class="{kind}">{escaped(value)}</code>'
        )
        rows.append(f"<dt>{escaped(name)}</dt><dd>{tag or '(empty)'}</dd>")
    return f'<dl class="arguments">{"".join(rows)}</dl>' if rows else "<p><small>no arguments</small></p>"


def _unescaped(text: str) -> str:
    """JSON that was cut off, with its line ends as lines."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
