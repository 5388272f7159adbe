"""How the views lay a reply out: as YAML that mitmproxy can colour to its end, in two columns where the console is
wide, and without the gaps that calls leave.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import mitmproxy_rs.syntax_highlight
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import contentviews, ctx, http
from mitmproxy.test import tflow, tutils

from support.addons import addon_with
from support.loopback import CALL, PATH, asked, streamed
from toolcalls.mitm.hooks import ToolCalls
from toolcalls.mitm.views import lines, sides

HARD = (
    "- a: b",
    "key: value # no",
    "'",
    "it's: so",
    '"',
    "\\x",
    "# no",
    " ",
    "\t",
    "…",
    "%",
    "{",
    "[",
    "| x",
    "a:",
    "é漢",
    "=",
)


@pytest.fixture
def addon() -> Iterator[ToolCalls]:
    with addon_with() as made:
        yield made


def _exchange(addon: ToolCalls, text: str, request: bytes | None = None) -> http.HTTPFlow:
    flow = tflow.tflow(req=tutils.treq(method=b"POST", path=PATH.encode()), resp=True)
    flow.request.content = request or asked()
    flow.response = http.Response.make(200, b"".join(streamed(text, 7)), {"content-type": "text/event-stream"})
    flow.live = True
    for hook in (addon.requestheaders, addon.request, addon.responseheaders, addon.response):
        hook(flow)
    return flow


def _shown(flow: http.HTTPFlow, view: str = "Tool calls") -> contentviews.ContentviewResult:
    message = flow.request if view == "Conversation" else flow.response
    assert message is not None
    return contentviews.prettify_message(message, flow, view)


def _names(shown: contentviews.ContentviewResult) -> list[str]:
    """What mitmproxy colours as a name."""
    chunks = mitmproxy_rs.syntax_highlight.highlight(shown.text, shown.syntax_highlight)
    return [text.strip() for tag, text in chunks if tag == "name"]


def _scalars(text: str) -> list[str]:
    return [event.value for event in yaml.parse(text) if isinstance(event, yaml.ScalarEvent)]


@given(
    st.lists(st.sampled_from(HARD), max_size=5).map("".join), st.lists(st.sampled_from(HARD), max_size=4).map("".join)
)
def test_a_field_is_yaml_whatever_it_says(one: str, other: str) -> None:
    made = "\n".join([lines.title("A: 'b"), *lines.field("rule", one, other), *lines.field("next", "x")])
    found = _scalars(made)
    assert found[:2] == ["A: 'b", "rule"]
    assert found[-2:] == ["next", "x"]
    assert "".join(found[2].split()) == "".join(lines.visible(one + other).split())


@given(st.lists(st.lists(st.sampled_from(HARD), max_size=3).map("".join), max_size=5))
def test_a_text_is_yaml_whatever_it_says(texts: list[str]) -> None:
    """Also one whose first line begins further to the right than the others."""
    made = "\n".join([lines.title("A"), *lines.literal("written", lines.shown("\n".join(texts))), "B: x"])
    found = _scalars(made)
    assert (found[1], found[-2:]) == ("written", ["B", "x"])
    assert found[2].split() == " ".join(texts).split()


@pytest.mark.parametrize(
    "text", [CALL, *(f"{hard}\n{CALL}\n  {hard}" for hard in HARD), "```\n" + CALL, CALL[:-24], "{ - : # '"]
)
def test_every_part_of_a_view_has_its_colour(addon: ToolCalls, text: str) -> None:
    """mitmproxy's highlighter gives up after what it cannot read, so what comes last says whether it did."""
    flow = _exchange(addon, text, asked(user=f"  so: it is\n{text}"))
    shown = _shown(flow)
    list(yaml.parse(shown.text.replace("\t", " ")))
    assert _names(shown)[0] == "SUMMARY"
    assert {"EXCHANGE", "does", "reply"} <= set(_names(shown))
    assert shown.text.splitlines()[-1].startswith("# events and bytes: ")
    asked_ = _shown(flow, "Conversation")
    list(yaml.parse(asked_.text.replace("\t", " ")))
    assert {"SUMMARY", "REQUEST", "does", "request"} <= set(_names(asked_))
    assert any(name.startswith("1 USER") for name in _names(asked_))


def test_events_are_coloured_as_json_and_their_signs_explained(addon: ToolCalls) -> None:
    shown = _shown(_exchange(addon, f'"quoted"\n{CALL}'), "Upstream body")
    assert shown.syntax_highlight == "javascript"
    chunks = mitmproxy_rs.syntax_highlight.highlight(shown.text, shown.syntax_highlight)
    assert sum(tag == "string" and text == '"finish_reason"' for tag, text in chunks) > 5
    head = shown.text.splitlines()[:2]
    assert head[0].endswith("did not leave as they came (*)")
    assert head[1] == '// [1]: the event brings text of the call that "Tool calls" names by this number'


def test_no_blank_lines_stand_where_calls_were(addon: ToolCalls) -> None:
    shown = _shown(
        _exchange(addon, f"One.\n\n{CALL}\n\n{CALL.replace('ls', 'wc')}\n\n\nTwo.\n\n\nThree.")
    ).text.splitlines()
    got = shown[shown.index("CLIENT GOT, finish tool_calls: |") + 1 :]
    assert [line.strip() for line in got[: got.index("EXCHANGE:")]] == [
        "One.",
        '→ Bash {"command":"ls -la"}',
        '→ Bash {"command":"wc -la"}',
        "",
        "Two.",
        "",
        "",
        "Three.",
        "",
    ]


@pytest.mark.parametrize(
    ("columns", "layout", "room"),
    [(160, "single", 152), (160, "vertical", 152), (160, "horizontal", 0), (80, "single", 0)],
)
def test_two_columns_stand_where_the_console_is_wide(
    addon: ToolCalls, monkeypatch: pytest.MonkeyPatch, columns: int, layout: str, room: int
) -> None:
    screen = SimpleNamespace(get_cols_rows=lambda: (columns, 50))
    monkeypatch.setattr(ctx.master, "ui", screen, raising=False)
    options: Any = ctx.options
    options.add_option("console_layout", str, "single", "")
    options.update(console_layout=layout)
    assert sides.room() == room
    shown = _shown(_exchange(addon, CALL)).text.splitlines()
    headings = [line for line in shown if "the model wrote" in line]
    if not room:
        assert not headings
        assert "  written:   |" in shown
        return
    assert headings[0].split() == ["the", "model", "wrote", "│", "the", "agent", "got"]
    (row,) = [line for line in shown if '<parameter name="command">' in line]
    left, right = row.split(" │ ")
    assert (left.strip(), right.strip()) == ('<parameter name="command">ls -la</parameter>', '"command": "ls -la"')
    assert max(map(len, shown)) <= columns
    assert "  written:   |" not in shown


@given(st.text("ab ", max_size=400), st.text("cd ", max_size=400), st.integers(100, 200))
def test_both_columns_hold_all_of_their_lines(wrote: str, got: str, width: int) -> None:
    made = list(sides.side_by_side([wrote], [got], width))
    assert max(map(len, made)) <= width
    for side, text in ((0, wrote), (1, got)):
        column = "".join(line.split(" │")[side].strip().replace("↳", "") for line in made[2:])
        assert "".join(column.split()) == "".join(text.split())
