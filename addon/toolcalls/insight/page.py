"""Sessions and scorecard as HTML: the same pieces for the file that `toolcalls report` writes and for mitmweb's page.

What models, servers and clients said is text here and never markup: it enters through `escaped` alone, which escapes it
and shows characters that hide or turn others. The pages can be read without a script up to a size (mitmweb's has one
for what is new, the file one that lists, searches and unpacks), load nothing, and say so in a content security policy:
style and script by their hash.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from importlib.resources import files

from toolcalls.insight import plots
from toolcalls.insight.exchange_record import flow_of
from toolcalls.insight.exchange_rows import as_json, glossary, row_of
from toolcalls.insight.formatting import counted, duration, escaped, percent, token_counts
from toolcalls.insight.packing import rows, sections
from toolcalls.insight.prices import currency_of, money
from toolcalls.insight.scorecard import BY, Row, Scorecard
from toolcalls.insight.session_page import Block, outcome_strip, quoted, session_blocks, session_body, worst_badge
from toolcalls.insight.sessions import Session, Sessions
from toolcalls.insight.totals import Links, attention, conformance, cost, models
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.words import OUTCOMES
from toolcalls.route import Price

TITLE = "Tool calls"
PAGE = "/toolcalls"  # in mitmweb
_FLOW = "/#/flows/{id}/response"  # where mitmweb shows a flow
_WHY = "/toolcalls/why?id={id}"
_SESSIONS = 150  # rows of the list; the exchanges of older ones are listed all the same
PAGE_TURNS = 100  # of one page of a session in mitmweb
_OPEN = 12  # of these that are shown without being asked for


def style() -> str:
    """The style sheet of all pages."""
    return (files(__package__) / "page.css").read_text("utf-8")


def script(name: str) -> str:
    """A script of the pages: `page.js` for both, and after it `live.js` in mitmweb, `report.js` in a file."""
    return (files(__package__) / name).read_text("utf-8")


def report_page(sessions: Sessions, source: str, prices: Sequence[Price] = ()) -> str:
    """One document: the list, and each session as a place of its own in it. `source` names the files."""
    css, code = style(), script("page.js") + script("report.js")
    own = f"style-src '{_digest(css)}'; script-src '{_digest(code)}'"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    shown = sessions.all()
    made = (
        f'<section class="session" id="s{number}">{_back("#top")}{session_body(one, f"s{number}", prices)}</section>'
        for number, one in enumerate(shown, 1)
    )
    numbers = {one.id: number for number, one in enumerate(shown, 1)}
    links = Links(lambda turn: f"#s{numbers[turn.session]}-t{sessions.place(turn) + 1}")
    blocks = "".join(one.html for one in _overview(sessions, links, _in_file(numbers), source, prices))
    data = f"{rows(shown)}{glossary()}" if shown else ""
    parts = [
        f'<section class="overview" id="top">{blocks}{data}</section>',
        *sections(made),
    ]
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="referrer" content="no-referrer"><style>{css}</style>'
    )
    return _document(head, "".join(parts), "report", f"<script>{code}</script>" if shown else "")


def _in_file(numbers: dict[str, int]) -> Callable[[Session], str]:
    return lambda session: f"#s{numbers[session.id]}"


def _digest(text: str) -> str:
    """What a content security policy names an inline style or script by."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def live_page(blocks: Sequence[Block], revision: str) -> str:
    """A page inside mitmweb, whose policy is in its headers. `blocks` are `live_overview` or `live_session`."""
    head = '<link rel="stylesheet" href="/toolcalls/page.css"><script defer src="/toolcalls/page.js"></script>'
    head += '<script defer src="/toolcalls/live.js"></script>'
    state = '<p id="live" role="status">live</p>'
    turns = "".join(block.html for block in blocks if block.html.startswith("<li"))
    rest = "".join(block.html for block in blocks if not block.html.startswith("<li"))
    content = f'{rest}<ol class="turns">{turns}</ol>'
    shown = f'{state}<div id="content" data-revision="{escaped(revision)}">{content}</div>{glossary()}'
    return _document(head, shown, "live")


