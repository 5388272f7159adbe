"""Tables of the overview besides the scorecard: what needs a look, how replies came, what each model took and cost."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolcalls.insight.attention import Group
from toolcalls.insight.conformance import Conformance, Kind
from toolcalls.insight.conformance import Row as Replies
from toolcalls.insight.damage import sentence_of
from toolcalls.insight.formatting import counted, duration, escaped, percent
from toolcalls.insight.model_totals import PERCENTILES, TIMES, Durations, ModelTotals, Totals
from toolcalls.insight.prices import cost_of, currency_of, money
from toolcalls.insight.sessions import Session, Sessions
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.statuses import POSSIBLY_LOST
from toolcalls.insight.vocabulary.words import NEEDS_LOOK
from toolcalls.route import Price

_GROUPS, _MODELS, _SERVERS = 12, 30, 30  # rows; of servers, each with its kinds of damage
_NAMES = 4  # tools of one row
_LATEST = 8  # turns of one row


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of a turn and of its flow, None where the page has none."""

    turn: Callable[[Turn], str]
    flow: Callable[[Turn], str | None] = lambda _: None


def conformance(found: Conformance) -> str:
    """A table of how replies came, by model and server, with the rate of each kind of damage; "" for no damage."""
    rows = found.rows()
    if not any(row.kinds for row in rows):
        return ""
    lines = "".join(_replies(row) + "".join(_kind(row, kind) for kind in row.kinds) for row in rows[:_SERVERS])
    more = f"<p>{len(rows) - _SERVERS} more models and servers.</p>" if len(rows) > _SERVERS else ""
    about = (
        '<p class="hint">Damage that makes clients lose calls, by model and server: how many replies had it, how '
        "often it occurred in all, and how often it was mended.</p>"
    )
    head = _head("model", "server", "damage", "replies", "share", "times", "mended")
    return f"<h2>How replies came</h2>{about}{_table('Damage', head, lines)}{more}"


def _replies(row: Replies) -> str:
    cells = {"model": escaped(row.model), "server": escaped(row.server), "damage": "without damage"}
    counts = {"replies": f"{row.sound:,} <small>of {row.turns:,}</small>", "share": percent(row.sound / row.turns)}
    return _row({**cells, **counts, "times": "", "mended": ""})


def _kind(row: Replies, kind: Kind) -> str:
    return _row(
        {
            "model": escaped(row.model),
            "server": escaped(row.server),
            "damage": f'<span title="{escaped(sentence_of(kind.code))}">{escaped(kind.code)}</span>',
            "replies": f"{kind.turns:,}",
            "share": percent(kind.turns / row.turns),
            "times": f"{kind.count:,}",
            "mended": POSSIBLY_LOST if kind.possible else f"{kind.mended:,}",
        }
    )


def attention(sessions: Sessions, links: Links) -> str:
    """What needs a look: a row for each group, the one that was seen last first."""
    groups = sessions.attention.groups()
    if not groups:
        return '<h2>What needs a look</h2><p class="hint">Nothing: no call was lost, and no request failed.</p>'
    counts = Counter[str]()
    for group in groups:
        counts[group.kind] += group.count
    chips = "".join(
        f'<li><span class="badge {_css(kind)}" title="{escaped(NEEDS_LOOK[kind])}">{escaped(kind)}</span> '
        f"{counts[kind]:,}</li>"
        for kind in NEEDS_LOOK
        if counts[kind]
    )
    lines = "".join(_group(sessions, group, links) for group in groups[:_GROUPS])
    rest = "".join(_group(sessions, group, links) for group in groups[_GROUPS : 10 * _GROUPS])
    head = _head("what", "why", "times", "model", "since", "last seen")
    more = (
        f"<details><summary>{counted(len(groups) - _GROUPS, 'older group')}</summary>"
        f"{_table('Older groups', head, rest)}</details>"
        if rest
        else ""
    )
    return f'<h2>What needs a look</h2><ul class="counts">{chips}</ul>{_table("What needs a look", head, lines)}{more}'


def _group(sessions: Sessions, group: Group, links: Links) -> str:
    found = [turn for turn in map(sessions.turn, group.newest(_LATEST)) if turn is not None]
    latest = found[0]
    first = sessions.turn(group.turns[0][1])
    tools = [name for name, _ in group.tools.most_common() if name]
    more = f" and {len(tools) - _NAMES} more" if len(tools) > _NAMES else ""
    named = f"<br><small>{escaped(', '.join(tools[:_NAMES]) + more)}</small>" if tools else ""
    said = f"<br><small>{escaped(latest.error)}</small>" if latest.error and latest.error != group.cause else ""
    remedy = f'<br><small class="remedy">→ {escaped(group.remedy)}</small>' if group.remedy else ""
    where = "".join(f"<li>{_where(turn, links)}</li>" for turn in found[1:])
    others = f"<details><summary>earlier ones</summary><ul>{where}</ul></details>" if where else ""
    in_sessions = counted(len(group.sessions), "session")
    dialect = f" <small>({escaped(group.dialect)})</small>" if group.dialect else ""
    return _row(
        {
            "what": f'<span class="badge {_css(group.kind)}">{escaped(group.kind)}</span>{named}',
            "why": f"<b>{escaped(group.cause)}</b>{dialect}<br>{escaped(group.sentence)}{said}{remedy}",
            "times": f"{group.count:,} <small>in {in_sessions}</small>",
            "model": escaped(group.model),
            "since": _when(first or latest),
            "last seen": f"{_where(latest, links)}{others}",
        }
    )


