"""One session as HTML: its turns one below the other, each with its calls, its times and what its request changed.

It is made in blocks, one element each, so that mitmweb's page can put in place what is new and leave the rest alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from toolcalls.insight.descriptions import subject_of
from toolcalls.insight.exchange_record import flow_of
from toolcalls.insight.formatting import counted, duration, escaped, escaped_lines, preformatted, token_counts
from toolcalls.insight.prices import cost_of, currency_of, money
from toolcalls.insight.request_diff import Change, Difference
from toolcalls.insight.sessions import Session
from toolcalls.insight.text_diff import rewording
from toolcalls.insight.turn import Turn, Verdict
from toolcalls.insight.turn_sides import arguments, fetched, is_delivered, sides
from toolcalls.insight.vocabulary.reasons import help_for, with_sentence
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NOTES, OUTCOMES, REPAIRS
from toolcalls.insight.waterfall import phases, waterfall
from toolcalls.route import Price

_PARTS = {
    "waiting": "waiting",
    "streaming": "reply streams",
    "calling": "call streams",
    "closing": "after the call",
    "tools": "the agent and its tools, afterwards",
}
_KEY = "".join(f'<span><i class="{name}"></i>{words}</span>' for name, words in _PARTS.items())
_CHANGES = 40  # of one request that are listed
_STRIP = 48  # marks of a session in the list
# The colours of turns, from what most needs a look, each with what it says of them.
_OF_COLOUR = {
    "broken": "failed or damaged",
    "leak": "with a leak",
    "possible": "possibly lost",
    "blocked": "blocked",
    "repair": "mended",
    "success": "with calls",
    "decline": "declined",
    "quiet": "without calls",
}
_COLOURS = tuple(_OF_COLOUR)
_COPIES = {"curl": "as curl", "case": "as a dialect case", "issue": "for an issue"}
_STATES = {"waiting": "waiting for the reply", "streaming": "the reply is coming"}

# The addresses of a flow and of why its text is a call or none, with `{id}` for the flow's id; None for none.
type Links = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Block:
    """One element of a page, with the key by which it is found again there (`data-key`)."""

    key: str
    html: str


def quoted(id_: str) -> str:
    """An id, escaped for a URL."""
    return quote(id_, safe="", errors="backslashreplace")


def session_body(session: Session, anchor: str, prices: Sequence[Price] = ()) -> str:
    """A session's turns. `anchor` is what the ids of their places begin with."""
    head, *turns = session_blocks(session, anchor, prices=prices)
    return f'{head.html}<ol class="turns">{"".join(turn.html for turn in turns)}</ol>'


def session_blocks(
    session: Session,
    anchor: str,
    links: Links = None,
    prices: Sequence[Price] = (),
    places: range | None = None,
    address: Callable[[int], str] | None = None,
) -> list[Block]:
    """A session's head, and each of its turns as an item of a list.

    anchor    what the ids of the turns' places begin with
    places    of the turns that are shown; all of them without it
    address   of the turn of a place, where that may be on another page
    """
    scale = _scale(max((turn.seconds or 0.0 for turn in session.turns), default=0.0))
    shown = range(len(session.turns)) if places is None else places
    link = address or (lambda place: f"#{anchor}-t{place + 1}")
    turns = [
        Block(f"turn {session.turns[place].id}", _turn(session, place, scale, anchor, links, prices, link))
        for place in shown
    ]
    return [Block("head", _head(session, prices, shown)), *turns]


def _head(session: Session, prices: Sequence[Price], shown: range) -> str:
    tokens = session.tokens()
    parts = [
        ", ".join(session.agents) or "agent not named",
        ", ".join(session.models) or "model not named",
        f"{counted(len(session.turns), 'turn')} in {duration(session.seconds)}",
    ]
    if said := token_counts(tokens):
        parts.append(f"tokens: {said}")
    costs = [cost_of(turn.model, turn.tokens, prices) for turn in session.turns]
    if known := [cost for cost in costs if cost is not None]:
        missing = f" (not counted: {counted(len(costs) - len(known), 'turn')})" if len(known) < len(costs) else ""
        parts.append(f"cost: {money(sum(known), currency_of(prices))}{missing}")
    named = "the agent sent no session id; grouped by how the conversation begins"
    parts.append(f"session {session.id}" if session.named else named)
    return (
        f'<div data-key="head"><h2>{escaped(session.title)}</h2>'
        f'<p class="hint">{escaped(" · ".join(parts))}</p>{_timeline(session)}'
        f"{waterfall(session.turns[shown.start : shown.stop], shown.start)}"
        f'<p class="key"><span>In a turn:</span>{_KEY}</p></div>'
    )


