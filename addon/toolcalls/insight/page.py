"""Sessions and scorecard as HTML: the same pieces for the file that `toolcalls report` writes and for mitmweb's page.

What models, servers and clients said is text here and never markup: it enters through `_text` alone, which escapes it
and shows characters that hide or turn others. The pages need no script to be read (mitmweb's has one, for what is new),
load nothing, and say so in a content security policy: styles by their hash, and nothing else.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from toolcalls.insight import plots
from toolcalls.insight.passage import duration, quoted, session_body
from toolcalls.insight.scorecard import BY, Row, Scorecard
from toolcalls.insight.sessions import Session, Sessions
from toolcalls.insight.turn import OUTCOMES
from toolcalls.report import visible

TITLE = "Tool calls"
_FLOW = "/#/flows/{id}/response"  # where mitmweb shows a flow
_SESSIONS = 300  # rows of the list; older ones are counted


def style() -> str:
    """The style sheet of all pages."""
    return (files(__package__) / "page.css").read_text("utf-8")


def script() -> str:
    """What keeps mitmweb's page up to date."""
    return (files(__package__) / "live.js").read_text("utf-8")


def report_page(sessions: Sessions, source: str) -> str:
    """One document: the list, and each session as a place of its own in it. `source` names the files."""
    css = style()
    hashed = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    shown = sessions.all()
    parts = [
        f'<section class="overview" id="top">{overview(sessions, shown, "#s{number}", source)}</section>',
        *(
            f'<section class="session" id="s{number}">{_back("#top")}{session_body(one, f"s{number}")}</section>'
            for number, one in enumerate(shown[:_SESSIONS], 1)
        ),
    ]
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="referrer" content="no-referrer"><style>{css}</style>'
    )
    return _document(head, "".join(parts), "report")


def live_page(content: str, revision: str) -> str:
    """A page inside mitmweb, whose policy is in its headers. `content` is `overview` or `live_session`."""
    head = '<link rel="stylesheet" href="/toolcalls/page.css"><script defer src="/toolcalls/live.js"></script>'
    state = '<p id="live" role="status">live</p>'
    return _document(head, f'{state}<div id="content" data-revision="{_text(revision)}">{content}</div>', "live")


def live_overview(sessions: Sessions, streaming: int = 0) -> str:
    """The list, as mitmweb's page has it. `streaming` is how many replies are coming."""
    shown = sessions.all()
    coming = f'<p class="told">{_many(streaming, "reply")} coming now.</p>' if streaming else ""
    links = {one.id: f"/toolcalls/session?id={quoted(one.id)}" for one in shown[:_SESSIONS]}
    return coming + overview(sessions, shown, links, "this mitmweb")


def live_session(session: Session | None) -> str:
    """One session, as mitmweb's page has it."""
    if session is None:
        return _back("/toolcalls") + "<p>This session is not here (any more).</p>"
    return _back("/toolcalls") + session_body(session, "s", _FLOW)


def _document(head: str, body: str, kind: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}<title>{TITLE}</title></head>'
        f'<body class="{kind}"><header><h1>{TITLE}</h1></header><main>{body}</main></body></html>\n'
    )


def _back(target: str) -> str:
    return f'<p class="back"><a href="{target}">← all sessions</a></p>'


def _text(value: object) -> str:
    """Text from anywhere, safe between tags and in quoted attributes."""
    return escape(visible(str(value)))


# --- the list ---------------------------------------------------------------------------------------------------------


def overview(sessions: Sessions, shown: Sequence[Session], links: str | dict[str, str], source: str) -> str:
    """Totals, the scorecard and the list of sessions. `links` are by id, or a pattern for the session's number."""
    total = sessions.scorecard.total
    exchanges = sum(len(one.turns) for one in shown)
    told = f"{_many(exchanges, 'exchange')} in {_many(len(shown), 'session')}, {_many(total.total, 'call')}"
    older = f" {_many(sessions.dropped, 'older exchange')} counted, but no longer listed." if sessions.dropped else ""
    if not shown:
        return f'<p class="told">Nothing yet in {_text(source)}: no exchange with an API that the addon reads.</p>'
    return (
        f'<p class="told">{told} · {_text(source)}.{older}</p>'
        f"{scorecard(sessions.scorecard)}"
        f"<h2>Sessions</h2>{_sessions(shown, links)}"
    )