def live_rows(sessions: Sessions, since: int) -> str:
    """What is new in the list of exchanges, as JSON; `all` where a page must forget what it has."""
    news = sessions.since(since) if since else None
    turns, gone = ([*sessions.turns()], []) if news is None else news
    rows = [row_of(turn, _turn_address(sessions, turn), sessions.title(turn)) for turn in turns]
    more = {"revision": sessions.revision, "all": news is None, "gone": gone}
    return f"{as_json(rows)[:-1]},{json.dumps(more)[1:]}"


def _turn_address(sessions: Sessions, turn: Turn) -> str:
    return _place_address(turn.session, sessions.place(turn))


def _place_address(session: str, place: int) -> str:
    return f"{_session_address(session)}&page={place // PAGE_TURNS + 1}#s-t{place + 1}"


def live_turn(sessions: Sessions, flow: str) -> str:
    """The address of the last turn of a flow; of the list where there is none."""
    found = [turn for turn in sessions.turns() if flow_of(turn.id) == flow]
    return _turn_address(sessions, found[-1]) if found else PAGE


def live_overview(sessions: Sessions, prices: Sequence[Price] = ()) -> list[Block]:
    """The list, as mitmweb's page has it."""
    links = Links(
        lambda turn: _turn_address(sessions, turn),
        lambda turn: _FLOW.format(id=quoted(flow_of(turn.id))),
    )
    return _overview(sessions, links, lambda session: _session_address(session.id), "this mitmweb", prices)


def _session_address(id_: str) -> str:
    return f"/toolcalls/session?id={quoted(id_)}"


