"""A session's turns as a waterfall: a row each, from the request to the end, then what the agent and its tools took.

Of a turn one sees how long it took to the first byte, to the first byte of a call's arguments, to the whole call and to
the end, in the colours that the turns themselves have below. A long pause, in which a person thinks, would leave the
rest no room, so it is drawn shorter, and the caption says so.
"""

from collections.abc import Iterator, Sequence

from toolcalls.insight.formatting import counted, duration, escaped
from toolcalls.insight.turn import Turn

ROWS = 100  # turns of one drawing
_PAUSE = 30.0  # seconds; longer pauses are drawn so long
_ROW, _BAR = 9, 7  # pixels
_OPEN = 40  # turns of a drawing that is open without being asked for
_WIDTH = 1000


def waterfall(turns: Sequence[Turn], first: int = 0) -> str:
    """The drawing of these turns, the first of which has this place in its session; "" where no times are known."""
    shown = turns[:ROWS]
    if len(shown) < 2 or not any(turn.seconds for turn in shown):
        return ""
    starts, whole, cut = _places(shown)
    unit = _WIDTH / whole
    rows = "".join(
        _row(turn, f"Turn {first + number + 1}", start, pause, unit, number * _ROW)
        for number, (turn, start, pause) in enumerate(zip(shown, starts, _pauses(shown), strict=True))
    )
    height = _ROW * len(shown)
    drawn = f'<svg class="waterfall" viewBox="0 0 {_WIDTH} {height}" height="{height}" preserveAspectRatio="none"'
    drawn_so = f"{'is' if cut == 1 else 'are'} drawn so long"
    said = f"; {counted(cut, 'pause')} longer than {duration(_PAUSE)} {drawn_so}" if cut else ""
    scale = f"<span>0 s</span><span>a row for each turn{said}</span><span>{duration(whole)}</span>"
    return (
        f"<details{' open' * (len(shown) <= _OPEN)}>"
        f"<summary>Waterfall, turns {first + 1} to {first + len(shown)}</summary>"
        f'{drawn} aria-hidden="true">{rows}</svg><p class="scale">{scale}</p></details>'
    )


def _pauses(turns: Sequence[Turn]) -> Iterator[float]:
    """How long it took after each turn until the next one began; 0 where they overlap, and after the last."""
    for turn, after in zip(turns, (*turns[1:], None), strict=True):
        yield 0.0 if after is None else max(0.0, after.started - turn.started - (turn.seconds or 0.0))


def _places(turns: Sequence[Turn]) -> tuple[list[float], float, int]:
    """Where each turn begins, in seconds, the length of all, and how many pauses were cut."""
    lost, cut = 0.0, 0
    starts: list[float] = []
    for turn, pause in zip(turns, _pauses(turns), strict=True):
        starts.append(turn.started - turns[0].started - lost)
        if pause > _PAUSE:
            lost += pause - _PAUSE
            cut += 1
    return starts, max(start + (turn.seconds or 0.0) for start, turn in zip(starts, turns, strict=True)) or 1.0, cut


def phases(turn: Turn) -> list[tuple[str, float, float]]:
    """The parts of a reply that are known: a class of the page's, and where it begins and ends, in seconds."""
    known = {name: moment for name, moment in turn.marks().items() if moment is not None}
    if not known:
        return []
    end = max(known.values())
    first = known.get("first byte", end)
    argument = known.get("first argument byte", end)
    complete = known.get("call complete", end)
    edges = [("waiting", 0.0, first), ("streaming", first, argument)]
    edges += [("calling", argument, complete), ("closing", complete, end)]
    return [(name, start, stop) for name, start, stop in edges if stop > start]


def _row(turn: Turn, name: str, start: float, pause: float, unit: float, top: int) -> str:
    parts = [(kind, start + begin, start + stop) for kind, begin, stop in phases(turn)]
    end = start + (turn.seconds or 0.0)
    if pause:
        parts.append(("tools", end, end + min(pause, _PAUSE)))
    bars = "".join(
        f'<rect class="{kind}" x="{begin * unit:.1f}" y="{top}" width="{max(1.5, (stop - begin) * unit):.1f}" '
        f'height="{_BAR}"/>'
        for kind, begin, stop in parts
    )
    said = [f"{mark} {duration(moment)}" for mark, moment in turn.marks().items() if moment is not None]
    then = f"; then {duration(pause)} of the agent and its tools" if pause else ""
    return f"<g><title>{escaped(f'{name}: {", ".join(said) or "no times"}{then}')}</title>{bars}</g>"
