"""One session as HTML: its turns one below the other, each with its times, its calls and what its request changed."""

from html import escape
from urllib.parse import quote

from toolcalls.insight.differences import Change, Difference
from toolcalls.insight.sessions import Session
from toolcalls.insight.turn import Turn, Verdict
from toolcalls.policy import REASONS, REPAIRS
from toolcalls.report import visible

_PARTS = {"waiting": "waiting", "streaming": "reply streams", "calling": "call streams", "closing": "after the call"}
_KEY = "".join(f'<span><i class="{name}"></i>{words}</span>' for name, words in _PARTS.items())
_CHANGES = 40  # of one request that are listed


def duration(seconds: float | None) -> str:
    """A time that people can read: 0.42 s, 12 s, 3 min 4 s."""
    if seconds is None:
        return "not known"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def quoted(id_: str) -> str:
    """An id in an address."""
    return quote(id_, safe="", errors="backslashreplace")


def session_body(session: Session, anchor: str, flow_link: str = "") -> str:
    """A session's turns.

    anchor      what the ids of their places begin with
    flow_link   the address of a flow, with `{id}` for its id; "" for none
    """
    tokens_in, tokens_out = session.tokens()
    guessed = "" if session.named else " · the agent sent no session id; grouped by how the conversation begins"
    counted = f" · {tokens_in:,} tokens in, {tokens_out:,} out" if tokens_in or tokens_out else ""
    longest = max((turn.seconds or 0.0 for turn in session.turns), default=0.0)
    turns = "".join(_turn(session, place, longest, anchor, flow_link) for place in range(len(session.turns)))
    return (
        f"<h2>Session <code>{_text(session.id)}</code></h2>"
        f'<p class="told">{_text(", ".join(session.agents) or "agent not named")} · '
        f"{_text(', '.join(session.models) or 'model not named')} · {len(session.turns)} "
        f"{'turn' if len(session.turns) == 1 else 'turns'} in {duration(session.seconds)}{counted}{guessed}</p>"
        f'<p class="key">{_KEY}</p>'
        f'<ol class="turns">{turns}</ol>'
    )


def _turn(session: Session, place: int, longest: float, anchor: str, flow_link: str) -> str:
    turn = session.turns[place]
    worst = turn.worst or ("no call" if turn.wire else "not read")
    leaks = any(verdict.outcome == "leak" for verdict in turn.verdicts)
    leak = ' <span class="badge leak">leak</span>' if leaks else ""
    offset = duration(turn.started - session.started)
    status = "" if 200 <= turn.status < 300 else f' · <b class="bad">HTTP {turn.status or "no reply"}</b>'
    error = f'<p class="bad">{_text(turn.error)}</p>' if turn.error else ""
    failure = f'<p class="bad">A fault of the addon: {_text(turn.failure)}</p>' if turn.failure else ""
    calls = "".join(map(_call, turn.verdicts)) + "".join(f"<li>{_text(note)}</li>" for note in turn.notes)
    listed = f'<ul class="calls">{calls}</ul>' if calls else ""
    said = f"<details><summary>Text that the client got</summary><pre>{_lines(turn.text)}</pre></details>"
    return (
        f'<li id="{anchor}-t{place + 1}"><article><h3>Turn {place + 1} <small>at {offset} · {_text(turn.model)}'
        f"{status}</small></h3>"
        f'<p class="what"><span class="badge {worst.replace(" ", "-")}">{_text(worst)}</span>{leak} '
        f"{_text(turn.summary)}</p>{error}{failure}{_times(turn, longest)}{listed}"
        f"{_request(session, place, anchor)}{said if turn.text else ''}"
        f'<p class="facts">{_facts(turn, flow_link)}</p></article></li>'
    )


def _facts(turn: Turn, flow_link: str) -> str:
    """What else is known of a turn, in one line."""
    tokens = turn.tokens
    parts = [f"{turn.wire} {turn.path}" if turn.wire else turn.path]
    if turn.finish is not None:
        parts.append(f"finish: {turn.finish or 'none, it broke off'}")
    if tokens.input is not None or tokens.output is not None:
        cached = f" ({tokens.cached:,} cached)" if tokens.cached else ""
        reasoning = f" ({tokens.reasoning:,} reasoning)" if tokens.reasoning else ""
        parts.append(f"tokens: {_number(tokens.input)} in{cached}, {_number(tokens.output)} out{reasoning}")
    flow = _text(turn.id)
    if flow_link:
        flow = f'<a href="{_text(flow_link.format(id=quoted(turn.id)))}">{flow}</a>'
    return f"{_text(' · '.join(parts))} · flow {flow}"


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _times(turn: Turn, longest: float) -> str:
    """The reply's moments as a bar, on the scale of the session's longest turn, and in words."""
    moments = turn.moments
    marks = {
        "first byte": turn.after(moments.first_byte),
        "first argument byte": turn.after(moments.first_argument),
        "call complete": turn.after(moments.call_complete),
        "end": turn.seconds,
    }
    known = {name: moment for name, moment in marks.items() if moment is not None}
    if not known:
        return '<p class="times">No times were recorded.</p>'
    words = " · ".join(f"{name} {duration(moment)}" for name, moment in known.items())
    end = max(known.values())
    first = known.get("first byte", end)
    argument = known.get("first argument byte", end)
    complete = known.get("call complete", end)
    edges = [("waiting", 0.0, first), ("streaming", first, argument)]
    edges += [("calling", argument, complete), ("closing", complete, end)]
    scale = 1000 / longest if longest else 0.0
    drawn = "".join(
        f'<rect class="{name}" x="{start * scale:.1f}" y="0" width="{max(3.0, (stop - start) * scale):.1f}" '
        f'height="10"/>'
        for name, start, stop in edges
        if stop > start
    )
    return (
        f'<svg class="times" viewBox="0 0 1003 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
        f'<p class="times">{words}</p>'
    )