def live_session(session: Session | None, prices: Sequence[Price] = (), page: int | None = None) -> list[Block]:
    """One session, as mitmweb's page has it: the turns of a page, counted from 1, the last one without a number."""
    back = Block("back", f'<div data-key="back">{_back(PAGE)}</div>')
    if session is None:
        return [back, Block("head", '<div data-key="head"><p>This session is not here (any more).</p></div>')]
    count = len(session.turns)
    last = max(1, -(-count // PAGE_TURNS))
    page = last if page is None else min(max(1, page), last)
    places = range((page - 1) * PAGE_TURNS, min(page * PAGE_TURNS, count))
    head, *turns = session_blocks(
        session, "s", (_FLOW, _WHY), prices, places, lambda place: _place_address(session.id, place)
    )
    return [back, head, *([_page_links(session, page, last, places)] if last > 1 else []), *turns]


def _page_links(session: Session, page: int, last: int, places: range) -> Block:
    """Which turns these are, and the way to the others."""
    address = escaped(_session_address(session.id))
    said = f"turns {places.start + 1:,} to {places.stop:,} of {len(session.turns):,}"
    links = {"« first": "&amp;page=1", "← earlier": f"&amp;page={page - 1}"} if page > 1 else {}
    behind = {"later →": f"&amp;page={page + 1}", "latest »": ""} if page < last else {}
    before, after = (
        " ".join(f'<a href="{address}{query}">{words}</a>' for words, query in one.items()) for one in (links, behind)
    )
    shown = f"{before} <span>{said}</span> {after}"
    return Block("pages", f'<nav class="pages" data-key="pages" aria-label="Pages">{shown}</nav>')


def live_why(flow: str | None, rows: Sequence[Sequence[str]]) -> list[Block]:
    """Each candidate of a flow with its conditions: rows of `toolcalls.why`, of which those with a number begin one."""
    lines = []
    for number, what, said in rows:
        kind = "candidate" if number else "failed" if said.startswith("FAILED") else ""
        cell = "th" if number else "td"
        lines.append(f'<tr class="{kind}"><{cell}>{escaped(what)}</{cell}><{cell}>{escaped(said)}</{cell}></tr>')
    wide = '<div class="wide" role="region" aria-label="conditions" tabindex="0">'
    table = f'{wide}<table class="why"><tbody>{"".join(lines)}</tbody></table></div>'
    if flow is None:
        title = "<p>Nothing is known about this flow: mitmproxy has dropped it, or its reply cannot be parsed.</p>"
    else:
        link = _FLOW.format(id=quoted(flow))
        title = (
            f'<p class="hint">By the current configuration, for flow <a href="{escaped(link)}">{escaped(flow)}</a>. '
            "A verdict names only the first condition that failed; this table shows all seven.</p>"
        )
    head = f'<div data-key="head"><h2>Why text is a call or not</h2>{title}{table if rows else ""}</div>'
    return [Block("back", f'<div data-key="back">{_back(PAGE)}</div>'), Block("head", head)]


class Changes:
    """What is new on one page since it was last asked for: its blocks, and in which revision each changed.

    Revisions are counted from 1; 0 is a page that has nothing yet.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._blocks: dict[str, tuple[str, int]] = {}

    def put(self, blocks: Sequence[Block]) -> None:
        """Set the blocks of the page as it is now."""
        was, self._blocks = self._blocks, {}
        changed = [block.key for block in blocks] != list(was)
        for block in blocks:
            html, revision = was.get(block.key, ("", 0))
            same = html == block.html
            changed = changed or not same
            self._blocks[block.key] = (block.html, revision if same else self.revision + 1)
        self.revision += changed

    @property
    def blocks(self) -> list[Block]:
        return [Block(key, html) for key, (html, _) in self._blocks.items()]

    def since(self, revision: int) -> list[list[str | None]]:
        """The keys of all blocks in order, each with its HTML if it has changed since then."""
        return [[key, html if changed > revision else None] for key, (html, changed) in self._blocks.items()]


def _document(head: str, body: str, kind: str, script: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}<title>{TITLE}</title></head>'
        f'<body class="{kind}"><header><h1>{TITLE}</h1></header><main>{body}</main>{script}</body></html>\n'
    )


def _back(target: str) -> str:
    return f'<p class="back"><a href="{target}">← all sessions</a></p>'


# --- the list ---------------------------------------------------------------------------------------------------------


def _overview(
    sessions: Sessions, links: Links, address: Callable[[Session], str], source: str, prices: Sequence[Price]
) -> list[Block]:
    """Its parts, in the order in which people need them: what needs a look, the sessions, then what is added up."""
    made = {"totals": _totals(sessions, source)}
    if len(sessions):
        made |= {
            "attention": attention(sessions, links),
            "sessions": _sessions(sessions, address, prices),
            "exchanges": '<section id="exchanges"><h2>Exchanges</h2></section>',
            "card": scorecard(sessions.scorecard),
            "damage": conformance(sessions.scorecard.conformance),
            "tokens": models(sessions.scorecard.totals, prices),
        }
    keys = ("totals", "attention", "sessions", "exchanges", "card", "damage", "tokens")
    return [Block(key, f'<div data-key="{key}">{made.get(key, "")}</div>') for key in keys]


def _totals(sessions: Sessions, source: str) -> str:
    if not len(sessions):
        return (
            f'<p class="hint">Nothing yet in {escaped(source)}: no exchange with an API that the addon reads.</p>'
            "<p>Such are requests whose path ends in /chat/completions, /responses, /messages, :generateContent, "
            ":streamGenerateContent, /api/chat, /api/generate or /completions.</p>"
        )
    total = sessions.scorecard.total
    counts = f"{counted(len(sessions), 'exchange')} in {counted(sessions.count, 'session')}"
    older = f" {counted(sessions.dropped, 'older exchange')} counted, but no longer listed." if sessions.dropped else ""
    coming = f'<p class="hint">{counted(sessions.coming, "reply")} coming now.</p>' if sessions.coming else ""
    return f'<p class="hint">{counts}, {counted(total.total, "call")} · {escaped(source)}.{older}</p>{coming}'


def scorecard(card: Scorecard) -> str:
    """What share of calls had which outcome: for all, then by each name."""
    total = card.total
    if not total.total:
        return "<p>No tool calls in them.</p>"
    legend = "".join(
        f'<li class="{outcome}"><b>{entry.words}</b> <span class="number">{percent(total.rate(outcome))}</span>'
        f" <small>{counted(total.counts.get(outcome, 0), 'call')}: {escaped(entry.sentence)}</small></li>"
        for outcome, entry in OUTCOMES.items()
    )
    about = '<p class="hint">Shares of calls by what became of them; in brackets how many calls there were.</p>'
    cards = f'<ul class="legend">{legend}</ul>'
    return f'<h2>How calls went</h2>{about}{cards}<div class="plots">{"".join(_plots(card))}</div>'


def _plots(card: Scorecard) -> Iterable[str]:
    for by in BY:
        rows = card.rows(by)
        more = f" ({len(rows) - plots.BARS} more in the table)" if len(rows) > plots.BARS else ""
        yield (
            f"<figure><figcaption>by {by}{more}</figcaption>{plots.bars(f'Outcomes by {by}', rows)}"
            f'<details><summary aria-label="by {by}, as a table">as a table</summary>'
            f"{_table(by, rows)}</details></figure>"
        )


def _table(by: str, rows: Iterable[Row]) -> str:
    head = "".join(f"<th scope=col>{word}</th>" for word in (by, "calls", *(one.words for one in OUTCOMES.values())))
    lines = (
        f'<tr><th scope="row">{escaped(row.name)}</th><td>{row.total}</td>'
        + "".join(f"<td>{_share(row.counts.get(outcome, 0), row.total)}</td>" for outcome in OUTCOMES)
        + "</tr>"
        for row in rows
    )
    wide = f'<div class="wide" role="region" aria-label="by {by}, in numbers" tabindex="0">'
    return f"{wide}<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def _share(count: int, total: int) -> str:
    return f"{count} ({percent(count / total)})" if count else "–"


def _sessions(sessions: Sessions, address: Callable[[Session], str], prices: Sequence[Price]) -> str:
    named = ("session", "agent", "model", "outcomes", "began", "took", "turns", "calls", "tokens", "cost", "worst")
    names = [name for name in named if prices or name != "cost"]
    lines = [_session(one, address(one), names, prices) for one in sessions.latest(_SESSIONS)]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    table = '<table class="list" aria-label="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
    rest = lines[_OPEN:]
    folded = table.format("Earlier sessions", head, "".join(rest))
    more = f"<details><summary>{counted(len(rest), 'earlier session')}</summary>{folded}</details>" if rest else ""
    older = sessions.count - _SESSIONS
    where = f"<p>{counted(older, 'older session')} listed by their exchanges only.</p>" if older > 0 else ""
    return f"<h2>Sessions</h2>{table.format('Sessions', head, ''.join(lines[:_OPEN]))}{more}{where}"


def _session(one: Session, link: str, names: Sequence[str], prices: Sequence[Price]) -> str:
    """Its row. Most sessions are as they were when the page was rendered before."""
    made_of, row = one.rendered.get(link, (None, ""))
    if made_of is not prices:
        row = _session_row(one, link, names, prices)
        one.rendered[link] = (prices, row)
    return row


def _session_row(one: Session, link: str, names: Sequence[str], prices: Sequence[Price]) -> str:
    worst = one.worst or "no calls"
    leaks = sum(verdict.outcome == "leak" for turn in one.turns for verdict in turn.verdicts)
    leak = f' <span class="badge leak">{counted(leaks, "leak")}</span>' if leaks else ""
    coming = ' <span class="badge streaming">coming</span>' if one.coming else ""
    cells = {
        "session": f'<a href="{escaped(link)}" title="{escaped(one.id)}">{escaped(one.title)}</a>',
        "agent": escaped(", ".join(one.agents) or "not named"),
        "model": escaped(", ".join(one.models[:3]) or "not named"),
        "outcomes": outcome_strip(one),
        "began": f"{escaped(one.turns[0].started_at[:16].replace('T', ' '))} <small>UTC</small>",
        "took": duration(one.seconds),
        "turns": str(len(one.turns)),
        "calls": str(one.calls),
        "tokens": escaped(token_counts(one.tokens()) or "not reported"),
        "cost": "not known" if (spent := cost([one], prices)) is None else money(spent, currency_of(prices)),
        "worst": f"{worst_badge(worst, leak)}{coming}",
    }
    return "<tr>" + "".join(f'<td data-name="{name}"><span>{cells[name]}</span></td>' for name in names) + "</tr>"