def _where(turn: Turn, links: Links) -> str:
    place = f'<a href="{escaped(links.turn(turn))}">{_when(turn)}</a>'
    flow = links.flow(turn)
    return place if flow is None else f'{place} · <a href="{escaped(flow)}">flow</a>'


def _css(kind: str) -> str:
    return kind.replace(" ", "-")


def models(totals: Totals, prices: Sequence[Price]) -> str:
    """Tables of what each model took, the dearest first, and of how long its replies took; "" for nothing."""
    total = totals.all
    costs = {name: _cost(name, one, prices) for name, one in totals.models()}
    rows = sorted(totals.models(), key=lambda one: (-(costs[one[0]] or 0.0), -one[1].input, one[0]))
    return f"{_tokens(rows, total, costs, prices)}{_latencies(rows, total)}"


def _tokens(
    rows: Sequence[tuple[str, ModelTotals]],
    total: ModelTotals,
    costs: Mapping[str, float | None],
    prices: Sequence[Price],
) -> str:
    if not total.counted:
        return ""
    priced, currency = bool(prices), currency_of(prices)
    known = [cost for cost in costs.values() if cost is not None]
    lines = "".join(_model(name, one, costs[name], currency, priced=priced) for name, one in rows[:_MODELS])
    lines += _model("all", total, sum(known) if known else None, currency, priced=priced) if len(rows) > 1 else ""
    names = ("model", "exchanges", "calls", "input", "cached", "output", *(("cost",) if priced else ()))
    unpriced = sum(one.counted - one.complete * (costs[name] is not None) for name, one in rows)
    notes = {
        f"{counted(total.turns - total.counted, 'exchange')} not counted by the server": total.turns - total.counted,
        f"no price for {counted(unpriced, 'exchange')}, which {'is' if unpriced == 1 else 'are'} not in the cost": (
            unpriced if priced else 0
        ),
    }
    noted = "; ".join(note for note, count in notes.items() if count)
    about = f'<p class="hint">As servers counted them{noted and "; "}{noted}.</p>'
    return f"<h2>Tokens{' and cost' if priced else ''}</h2>{about}{_table('Tokens', _head(*names), lines)}"


def _cost(name: str, one: ModelTotals, prices: Sequence[Price]) -> float | None:
    return cost_of(name, one.priceable, prices) if one.complete else None


def _model(name: str, one: ModelTotals, cost: float | None, currency: str, *, priced: bool) -> str:
    cells = {
        "model": escaped(name),
        "exchanges": f"{one.turns:,}",
        "calls": f"{one.calls:,}",
        **{
            kind: f"{count:,}" if one.counted else "not reported"
            for kind, count in (("input", one.input), ("cached", one.cached), ("output", one.output))
        },
    }
    return _row(cells | ({"cost": "no price" if cost is None else money(cost, currency)} if priced else {}))


def _latencies(rows: Sequence[tuple[str, ModelTotals]], total: ModelTotals) -> str:
    """How long replies took: what half, nine in ten and 99 in a hundred of them did not exceed."""
    if not any(one.total for one in total.times.values()):
        return ""
    shown = [*rows[:_MODELS], *([("all", total)] if len(rows) > 1 else [])]
    lines = "".join(
        _row(
            {
                "model": escaped(name),
                "replies": f"{one.times['end'].total:,}",
                **{_WAITED[moment]: _percentiles(one.times[moment]) for moment in TIMES},
            }
        )
        for name, one in shown
    )
    about = (
        '<p class="hint">From the request on, for half of the replies, nine in ten, and 99 in a hundred of them.</p>'
    )
    return f"<h2>Latency</h2>{about}{_table('Latency', _head('model', 'replies', *_WAITED.values()), lines)}"


_WAITED = {"first byte": "first byte", "first argument byte": "first argument byte", "end": "whole reply"}


def _percentiles(times: Durations) -> str:
    if not times.total:
        return "–"
    shown = (times.percentile(percent) for percent in PERCENTILES)
    return " · ".join(
        f"<small>p{percent}</small> {duration(one)}" for percent, one in zip(PERCENTILES, shown, strict=True)
    )


def _head(*names: str) -> str:
    return "".join(f'<th scope="col">{name}</th>' for name in names)


def _row(cells: dict[str, str]) -> str:
    return (
        "<tr>" + "".join(f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in cells.items()) + "</tr>"
    )


def _table(name: str, head: str, lines: str) -> str:
    return f'<table class="list" aria-label="{name}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _when(turn: Turn) -> str:
    return f"{escaped(turn.started_at[:16].replace('T', ' '))} <small>UTC</small>"


def cost(shown: Iterable[Session], prices: Sequence[Price]) -> float | None:
    """What all turns cost, None where nothing is known of it."""
    costs = [cost_of(turn.model, turn.tokens, prices) for session in shown for turn in session.turns]
    known = [one for one in costs if one is not None]
    return sum(known) if known else None