def _timeline(session: Session) -> str:
    """All turns on one scale of time, each in the colour of what became of it."""
    whole = session.seconds
    if len(session.turns) < 2 or not whole:
        return ""
    bars = "".join(
        f'<rect class="{_colour(turn)}" x="{1000 * (turn.started - session.started) / whole:.1f}" y="0" height="16" '
        f'width="{max(3.0, 1000 * (turn.seconds or 0.0) / whole):.1f}"/>'
        for turn in session.turns
    )
    return (
        f'<svg class="timeline" viewBox="0 0 1003 16" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
        '<p class="scale"><span>0 s</span><span>each bar is a turn, in the colour of its worst outcome; '
        f"in between, the agent and its tools are working</span><span>{duration(whole)}</span></p>"
    )


def outcome_strip(session: Session) -> str:
    """A mark for each turn, in the colour of its worst outcome; where there are many, for as many as share a mark."""
    colours = [_colour(turn) for turn in session.turns]
    each = -(-len(colours) // _STRIP)
    marks = [min(colours[start : start + each], key=_COLOURS.index) for start in range(0, len(colours), each)]
    bars = "".join(
        f'<rect class="{colour}" x="{place * 6}" y="0" width="5" height="14"/>' for place, colour in enumerate(marks)
    )
    said = ", ".join(f"{colours.count(colour)} {_OF_COLOUR[colour]}" for colour in _COLOURS if colour in colours)
    width = 6 * len(marks)
    size = f'viewBox="0 0 {width} 14" width="{width}" height="14"'
    return f'<svg class="strip" role="img" aria-label="turns: {said}" {size}><title>{said}</title>{bars}</svg>'


def _colour(turn: Turn) -> str:
    """The worst outcome of a turn's calls, `quiet` for none."""
    found = {verdict.outcome for verdict in turn.verdicts}
    if any(one.possible for one in turn.damage):
        found.add("possible")
    if turn.failure or turn.error or not 200 <= (turn.status or 200) < 300:
        return "broken"
    return next((name for name in _COLOURS if name in found), "quiet")


def _scale(longest: float) -> float:
    """The length of a bar that fills its line, in seconds: a round number, so that few new turns change it."""
    size = 0.1
    while size < longest:
        size *= 2
    return size


def _turn(
    session: Session,
    place: int,
    scale: float,
    anchor: str,
    links: Links,
    prices: Sequence[Price],
    address: Callable[[int], str],
) -> str:
    turn = session.turns[place]
    status = "" if not turn.status or 200 <= turn.status < 300 else f' <b class="bad">HTTP {turn.status}</b>'
    if not turn.status and turn.state == "ended":
        status = ' <b class="bad">no reply</b>'
    error = f'<p class="bad">{escaped(turn.error)}</p>' if turn.error else ""
    failure = f'<p class="bad">A fault of the addon: {escaped(turn.failure)}</p>' if turn.failure else ""
    badged = len(turn.verdicts) > 1  # one that is alone has its badge in the heading
    calls = "".join(_call(one, badged=badged) for one in turn.verdicts) + "".join(
        f"<li>{escaped(note)}</li>" for note in turn.notes
    )
    listed = f'<ul class="calls">{calls}</ul>' if calls else ""
    return (
        f'<li id="{anchor}-t{place + 1}" data-key="{escaped(f"turn {turn.id}")}"><article>'
        f"<h3>Turn {place + 1} {_badges(turn)}{status} "
        f"<small>at {duration(turn.started - session.started)}{_pause(session, place)} · "
        f"{escaped(turn.model)}</small></h3>"
        f"{error}{failure}{_doing(turn)}{_verdicts_of(turn)}{listed}{sides(turn)}{_times(turn, scale)}"
        f"{_request(session, place, address)}"
        f'<p class="facts">{_facts(turn, links, prices)}</p></article></li>'
    )


def _verdicts_of(turn: Turn) -> str:
    """Whose the verdicts are, where there is a question."""
    said = f"Judged {turn.judged}; the bodies are as recorded." if turn.judged else ""
    if turn.current:
        said = f"Recorded verdicts. The current configuration gives: {turn.current}"
    return f'<p class="hint">{escaped(said)}</p>' if said else ""


def _badges(turn: Turn) -> str:
    """How a turn stands, in one word, and whether a call leaked."""
    if turn.state != "ended":
        return f'<span class="badge {turn.state}">{_STATES[turn.state]}</span>'
    worst = turn.worst or ("no call" if turn.wire else "not read")
    leaks = sum(verdict.outcome == "leak" for verdict in turn.verdicts)
    return worst_badge(worst, _leak() if leaks else "")


def worst_badge(worst: str, leak: str) -> str:
    """What most needs a look, in a word. A leak is a call that was declined, so it is not said twice."""
    if leak and worst == "declined":
        return leak
    return f'<span class="badge {escaped(worst).replace(" ", "-")}">{escaped(worst)}</span>{leak}'


def _leak() -> str:
    return f' <span class="badge leak" title="{escaped(OUTCOMES["leak"].sentence)}">leak</span>'


def _doing(turn: Turn) -> str:
    """What a reply that is coming does at the moment."""
    if turn.state != "streaming":
        return ""
    return f'<p class="what">{escaped(turn.summary or "no tool call so far")}</p>'


def _facts(turn: Turn, links: Links, prices: Sequence[Price]) -> str:
    """What else is known of a turn, in one line."""
    parts = [turn.path]
    if turn.finish is not None:
        parts.append(f"finish: {turn.finish or 'none, it broke off'}")
    if said := token_counts(turn.tokens):
        parts.append(f"tokens: {said}")
    cost = cost_of(turn.model, turn.tokens, prices)
    if cost is not None:
        parts.append(f"cost: {money(cost, currency_of(prices))}")
    flow = escaped(turn.id)
    if links is not None:
        place, why = (escaped(link.format(id=quoted(flow_of(turn.id)))) for link in links)
        flow = f'<a href="{place}">{flow}</a>'
        if turn.verdicts and turn.state == "ended":
            flow += f' · <a href="{why}">why</a>'
        if turn.state == "ended":
            copies = ("curl", "case", "issue") if turn.kind else ("curl",)
            flow += "".join(f" {fetched(_COPIES[what], turn.id, what)}" for what in copies)
    return f"{escaped(' · '.join(parts))} · flow {flow}"


def _pause(session: Session, place: int) -> str:
    """How long the agent and its tools took after the reply before; "" where requests overlap, or for the first."""
    if not place or (took := session.turns[place - 1].seconds) is None:
        return ""
    pause = session.turns[place].started - session.turns[place - 1].started - took
    return f", after {duration(pause)} of the agent and its tools" if pause > 0 else ""


def _times(turn: Turn, scale: float) -> str:
    """The reply's moments as a bar, on the scale of the session's longest turn, and in words."""
    known = {name: moment for name, moment in turn.marks().items() if moment is not None}
    if not known:
        return "" if turn.state == "waiting" else '<p class="times">No times were recorded.</p>'
    words = " · ".join(f"{name} {duration(moment)}" for name, moment in known.items())
    return f'{_bar(turn, scale)}<p class="times">{words}</p>'


def _bar(turn: Turn, scale: float) -> str:
    one = 1000 / scale
    drawn = "".join(
        f'<rect class="{name}" x="{start * one:.1f}" y="0" width="{max(3.0, (stop - start) * one):.1f}" height="10"/>'
        for name, start, stop in phases(turn)
    )
    return f'<svg class="times" viewBox="0 0 1003 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _call(verdict: Verdict, *, badged: bool) -> str:
    reason = with_sentence(verdict.reason) if verdict.reason else ""
    remedy = help_for(verdict.reason or "", "anyway if")
    known = [(one, REPAIRS.get(one)) for one in verdict.repairs]
    repairs = f"repaired: {', '.join(f'{code} ({one.sentence if one else code})' for code, one in known)}"
    rule = f"blocked by the rule {verdict.rule}" if verdict.rule else ""
    unless = f"I{remedy[1:]}." if remedy else ""
    if verdict.likely_meant:
        reason = f"{reason}; {POSSIBLY_LOST}: {NOTES['likely_meant'].sentence}"
    lines = [line for line in (reason, verdict.guess, unless, rule, repairs if verdict.repairs else "") if line]
    lines += [f"wrong: {one}" for one in verdict.defects]
    lines += [f"changed by {name}: {after or 'removed'}" for name, after in verdict.changed]
    leak = _leak() if verdict.outcome == "leak" else ""
    kept = "" if is_delivered(verdict) else arguments(verdict)
    badge = f'<span class="badge {escaped(verdict.status)}">{escaped(verdict.status)}</span>{leak} ' if badged else ""
    return (
        f"<li>{badge}<b>{escaped(subject_of(verdict.name, verdict.reason))}</b> "
        f'<span class="story">the model {escaped(verdict.model)}; the client {escaped(verdict.client)}</span>'
        f"{''.join(f'<p>{escaped(line)}</p>' for line in lines)}{kept}</li>"
    )


# --- the request ------------------------------------------------------------------------------------------------------


def _request(session: Session, place: int, address: Callable[[int], str]) -> str:
    """What a request says that the one before did not."""
    asked = session.turns[place].request
    if asked.unread:
        return f'<p class="request">Request: {escaped(asked.unread)}.</p>'
    found = session.difference(place)
    if found is None:
        tools = ", ".join(name for name, _ in asked.tools[:30]) or "none"
        more = f" and {len(asked.tools) - 30} more" if len(asked.tools) > 30 else ""
        first = "".join(
            _message("said", message.role, message.excerpt, message.size) for message in asked.messages[:20]
        )
        return (
            f"<details><summary>Request: {counted(asked.count, 'message')}, "
            f"{counted(len(asked.tools), 'tool')}, {asked.size:,} bytes</summary><p>Tools: {escaped(tools + more)}</p>"
            f'<ul class="changes">{first}</ul></details>'
        )
    before, difference = found
    changes = "".join(map(_change, difference.changes[:_CHANGES]))
    more_changes = len(difference.changes) - _CHANGES
    rest = f"<p>{more_changes} more changes</p>" if more_changes > 0 else ""
    link = f'<a href="{escaped(address(before))}">turn {before + 1}</a>'
    grown = asked.size - session.turns[before].request.size
    size = f"{asked.size:,} bytes, {abs(grown):,} {'more' if grown >= 0 else 'fewer'} than there"
    return (
        f"<details><summary>Request: {escaped(_summed(difference))}</summary>"
        f"<p>Compared with {link}; {counted(difference.same, 'message')} as there; {size}.</p>{_cache(difference)}"
        f'{_tools(difference)}<ul class="changes">{changes}</ul>{rest}</details>'
    )


def _summed(difference: Difference) -> str:
    counts = {
        kind: sum(change.kind == kind for change in difference.changes) for kind in ("added", "changed", "removed")
    }
    parts = [f"{count} {kind}" for kind, count in counts.items() if count] or ["the same messages"]
    tools = [*difference.tools_added, *difference.tools_removed, *difference.tools_changed]
    if difference.system:
        parts.append("system prompt changed")
    for count, word in ((len(tools), "tool"), (len(difference.settings), "setting")):
        if count:
            parts.append(f"{counted(count, word)} differ{'s' if count == 1 else ''}")
    parts.append(f"{difference.same} as before")
    return ", ".join(parts) + (" · earlier messages changed, too" if difference.rewrites else "")


def _cache(difference: Difference) -> str:
    if not difference.rewrites:
        return ""
    return "<p>The conversation changed before its end, so a prompt cache holds only up to that place.</p>"


def _tools(difference: Difference) -> str:
    """What differs of the tools and of the settings."""
    named = {
        "Tools added": difference.tools_added,
        "Tools removed": difference.tools_removed,
        "Tools with another declaration": difference.tools_changed,
    }
    rows = [(words, ", ".join(names)) for words, names in named.items() if names]
    rows += [(name, f"{was or 'not there'} → {now or 'not there'}") for name, was, now in difference.settings]
    return "".join(f"<p>{escaped(words)}: {escaped(said)}</p>" for words, said in rows)


def _change(change: Change) -> str:
    message = change.message
    if change.was is None or change.now is None:
        calls = f" calls {', '.join(message.calls)}" if message.calls else ""
        return _message(change.kind, message.role + calls, message.excerpt, message.size)
    pieces = rewording(change.was, change.now)
    tags = {"gone": "del", "new": "ins", "same": "span"}
    shown = "".join(f"<{tags[one.kind]}>{escaped_lines(one.text)}</{tags[one.kind]}>" for one in pieces)
    said = "<p>The difference lies behind what is kept of these messages.</p>"
    if pieces:
        said = preformatted(shown, "".join(one.text for one in pieces))
    return (
        f'<li class="changed"><b>± changed {escaped(message.role)}</b> '
        f"<small>{change.was.size:,} → {change.now.size:,} characters</small>{said}</li>"
    )


def _message(kind: str, role: str, excerpt: str, size: int) -> str:
    sign = {"added": "+ added", "removed": "− removed"}.get(kind, "")
    return (
        f'<li class="{kind}"><b>{sign} {escaped(role)}</b> <small>{counted(size, "character")}</small>'
        f"{preformatted(escaped_lines(excerpt), excerpt)}</li>"
    )
