"""The scorecard as plots: one bar for each name, cut into the shares of its outcomes. SVG by pygal (pygal.org).

pygal draws; what it adds for a browser of its own (a script, a style sheet, random ids, the date) is taken out, so that
a page with a strict content security policy can hold the plot, the page's own style sheet colours it in dark and light,
and the same calls give the same bytes.

Drawing takes milliseconds, and the page shows the scorecard anew after each call, which changes a share by little. So
shares are whole percents, and labels are put into the finished drawing: most calls need no new one.
"""

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from toolcalls.insight.report import visible
from toolcalls.insight.scorecard import Row
from toolcalls.insight.vocabulary.words import OUTCOMES

BARS = 10  # names in one plot; the table beside it has all
_LABEL = 22  # characters
_PRINTED = 13  # percent from which on a share has room for its number
_WIDTH, _BAR, _EDGE = 440, 28, 24  # of the drawing, in its own units

# The length of a label, and the percentages of the outcomes in their order.
type _Bar = tuple[int, tuple[float, ...]]

_RARE = 0.5  # percent, of an outcome with fewer calls: what went wrong once can be seen
_PLACES = "\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007\ue008\ue009"  # what a label is made of until it is put in
_PLACE = re.compile(f"([{_PLACES}])\\1*+")

_UNSEEN = frozenset({"defs", "script", "style", "desc", "title"})
_SERIES = re.compile(r"\bserie-(\d+)")  # pygal's class of what belongs to one outcome


def bars(title: str, rows: Sequence[Row]) -> str:
    """An `<svg>`; "" for no rows."""
    labels = [_label(row) for row in rows[:BARS]]
    if not labels:
        return ""
    drawn = _drawing(title, tuple((len(label), _shares(row)) for label, row in zip(labels, rows, strict=False)))
    return _PLACE.sub(lambda place: html.escape(labels[_PLACES.index(place[1])], quote=False), drawn)


def _shares(row: Row) -> tuple[float, ...]:
    """Percentages, of which the largest one is what the others leave of 100."""
    exact = {outcome: 100 * row.rate(outcome) for outcome in OUTCOMES}
    shares: dict[str, float] = {outcome: max(_RARE, round(one)) if one else 0 for outcome, one in exact.items()}
    if row.total:
        shares[max(exact, key=exact.__getitem__)] += 100 - sum(shares.values())
    return tuple(shares.values())


@lru_cache(maxsize=16)
def _drawing(title: str, shown: tuple[_Bar, ...]) -> str:
    import_module("pygal.style")
    pygal: Any = import_module("pygal")  # it has no types, and takes its time to load
    chart = pygal.HorizontalStackedBar(
        width=_WIDTH,
        height=_EDGE + _BAR * len(shown),
        css=[],
        js=[],
        show_legend=False,
        show_x_labels=False,
        show_x_guides=False,
        print_values=True,
        print_zeroes=False,
        formatter=_printed,
        range=(0, 100),
        spacing=3,
        margin=2,
        title=None,
        truncate_label=-1,
        style=pygal.style.Style(label_font_size=15),  # room for labels; their size is the page's
    )
    # pygal draws from the bottom up. Of an outcome that no bar has, it would draw bars without a width.
    # It lays labels out by their length alone.
    chart.x_labels = [place * length for place, (length, _) in reversed(list(zip(_PLACES, shown, strict=False)))]
    outcomes = [(place, outcome) for place, outcome in enumerate(OUTCOMES) if any(shares[place] for _, shares in shown)]
    for place, outcome in outcomes:
        chart.add(outcome, [shares[place] for _, shares in reversed(shown)])
    return _clean(chart.render_tree(), title, [outcome for _, outcome in outcomes])


def _label(row: Row) -> str:
    name = visible(row.name)
    return f"{name if len(name) <= _LABEL else name[: _LABEL - 1] + '…'} ({row.total})"


def _printed(percent: float | None) -> str:
    return f"{percent:.0f}%" if percent is not None and percent >= _PRINTED else ""


def _clean(root: Any, title: str, outcomes: Sequence[str]) -> str:
    """The drawing without what is not drawn; the bars of each outcome are in groups of its class."""
    etree: Any = import_module("pygal.etree").etree
    for parent in list(root.iter()):
        for child in list(parent):
            if _is_left_out(child):
                parent.remove(child)
        if isinstance(parent.tag, str):
            for name in ("id", "style", "onload"):
                parent.attrib.pop(name, None)
        if found := _SERIES.search(parent.get("class") or ""):
            parent.set("class", outcomes[int(found[1])])
    root.set("role", "img")
    root.set("aria-label", title)
    text: str = etree.tostring(root, encoding="unicode")
    return text


def _is_left_out(element: Any) -> bool:
    """Whether nobody sees an element. `desc` are the texts of pygal's own tooltips."""
    tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if tag == "rect":
        return not float(element.get("width", 1))
    return not tag or tag in _UNSEEN or (tag == "text" and not element.text)