def scorecard(card: Scorecard) -> str:
    """What share of calls had which outcome: for all, then by each name."""
    total = card.total
    if not total.total:
        return "<p>No tool calls in them.</p>"
    legend = "".join(
        f'<li class="{outcome}"><b>{outcome}</b> <span class="number">{_percent(total.rate(outcome))}</span>'
        f" <small>{_many(total.counts.get(outcome, 0), 'call')}: {_text(about)}</small></li>"
        for outcome, about in OUTCOMES.items()
    )
    return f'<h2>How calls went</h2><ul class="legend">{legend}</ul><div class="plots">{"".join(_plots(card))}</div>'


def _plots(card: Scorecard) -> Iterable[str]:
    for by in BY:
        rows = card.rows(by)
        more = f" ({len(rows) - plots.BARS} more in the table)" if len(rows) > plots.BARS else ""
        yield (
            f"<figure><figcaption>by {by}{more}</figcaption>{plots.bars(f'Outcomes by {by}', rows)}"
            f"<details><summary>as a table</summary>{_table(by, rows)}</details></figure>"
        )


def _table(by: str, rows: Iterable[Row]) -> str:
    head = "".join(f"<th scope=col>{word}</th>" for word in (by, "calls", *OUTCOMES))
    lines = (
        f'<tr><th scope="row">{_text(row.name)}</th><td>{row.total}</td>'
        + "".join(f"<td>{_share(row.counts.get(outcome, 0), row.total)}</td>" for outcome in OUTCOMES)
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _share(count: int, total: int) -> str:
    return f"{count} ({_percent(count / total)})" if count else "–"


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}%" if rate in {0.0, 1.0} or 0.01 <= rate <= 0.99 else f"{100 * rate:.1f}%"


def _sessions(shown: Sequence[Session], links: str | dict[str, str]) -> str:
    lines = []
    for number, one in enumerate(shown[:_SESSIONS], 1):
        link = links.format(number=number) if isinstance(links, str) else links[one.id]
        tokens_in, tokens_out = one.tokens()
        worst = one.worst or "no calls"
        leaks = sum(verdict.outcome == "leak" for turn in one.turns for verdict in turn.verdicts)
        leak = f' <span class="badge leak">{_many(leaks, "leak")}</span>' if leaks else ""
        guessed = "" if one.named else " <small>no id sent</small>"
        cells = {
            "session": f'<a href="{_text(link)}">{_text(one.id)}</a>{guessed}',
            "agent": _text(", ".join(one.agents) or "not named"),
            "model": _text(", ".join(one.models[:3]) or "not named"),
            "began": f"{_text(one.turns[0].started_at[:19].replace('T', ' '))} <small>UTC</small>",
            "took": duration(one.seconds),
            "turns": str(len(one.turns)),
            "calls": str(one.calls),
            "tokens": f"{tokens_in:,} in, {tokens_out:,} out" if tokens_in or tokens_out else "not said",
            "worst": f'<span class="badge {_text(worst).replace(" ", "-")}">{_text(worst)}</span>{leak}',
        }
        lines.append(
            "<tr>"
            + "".join(f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in cells.items())
            + "</tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("session", "agent", "model", "began", "took", "turns",
                                                               "calls", "tokens", "worst"))  # fmt: skip
    older = len(shown) - _SESSIONS
    more = f"<p>{_many(older, 'older session')} not listed.</p>" if older > 0 else ""
    return f'<table class="list"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>{more}'


def _many(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("y") else f"{count:,} {word}s"