def _call(verdict: Verdict) -> str:
    name = verdict.name or "a call"
    form = f" written as text ({verdict.dialect})" if verdict.dialect else " native"
    reason = f"{verdict.reason}: {REASONS.get(verdict.reason, '')}" if verdict.reason else ""
    repairs = f"repaired: {', '.join(f'{one} ({REPAIRS.get(one, one)})' for one in verdict.repairs)}"
    leak = ' <span class="badge leak">leak</span>' if verdict.outcome == "leak" else ""
    rule = f"blocked by the rule {verdict.rule}" if verdict.rule else ""
    lines = [line for line in (reason, rule, repairs if verdict.repairs else "") if line]
    lines += [f"changed by {name}: {after or 'taken away'}" for name, after in verdict.changed]
    arguments = ""
    if verdict.arguments is not None:
        arguments = (
            f"<details><summary>Arguments, {verdict.size:,} characters</summary>"
            f"<pre>{_lines(verdict.arguments)}</pre></details>"
        )
    return (
        f'<li><span class="badge {_text(verdict.status)}">{_text(verdict.status)}</span>{leak} <b>{_text(name)}</b>'
        f"<small>{_text(form)}</small>{''.join(f'<p>{_text(line)}</p>' for line in lines)}{arguments}</li>"
    )


# --- the request ------------------------------------------------------------------------------------------------------


def _request(session: Session, place: int, anchor: str) -> str:
    """What a request says that the one before did not."""
    asked = session.turns[place].asked
    if asked.unread:
        return f'<p class="request">Request: {_text(asked.unread)}.</p>'
    found = session.difference(place)
    if found is None:
        tools = ", ".join(name for name, _ in asked.tools[:30]) or "none"
        first = "".join(
            _message("said", message.role, message.excerpt, message.size) for message in asked.messages[:20]
        )
        return (
            f"<details><summary>Request: {len(asked.messages)} messages, {len(asked.tools)} tools, "
            f"{asked.size:,} bytes</summary><p>Tools: {_text(tools)}</p>"
            f'<ul class="changes">{first}</ul></details>'
        )
    before, difference = found
    changes = "".join(map(_change, difference.changes[:_CHANGES]))
    more = len(difference.changes) - _CHANGES
    rest = f"<p>{more} more changes</p>" if more > 0 else ""
    link = f'<a href="#{anchor}-t{before + 1}">turn {before + 1}</a>'
    return (
        f"<details><summary>Request: {_text(_summed(difference))}</summary>"
        f"<p>Compared with {link}; {difference.same} messages are the same.</p>{_tools(difference)}"
        f'<ul class="changes">{changes}</ul>{rest}</details>'
    )


def _summed(difference: Difference) -> str:
    counts = {
        kind: sum(change.kind == kind for change in difference.changes) for kind in ("added", "changed", "removed")
    }
    parts = [f"{count} {kind}" for kind, count in counts.items() if count] or ["the same messages"]
    tools = [*difference.tools_added, *difference.tools_removed, *difference.tools_changed]
    if difference.system:
        parts.append("system prompt changed")
    if tools:
        parts.append(f"{len(tools)} {'tool differs' if len(tools) == 1 else 'tools differ'}")
    parts.append(f"{difference.same} as before")
    return ", ".join(parts) + (" · not only the end changed" if difference.rewrites else "")


def _tools(difference: Difference) -> str:
    named = {
        "Tools added": difference.tools_added,
        "Tools removed": difference.tools_removed,
        "Tools declared otherwise": difference.tools_changed,
    }
    return "".join(f"<p>{words}: {_text(', '.join(names))}</p>" for words, names in named.items() if names)


def _change(change: Change) -> str:
    message = change.message
    was = ""
    if change.kind == "changed" and change.was is not None:
        was = f'<pre class="was">{_lines(change.was.excerpt)}</pre>'
    return _message(change.kind, message.role, message.excerpt, message.size, was)


def _message(kind: str, role: str, excerpt: str, size: int, was: str = "") -> str:
    sign = {"added": "+ added", "changed": "± changed", "removed": "− removed"}.get(kind, "")
    return (
        f'<li class="{kind}"><b>{sign} {_text(role)}</b> <small>{size:,} characters</small>{was}'
        f"<pre>{_lines(excerpt)}</pre></li>"
    )


def _text(value: object) -> str:
    """Text from anywhere, safe between tags and in quoted attributes."""
    return escape(visible(str(value)))


def _lines(text: str) -> str:
    """Text of several lines; tabs and line ends stay."""
    return "\n".join("\t".join(_text(part) for part in line.split("\t")) for line in text.split("\n"))
