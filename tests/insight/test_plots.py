"""The scorecard's plots, as the pages have them."""

import html
import re

import pytest

from support import manyflows
from toolcalls.insight import plots
from toolcalls.insight.page import style
from toolcalls.insight.scorecard import Row
from toolcalls.insight.vocabulary.words import OUTCOMES

ROWS = [Row("m", {"success": 3, "leak": 1}), Row("n", {"success": 1}), Row("o", {"blocked": 2})]


def _groups(drawn: str) -> dict[str, list[str]]:
    """The widths of the bars of each outcome."""
    found = re.findall(rf'<g class="({"|".join(OUTCOMES)})"><g class="bars">(.*?)</g></g></g>', drawn)
    return {outcome: re.findall(r'<rect[^>]* width="([\d.]+)"', bars) for outcome, bars in found}


def test_a_bar_has_the_class_of_its_outcome_and_its_share() -> None:
    groups = _groups(plots.bars("Outcomes by model", ROWS))
    assert {outcome: len(widths) for outcome, widths in groups.items()} == {"success": 2, "leak": 1, "blocked": 1}
    [success, all_of_it], [leak], [blocked] = (sorted(map(float, widths)) for widths in groups.values())
    assert success == pytest.approx(3 * leak)
    assert all_of_it == pytest.approx(blocked) == pytest.approx(success + leak)


def test_nothing_is_drawn_of_what_did_not_happen() -> None:
    drawn = plots.bars("Outcomes by model", ROWS)
    assert not re.search(r'<rect[^>]* width="0(\.0)?"|<text[^>]*(/>|></text>)', drawn)
    assert set(re.findall(r'<text [^>]*class="value">([^<]*)<', drawn)) == {"75%", "25%", "100%"}
    assert plots.bars("Outcomes by model", []) == ""


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_has_a_colour(outcome: str) -> None:
    assert f".pygal-chart .{outcome} rect {{ fill: var(--{outcome}); }}" in style()


def test_a_plot_is_plain_and_the_same_every_time() -> None:
    rows = [Row(f"model {manyflows.MARKUP} {number}", {"success": number + 1, "leak": 1}) for number in range(30)]
    drawn = plots.bars("by model", rows)
    assert drawn == plots.bars("by agent", rows).replace("by agent", "by model")
    assert not re.search(r"<(script|style|defs|img)|\s(id|style|on[a-z]+)=", drawn)
    assert drawn.count("<rect") < 80, "no more than the first rows"


def test_what_has_not_changed_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = plots.bars("Outcomes by tool", ROWS)
    monkeypatch.setattr(plots, "_clean", None)
    assert plots.bars("Outcomes by tool", [Row(row.name, dict(row.counts)) for row in ROWS]) == drawn
    with pytest.raises(TypeError):
        plots.bars("Outcomes by tool", ROWS[:1])


def test_one_call_of_many_changes_a_label_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = plots.bars("Outcomes by tool", [Row("m<n", {"success": 996, "leak": 4})])
    monkeypatch.setattr(plots, "_clean", None)
    after = plots.bars("Outcomes by tool", [Row("k&l", {"success": 997, "leak": 4})])
    assert after == drawn.replace("m&lt;n (1000)", "k&amp;l (1001)") != drawn


@pytest.mark.parametrize("name", ["m", "Model", "<&>", "\ue000\ue001\ue001", "模型 \u202e"])
def test_labels_stand_in_the_order_of_their_bars(name: str) -> None:
    rows = [Row(f"{name} {number}", {"success": 9 - number}) for number in range(3)]
    drawn = plots.bars("by model", rows)
    labels = re.findall(r'<text x="[-\d.]+" y="([\d.]+)"[^>]*>([^<]*\([0-9]\))</text>', drawn)
    shown = [text for _, text in sorted(labels, key=lambda label: float(label[0]))]
    assert shown == [html.escape(plots._label(row), quote=False) for row in rows]


def test_a_long_label_has_room() -> None:
    begins = [float(re.findall(r'<g transform="translate\(([\d.]+)', plots.bars("t", [Row(name, {"leak": 1})]))[0])
              for name in ("m", "a model")]  # fmt: skip
    assert begins[0] < begins[1]


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        ({"success": 999, "leak": 1}, {"success": 99.5, "leak": 0.5}),
        ({"success": 1, "repair": 1, "leak": 1}, {"success": 34, "repair": 33, "leak": 33}),
        ({"success": 664, "repair": 336}, {"success": 66, "repair": 34}),
        ({"blocked": 7}, {"blocked": 100}),
        ({}, {}),
    ],
)
def test_shares_are_whole_percents_of_which_a_rare_one_can_be_seen(
    counts: dict[str, int], shares: dict[str, float]
) -> None:
    made = dict(zip(OUTCOMES, plots._shares(Row("m", counts)), strict=True))
    assert made == {**dict.fromkeys(OUTCOMES, 0), **shares}
