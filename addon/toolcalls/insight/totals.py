"""What the overview adds up besides outcomes: how replies came, which text leaked, what each model took and cost.

The last two are made of the turns that are kept, so that an entry can say where it was seen last.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from toolcalls.insight.conformance import Conformance, Kind
from toolcalls.insight.conformance import Row as Replies
from toolcalls.insight.damage import sentence_of
from toolcalls.insight.formatting import counted, escaped, percent
from toolcalls.insight.prices import cost_of, money
from toolcalls.insight.sessions import Session
from toolcalls.insight.turn import Turn
from toolcalls.insight.vocabulary.reasons import REASONS, remedy_of
from toolcalls.route import Price

_LEAKS, _MODELS, _SERVERS = 30, 30, 30  # rows; of servers, each with its kinds of damage
_NAMES = 4  # tools of one row

# The address of a turn, from its session's place in the list and its own in the session.
type Link = Callable[[int, int], str]


def conformance(found: Conformance) -> str:
    """A table of how replies came, by model and server, with the rate of each kind of damage; "" for no damage."""
    rows = found.rows()
    if not any(row.kinds for row in rows):
        return ""
    lines = "".join(_replies(row) + "".join(_kind(row, kind) for kind in row.kinds) for row in rows[:_SERVERS])
    more = f"<p>{len(rows) - _SERVERS} more models and servers.</p>" if len(rows) > _SERVERS else ""
    about = (
        '<p class="told">Replies that the addon read, and what they came with that costs a client its call: in how '
        "many of them, how often in all, and how often it was mended.</p>"
    )
    head = _head("model", "server", "what came", "replies", "share", "times", "mended")
    return f"<h2>How replies came</h2>{about}{_table('Damage', head, lines)}{more}"


def _replies(row: Replies) -> str:
    cells = {"model": escaped(row.model), "server": escaped(row.server), "what came": "without damage"}
    counts = {"replies": f"{row.sound:,} <small>of {row.turns:,}</small>", "share": percent(row.sound / row.turns)}
    return _row({**cells, **counts, "times": "", "mended": ""})


def _kind(row: Replies, kind: Kind) -> str:
    return _row(
        {
            "model": escaped(row.model),
            "server": escaped(row.server),
            "what came": f'<span title="{escaped(sentence_of(kind.code))}">{escaped(kind.code)}</span>',
            "replies": f"{kind.turns:,}",
            "share": percent(kind.turns / row.turns),
            "times": f"{kind.count:,}",
            "mended": f"{kind.mended:,}",
        }
    )


@dataclass(slots=True)
class _Leak:
    """What one model wrote in one dialect and no client could read, for one reason. `last`: where it was seen last."""

    first: Turn
    last: Turn
    place: tuple[int, int]
    count: int = 0
    tools: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)


def leaks(shown: Sequence[Session], link: Link) -> str:
    """A table of leaks, the most frequent first; "" for none."""
    found: dict[tuple[str, str, str], _Leak] = {}
    for number, session in enumerate(shown):
        for place, turn in enumerate(session.turns):
            for verdict in turn.verdicts:
                if verdict.outcome != "leak":
                    continue
                key = (turn.model or "(not named)", verdict.dialect or "", verdict.reason or "")
                leak = found.setdefault(key, _Leak(turn, turn, (number, place)))
                leak.count += 1
                leak.sessions.add(session.id)
                leak.tools += [verdict.name] if verdict.name and verdict.name not in leak.tools else []
                if turn.started < leak.first.started:
                    leak.first = turn
                if turn.started >= leak.last.started:
                    leak.last, leak.place = turn, (number, place)
    rows = sorted(found.items(), key=lambda one: (-one[1].count, one[0]))
    if not rows:
        return ""
    lines = "".join(_leak(key, leak, link) for key, leak in rows[:_LEAKS])
    more = f"<p>{len(rows) - _LEAKS} more kinds of leaks.</p>" if len(rows) > _LEAKS else ""
    head = _head("model", "dialect", "leaks", "reason", "tools", "since", "last seen")
    about = '<p class="told">Text that a model meant as a call and no client ran: what to look at first.</p>'
    return f"<h2>Leaks</h2>{about}{_table('Leaks', head, lines)}{more}"


def _leak(key: tuple[str, str, str], leak: _Leak, link: Link) -> str:
    model, dialect, reason = key
    sentence = REASONS[reason].sentence if reason in REASONS else ""
    remedy = remedy_of(reason)
    unless = f"<br><small>taken where {escaped(remedy)}</small>" if remedy else ""
    more = f" and {len(leak.tools) - _NAMES} more" if len(leak.tools) > _NAMES else ""
    where = f'<a href="{escaped(link(*leak.place))}">{_when(leak.last)}</a>'
    return _row(
        {
            "model": escaped(model),
            "dialect": escaped(dialect or "not known"),
            "leaks": f"{leak.count:,} <small>in {counted(len(leak.sessions), 'session')}</small>",
            "reason": f'<span title="{escaped(sentence)}">{escaped(reason)}</span>{unless}',
            "tools": escaped(", ".join(leak.tools[:_NAMES]) + more or "not read"),
            "since": _when(leak.first),
            "last seen": where,
        }
    )


@dataclass(slots=True)
class _Taken:
    """What one model took. `counted` of its turns say how many tokens; of these, `unpriced` have no cost."""

    turns: int = 0
    calls: int = 0
    counted: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    unpriced: int = 0
    cost: float | None = None


def models(shown: Sequence[Session], prices: Sequence[Price]) -> str:
    """A table of what each model took, the dearest first; "" where no server counted tokens."""
    found: dict[str, _Taken] = {}
    for turn in (turn for session in shown for turn in session.turns):
        for name in (turn.model or "(not named)", ""):  # "" is all of them
            _add(found.setdefault(name, _Taken()), turn, prices)
    total = found.pop("", _Taken())
    if not total.counted:
        return ""
    rows = sorted(found.items(), key=lambda one: (-(one[1].cost or 0.0), -one[1].input, one[0]))
    lines = "".join(_model(name, one, priced=bool(prices)) for name, one in rows[:_MODELS])
    lines += _model("all", total, priced=bool(prices)) if len(rows) > 1 else ""
    names = ("model", "exchanges", "calls", "input", "cached", "output", *(("cost",) if prices else ()))
    notes = {
        f"{counted(total.turns - total.counted, 'exchange')} not counted by the server": total.turns - total.counted,
        f"no price for {counted(total.unpriced, 'exchange')}, which {'is' if total.unpriced == 1 else 'are'} not in "
        "the cost": total.unpriced if prices else 0,
    }
    noted = "; ".join(note for note, count in notes.items() if count)
    about = f'<p class="told">As servers counted them{noted and "; "}{noted}.</p>'
    return f"<h2>Tokens{' and cost' if prices else ''}</h2>{about}{_table('Tokens', _head(*names), lines)}"


def _add(taken: _Taken, turn: Turn, prices: Sequence[Price]) -> None:
    taken.turns += 1
    taken.calls += len(turn.verdicts)
    taken_tokens = turn.tokens.input is not None or turn.tokens.output is not None
    taken.counted += taken_tokens
    taken.input += turn.tokens.input or 0
    taken.cached += turn.tokens.cached or 0
    taken.output += turn.tokens.output or 0
    cost = cost_of(turn.model, turn.tokens, prices)
    if cost is not None:
        taken.cost = (taken.cost or 0.0) + cost
    elif taken_tokens:
        taken.unpriced += 1


def _model(name: str, one: _Taken, *, priced: bool) -> str:
    cells = {
        "model": escaped(name),
        "exchanges": f"{one.turns:,}",
        "calls": f"{one.calls:,}",
        **{
            kind: f"{count:,}" if one.counted else "not said"
            for kind, count in (("input", one.input), ("cached", one.cached), ("output", one.output))
        },
    }
    return _row(cells | ({"cost": "no price" if one.cost is None else money(one.cost)} if priced else {}))


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
