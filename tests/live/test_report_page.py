"""The report file and mitmweb's page in a real browser: what is shown, hostile text, keyboard, dark, narrow, live."""

import re
import threading
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tornado.web
from mitmproxy.test import taddons
from mitmproxy.tools.web.webaddons import WebAddon

from support import manyflows
from support.loopback import LIMIT, Reply, asked, post, streamed, upstream
from support.repository import REPO
from support.screens import PASSWORD, browser, log_in, missing_for_browser, mitmweb
from toolcalls import cli
from toolcalls.flows.flow_records import record_of
from toolcalls.insight.exchange_rows import kinds_of
from toolcalls.insight.model_totals import Durations
from toolcalls.insight.page import live_overview, report_page, style
from toolcalls.insight.sessions import Sessions
from toolcalls.insight.turn import turn_of
from toolcalls.insight.vocabulary.words import OUTCOMES
from toolcalls.mitm.page.addon import PageAddon
from toolcalls.route import Price

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

needs_browser = pytest.mark.skipif(missing_for_browser() is not None, reason=missing_for_browser() or "")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flows = [*manyflows.session(), *manyflows.others()]
    return manyflows.write(tmp_path_factory.mktemp("flows") / "many.flow", flows)


@pytest.fixture(scope="module")
def report(recording: Path) -> Path:
    out = recording.with_suffix(".html")
    assert cli.main(["report", str(recording), "-o", str(out)]) == 0
    return out


# --- without a browser ------------------------------------------------------------------------------------------------


def _cells(html: str, table: str) -> list[dict[str, str]]:
    """The rows of a table by the names of their cells, without markup."""
    _, _, found = html.partition(f'aria-label="{table}"')
    rows = found.partition("</table>")[0].split("<tr>")[2:]
    cells = [re.findall(r'<td data-name="([^"]*)">(.*?)</td>', row) for row in rows]
    return [{name: re.sub(r"<br>|<[^>]*>", "", cell) for name, cell in row} for row in cells]


def test_leaks_say_who_since_when_and_where_last() -> None:
    """What an operator asks of a day: which model leaks most, in which dialect, since when, and to see one of them."""
    leaks = [("glm", "I do.", 10.0), ("glm", "I do.", 4000.0), ("glm", "Yes:", 90.0), ("qwen", "I do.", 50.0)]
    call = manyflows.written("Bash", command="ls")
    flows = [
        manyflows.flow_of(
            f"leak {number}", [manyflows.user(f"go {number}")], streamed(f"{text} {call}"), at=at, model=model
        )
        for number, (model, text, at) in enumerate(leaks)
    ]
    sessions = Sessions()
    for flow in [*flows, *manyflows.session()[:3]]:
        sessions.put(turn_of(record_of(flow)))
    html = report_page(sessions, "a.flow")
    rows = _cells(html, "What needs a look")
    assert [(row["what"], row["why"].partition("(")[0], row["times"], row["model"]) for row in rows] == [
        ("leakBash", "inline ", "3 in 3 sessions", "glm"),
        ("leakBash", "inline ", "1 in 1 session", "qwen"),
        ("possibly lostread_file", "fenced ", "1 in 1 session", "qwen3-coder"),
    ], "what was seen last is first"
    assert "other text is before it on its line→ it is accepted if the route has take: [inline]" in rows[0]["why"]
    began = datetime.fromtimestamp(manyflows.BEGAN, UTC)
    assert rows[0]["since"] == f"{began + timedelta(seconds=10):%Y-%m-%d %H:%M} UTC"
    assert rows[0]["last seen"].startswith(f"{began + timedelta(seconds=4000):%Y-%m-%d %H:%M} UTC")
    place = re.search(r'data-name="last seen"><span><a href="#(s\d+-t\d+)"', html)
    assert place
    session = html.partition(f'id="{place[1]}"')[2].partition("</li>")[0]
    assert "at 0 s · glm" in session, "the latest one is a session of its own, which the link leads to"
    live = live_overview(sessions)
    assert [block.key for block in live] == [
        *("totals", "attention", "sessions", "exchanges", "card", "damage", "tokens")
    ]  # fmt: skip
    found = re.search(
        r'href="/toolcalls/session\?id=~[0-9a-f]+&amp;page=1#s-t1".*?href="/#/flows/([^/]*)/response"', live[1].html
    )
    assert found
    assert found[1] == flows[1].id, "its flow is one click away, too"


def test_what_needs_a_look_is_grouped_and_what_is_right_is_not_there() -> None:
    """Requests that failed, replies that broke off, are empty or end in a quotation.

    No rule that blocks, no quotation that words follow, nothing mended.
    """
    failed = manyflows.flow_of("failed", [manyflows.user("a")], [], at=1)
    assert failed.response is not None
    failed.response.status_code = 529
    failed.response.raw_content = b'{"error": "overloaded"}'
    record = replace(record_of(failed), report={"wire": "openai_chat"})
    empty = record_of(manyflows.flow_of("empty", [manyflows.user("b")], streamed(""), at=2))
    call = manyflows.written("Bash", command="ls")
    example = manyflows.flow_of("example", [manyflows.user("c")], streamed(f"```\n{call}\n```\nSo it is done."), at=3)
    first, second, quoted, _, cut = manyflows.session()
    sessions = Sessions()
    for one in [record, empty, *map(record_of, [example, first, second, quoted, cut])]:
        sessions.put(turn_of(one))
    groups = sessions.attention.groups()
    assert [(one.kind, one.cause, one.count) for one in groups] == [
        ("truncated", "cut_off", 1), ("possibly lost", "fenced", 1), ("empty reply", "empty", 1),
        ("failed request", "HTTP 529", 1),
    ]  # fmt: skip
    assert "overloaded" in report_page(sessions, "a.flow").partition("HTTP 529")[2].partition("</tr>")[0]
    for id_ in [one.id for one in (record, empty, quoted, cut)]:
        sessions.discard(id_)
    assert sessions.attention.groups() == []
    assert "Nothing: no call was lost" in live_overview(sessions)[1].html


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Fix the tests. Then push.", "Fix the tests."),
        ("<system-reminder>\nBe kind.\n</system-reminder>\n<env>x</env>\n# Fix it\nnow", "Fix it"),
        ("<task>\nMake it run!\n</task>\n<environment_details>\nx\n</environment_details>", "Make it run!"),
        ("see a.py for v1.2 of it", "see a.py for v1.2 of it"),
        ("x" * 400, "x" * 110 + "…"),
        ("<a>" * 3000, ("<a>" * 40)[:110] + "…"),
    ],
)
def test_a_session_is_named_by_the_users_first_sentence(said: str, title: str) -> None:
    sessions = Sessions()
    messages = [manyflows.system("You are."), manyflows.user(said)]
    asked_first = manyflows.flow_of("title", [manyflows.user("Write a title.")], streamed("A"), headers=_ONE, tools=[])
    sessions.put(turn_of(record_of(asked_first)))
    sessions.put(turn_of(record_of(manyflows.flow_of("x", messages, streamed("hello"), headers=_ONE, at=1))))
    assert sessions.all()[0].title == title


_ONE = {"x-session-id": "one"}


def test_percentiles_are_known_to_a_few_percent() -> None:
    times = Durations()
    assert times.percentile(50) is None
    for number in range(1, 1001):
        times.add(number / 100)
    for percent, value in ((50, 5.0), (90, 9.0), (99, 9.9)):
        assert times.percentile(percent) == pytest.approx(value, rel=0.03)
    for number in range(501, 1001):
        times.add(number / 100, -1)
    assert times.percentile(50) == pytest.approx(2.5, rel=0.03)
    times.add(0.0)
    assert times.percentile(0) == pytest.approx(1e-6, rel=0.03)


def test_nothing_leaked_and_nothing_counted_are_not_told() -> None:
    sessions = Sessions()
    sessions.put(turn_of(record_of(manyflows.flow_of("x", [manyflows.user("hi")], streamed("hello")))))
    html = report_page(sessions, "a.flow")
    headings = re.findall("<h2>([^<]*)", html.partition('<section class="session"')[0])
    assert headings == ["What needs a look", "Sessions", "Exchanges", "Latency"]


def test_what_models_cost_is_added_up() -> None:
    """By the prices of the configuration, and it is said of how many exchanges nothing is known."""
    prices = (Price("qwen*", input=1000.0, output=2000.0, cached=500.0, currency="EUR"),)
    sessions = Sessions()
    for flow in manyflows.session():
        sessions.put(turn_of(record_of(flow)))
    html = report_page(sessions, "a.flow", prices)
    rows = {row["model"]: row for row in _cells(html, "Tokens")}
    assert list(rows) == ["qwen3-coder", "gpt-oss-120b", "all"]
    qwen = (812 + 980 - 256) / 1000 + 256 * 0.5 / 1000 + (41 + 60) * 2 / 1000
    assert [rows["qwen3-coder"][name] for name in ("exchanges", "input", "cached", "output", "cost")] == [
        "4", "1,792", "256", "101", f"{qwen:.4g} EUR",
    ]  # fmt: skip
    assert rows["gpt-oss-120b"]["cost"] == "no price"
    assert (rows["all"]["exchanges"], rows["all"]["input"]) == ("5", "2,695")
    assert "2 exchanges not counted by the server; no price for 1 exchange, which is not in the cost." in html
    assert [row["cost"] for row in _cells(html, "Sessions")] == [f"{qwen:.4g} EUR"]
    assert "cost" not in _cells(report_page(sessions, "a.flow"), "Sessions")[0]


def test_the_file_is_whole_in_itself(report: Path) -> None:
    text = report.read_text("utf-8")
    assert "default-src 'none'; style-src 'sha256-" in text
    before, script, after = text.partition("<script>")
    assert (
        f"script-src 'sha256-{b64encode(sha256(after.partition('</script>')[0].encode()).digest()).decode()}'" in text
    )
    assert not re.search(r"<(script|link|img|iframe|object|embed|form|base)\b", before + after)
    assert script
    assert not re.search(r"\s(src|on[a-z]+|style|action|srcset)=\"", text)
    assert set(re.findall(r'href="([^"]*)"', text)) == {"#top", *(f"#s{n}" for n in (1, 2, 3, 4))} | {
        f"#s{session}-t{turn}" for session, turn in ((4, 1), (4, 2), (4, 3), (4, 4), (4, 5), (2, 1), (2, 2))
    }
    assert "CANARY" not in text
    assert oct(report.stat().st_mode)[-3:] == "600"


def test_a_cost_stands_in_the_report_where_the_configuration_has_prices(recording: Path, tmp_path: Path) -> None:
    config = tmp_path / "rules.yaml"
    config.write_text("prices: [{model: 'qwen*', input: 100, output: 1000}]\n")
    out = tmp_path / "out.html"
    for arguments, costs in (([], 0), (["--config", str(config)], 3)):
        assert cli.main(["report", str(recording), "-o", str(out), *arguments]) == 0
        assert len(re.findall(r"cost: [0-9.]+", out.read_text("utf-8"))) == costs, "two turns, and their session"


def test_no_flows_are_no_error() -> None:
    assert "Nothing yet in empty.flow" in report_page(Sessions(), "empty.flow")


def test_a_journal_is_read(tmp_path: Path) -> None:
    line = (
        '{"time": "2026-01-02T03:04:05.000+00:00", "flow": "f1", "host": "h", "path": "/p", "wire": "openai_chat",'
        ' "route": "default", "kind": "lift", "policy": "standard", "model": "m<b>", "status": "%s", "reason": %s,'
        ' "dialect": "invoke", "name": "Bash", "start": 0, "end": 9, "repairs": %s, "lane": 0, "index": 0,'
        ' "id": null, "defects": null, "nearest": null}\n'
    )
    journal = tmp_path / "log.jsonl"
    journal.write_text(line % ("lifted", "null", "[]") + line % ("failed", '"KeyError(1)"', "null"))
    out = tmp_path / "out.html"
    assert cli.main(["report", str(journal), "-o", str(out)]) == 0
    text = out.read_text("utf-8")
    assert "A fault of the addon: KeyError(1)" in text
    assert "m&lt;b&gt;" in text


def test_a_wrong_journal_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "log.jsonl"
    journal.write_text('{"flow": "f1"}\n')
    assert cli.main(["report", str(journal), "-o", str(tmp_path / "out.html")]) == 2
    assert capfd.readouterr().err == f"toolcalls report: {journal}:1: this is no line of a journal (toolcalls_log)\n"


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Page"]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def _watched(page: "Page") -> tuple[list[str], list[str]]:
    """What the page asks for, and what goes wrong in it, from here on."""
    asked_for: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked_for.append(request.url))
    page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    return asked_for, wrong


def _no_wider_than_the_window(page: "Page") -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def _drawn(turn: "Locator") -> "Locator":
    """The same turn, once it is drawn: what is far from the window, or came this moment, has no text yet.

    The page says `content-visibility: auto` (https://www.w3.org/TR/css-contain-2/#content-visibility), and so a turn's
    `innerText` is empty until a frame has shown that it is near the window.
    """
    turn.scroll_into_view_if_needed()
    turn.page.wait_for_function("turn => turn.innerText", arg=turn.element_handle())
    return turn


def test_numbers_in_bars_can_be_read_in_both_schemes() -> None:
    """The browser's check of contrasts sees no drawing: https://www.w3.org/TR/WCAG22/#contrast-minimum"""

    def light(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        r, g, b = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    schemes = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", scheme))
        colors = {name: color if len(color) == 7 else f"#{color[1:2] * 6}" for name, color in colors.items()}
        for outcome in OUTCOMES:
            on = colors["on-leak" if outcome in {"leak", "possible"} else "on"]
            dark, bright = sorted((light(on), light(colors[outcome])))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, outcome


@needs_browser
def test_the_list_and_a_session_by_keyboard_alone(page: "Page", report: Path) -> None:
    asked_for, wrong = _watched(page)
    page.goto(report.as_uri())
    page.locator("#exchanges tbody tr").first.wait_for()
    assert page.locator(".overview h2").all_inner_texts() == [
        *("What needs a look", "Sessions", "Exchanges", "How calls went", "How replies came", "Tokens", "Latency")
    ]
    assert page.locator(".session").filter(visible=True).count() == 0
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Make hello.py greet people by name.":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**#s4")
    session = page.locator(".session").filter(visible=True)
    assert session.count() == 1
    assert page.locator(".overview").is_hidden()
    assert "5 turns in 34 s · tokens: 2,695 in (384 cached), 139 out" in session.inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "← all sessions"
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.turns summary')"):
            break
    page.keyboard.press("Enter")
    assert session.locator(".turns details").first.evaluate("one => one.open")
    page.go_back()
    assert page.locator(".overview").is_visible()
    assert [url for url in asked_for if not url.startswith("file:")] == []
    assert wrong == []


@needs_browser
def test_no_window_is_too_narrow(page: "Page", report: Path) -> None:
    try:
        for width in (360, 500, 740, 800, 1000, 1080, 1100, 1200, 1400):
            page.set_viewport_size({"width": width, "height": 800})
            for place in ("", "#s4"):
                page.goto("about:blank")
                page.goto(report.as_uri() + place)
                if not place:
                    page.locator("#exchanges tbody tr").first.wait_for()
                assert _no_wider_than_the_window(page), (width, place)
    finally:
        page.set_viewport_size({"width": 1200, "height": 750})


@needs_browser
def test_three_thousand_exchanges_are_all_listed_and_found(page: "Page", tmp_path: Path) -> None:
    """In pages of a hundred; sessions that the page has no room for are unpacked when they are asked for."""
    turns = [turn_of(record_of(flow)) for flow in (*manyflows.session(), *manyflows.others())]
    sessions = Sessions(1 << 40)
    for number in range(3000):
        turn = turns[number % len(turns)]
        began = turn.started + 100 * number
        model = f"rare-{number}" if number % 1000 == 7 else turn.model
        sessions.put(replace(turn, id=f"f{number}", session=f"session {number // 10}", started=began, model=model))
    file = tmp_path / "many.html"
    file.write_text(report_page(sessions, "a.flow"), "utf-8")
    assert file.stat().st_size < 5_000_000
    asked_for, wrong = _watched(page)
    page.goto(file.as_uri())
    shown = page.locator("#exchanges")
    rows, count = shown.locator("tbody tr"), shown.get_by_role("status")
    shown.get_by_text("page 1 of 30").wait_for()
    assert (rows.count(), count.inner_text()) == (100, "3000 of 3000 exchanges")
    page.get_by_label("Search").fill("RARE lifted")
    shown.get_by_text("page 1 of 1", exact=False).wait_for()
    kinds = ["lifted" in kinds_of(turn) for turn in turns]
    expected = sum(number % 1000 == 7 and kinds[number % len(turns)] for number in range(3000))
    assert count.inner_text() == f"{expected} of 3000 exchanges"
    page.get_by_label("Search").fill("")
    page.get_by_label("model", exact=True).select_option("rare-7")
    assert count.inner_text() == "1 of 3000 exchanges"
    rows.locator("a").click()  # of the first session in time, which is packed
    session = page.locator(".session").filter(visible=True)
    session.get_by_text("session session 0", exact=False).wait_for()
    assert session.locator(".turns > li").count() == 10
    assert "rare-7" in _drawn(session.locator(".turns > li:target")).inner_text()
    session.get_by_text("← all sessions").click()
    assert count.is_visible()
    assert [url for url in asked_for if not url.startswith(("file:", "blob:"))] == []
    assert wrong == []


@needs_browser
def test_a_turn_tells_its_times_its_calls_and_what_the_request_changed(page: "Page", report: Path) -> None:
    page.goto("about:blank")
    page.goto(report.as_uri() + "#s4")
    turns = page.locator(".session:visible .turns > li")
    turns.nth(4).wait_for()
    assert turns.count() == 5
    first = _drawn(turns.nth(0)).inner_text()
    assert "first byte 0.60 s · first argument byte 1.10 s · call complete 1.35 s · end 1.55 s" in first
    assert "tokens: 812 in (128 cached), 41 out" in first
    assert "the model wrote this call as text (invoke); the client got a native call" in first
    assert re.search(r"→ read_file copy arguments\s+path\s+hello.py", first), "what went out is seen at once"
    assert "at 4.00 s, after 2.45 s of the agent and its tools" in _drawn(turns.nth(1)).inner_text()
    fourth = _drawn(turns.nth(3)).inner_text()
    assert "leak" in fourth
    assert "inline: other text is before it on its line" in fourth
    assert (
        "2 added, 1 changed, system prompt changed, 1 tool differs, 5 as before · earlier messages changed, too"
        in fourth
    )
    fifth = _drawn(turns.nth(4)).inner_text()
    assert "peer closed connection" in fifth
    assert "call complete" not in fifth
    turns.nth(3).locator("summary", has_text="Request").click()
    assert "Tools added: web_search" in _drawn(turns.nth(3)).inner_text()
    assert turns.nth(3).locator("ins").all_inner_texts() == ["careful ", " Run nothing as root."]


@needs_browser
def test_a_turn_shows_what_the_model_wrote_beside_what_the_agent_got(page: "Page", report: Path) -> None:
    page.goto("about:blank")
    page.goto(report.as_uri() + "#s4")
    turns = page.locator(".session:visible .turns > li")
    first, second, third, fourth, fifth = (turns.nth(number) for number in range(5))
    wrote, got = _drawn(first).locator(".side").all()
    assert wrote.locator("mark.lifted").inner_text().startswith('<invoke name="read_file">')
    assert "Let me look first." in wrote.inner_text()
    assert "<invoke" not in got.inner_text()
    assert "Let me look first." in got.inner_text()
    assert got.locator("dl.arguments").inner_text() == "path\nhello.py"
    assert _drawn(second).locator("dl.arguments pre").inner_text() == 'name = input()\nprint(f"Hello, {name}!")\n', (
        "as lines"
    )
    assert (
        _drawn(third).locator("mark.declined").get_attribute("title")
        == "declined: fenced: it is in a fenced code block"
    )
    assert third.locator(".side").count() == 1, "the agent got what the model wrote"
    assert _drawn(fourth).locator("mark.leak").inner_text().startswith('<invoke name="Bash">')
    assert "Bash: the agent got the beginning of a native call, which is never completed" in _drawn(fifth).inner_text()

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, text in (
        (second.get_by_text("copy arguments"), '{"path":"hello.py","content":"name = input()\\nprint('),
        (first.get_by_text("copy text"), 'Let me look first.\n\n<invoke name="read_file">\n<parameter'),
    ):
        button.click()
        page.locator("button.copy", has_text="copied").first.wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith(text)


@needs_browser
def test_exchanges_are_filtered_sorted_and_found_by_keys_and_the_address_says_so(page: "Page", report: Path) -> None:
    page.goto("about:blank")
    page.goto(report.as_uri())
    rows, count = page.locator("#exchanges tbody tr"), page.locator("#exchanges").get_by_role("status")
    rows.first.wait_for()
    page.locator(".chip", has_text="leak").click()
    assert page.evaluate("location.hash") == "#?status=leak"
    assert "leak" in rows.first.inner_text()
    leaks = rows.count()
    page.locator(".chip", has_text="lifted").click()
    assert rows.count() > leaks, "either of them"
    page.keyboard.press("/")
    page.keyboard.type("READ_FILE invoke")
    page.keyboard.press("Escape")
    page.locator("th button", has_text="took").click()
    page.locator("th[aria-sort=descending]").wait_for()
    address, seen, said = page.evaluate("location.href"), rows.all_inner_texts(), count.inner_text()
    assert 0 < len(seen) < 9
    page.goto("about:blank")
    page.goto(address)
    rows.first.wait_for()
    assert (rows.all_inner_texts(), count.inner_text()) == (seen, said), "the address holds all of it"
    assert page.get_by_label("Search").input_value() == "READ_FILE invoke"

    page.keyboard.press("?")
    assert "search the exchanges" in page.get_by_role("dialog").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('table').ariaLabel") == "What needs a look"
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.locator(".session:visible .turns > li:target").wait_for()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('.turns > li')")
    page.keyboard.press("u")
    rows.first.wait_for()


_DRAWN_TWICE = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@needs_browser
@pytest.mark.parametrize("place", ["", "#s2", "#s4"])
def test_hostile_text_is_text(page: "Page", report: Path, place: str) -> None:
    _, wrong = _watched(page)
    page.goto("about:blank")
    page.goto(report.as_uri() + place)
    for summary in page.locator("summary:visible").all():
        summary.click()
    page.evaluate(_DRAWN_TWICE)  # so that what a script or an image would have done is done
    assert wrong == []
    assert page.locator("main img, main script").count() == 0
    if place == "#s2":
        shown = page.locator(".session:visible").inner_text()
        assert manyflows.MARKUP in shown
        assert "\\x1b[2J\\u202e" in shown


_AXE = REPO / "tests" / "npm" / "node_modules" / "axe-core" / "axe.min.js"


@needs_browser
@pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is not installed: make npm")
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: "Page", report: Path, scheme: Any, width: int) -> None:
    """Names, roles, order, contrasts, keyboard: https://github.com/dequelabs/axe-core"""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    try:
        for place in ("", "#s2", "#s4"):
            page.goto("about:blank")
            page.goto(report.as_uri() + place)
            for summary in page.locator("summary:visible").all():
                summary.click()
            if not place:
                page.locator("#exchanges tbody tr").first.wait_for()
            session = page.context.new_cdp_session(page)  # its own world: the page's policy lets in no other script
            tree = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
            world = session.send("Page.createIsolatedWorld", {"frameId": tree})["executionContextId"]
            asks = "axe.run().then((one) => one.violations.map((found) => `${found.id}: ${found.nodes[0].html}`))"
            for code in (_AXE.read_text("utf-8"), asks):
                found = session.send(
                    "Runtime.evaluate",
                    {"expression": code, "contextId": world, "awaitPromise": True, "returnByValue": True},
                )
            assert found["result"]["value"] == []
    finally:
        page.set_viewport_size({"width": 1200, "height": 750})
        page.emulate_media(color_scheme=None)


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", "#s2", "#s4"])
def test_it_fits_400_pixels_in_both_schemes(page: "Page", report: Path, place: str, scheme: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme=scheme)
    try:
        page.goto("about:blank")
        page.goto(report.as_uri() + place)
        for summary in page.locator("summary:visible").all():
            summary.click()
        assert _no_wider_than_the_window(page)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert (sum(_numbers(ground)) > sum(_numbers(ink))) == (scheme == "light")
        unreadable = page.evaluate(_CONTRAST)
        assert unreadable == [], "a contrast below 4.5 : 1 (WCAG 2.2, 1.4.3)"
    finally:
        page.set_viewport_size({"width": 1200, "height": 750})
        page.emulate_media(color_scheme=None)


def _numbers(color: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", color)[:3]]


# The texts whose contrast with what lies after them is too small: https://www.w3.org/TR/WCAG22/#contrast-minimum
_CONTRAST = r"""
() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  const kinds = "h1, h2, h3, p, small, a, summary, pre, .badge, td, th, figcaption, .story, del, ins, .key span";
  for (const one of document.querySelectorAll(kinds)) {
    if (!one.checkVisibility() || !one.textContent.trim()) continue;
    const pair = [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => b - a);
    if ((pair[0] + 0.05) / (pair[1] + 0.05) < 4.5) found.push(one.className + " " + one.textContent.slice(0, 30));
  }
  return found;
}
"""


# --- mitmweb ----------------------------------------------------------------------------------------------------------


@needs_browser
def test_the_page_in_mitmweb(page: "Page", recording: Path, tmp_path: Path) -> None:
    page = page.context.new_page()
    hostile = streamed(f"{manyflows.MARKUP}\n\n{manyflows.written('Bash', command=manyflows.MARKUP)}")
    with (
        upstream(Reply(hostile)) as server,
        mitmweb(tmp_path, "-r", str(recording), to=server.url) as web,
    ):
        line = web.dump.wait_for("sessions and scorecard at")
        assert line.endswith(f"{web.page_url}toolcalls")
        assert PASSWORD not in line
        _asks_for_the_login(web.page_url)
        page.goto(f"{web.page_url}toolcalls")
        assert page.inner_text("body") == "Log in at mitmweb first."
        log_in(page, web)
        asked_for, wrong = _watched(page)
        answer = page.goto(f"{web.page_url}toolcalls")
        assert answer is not None
        assert "default-src 'none'; script-src 'self'" in answer.headers["content-security-policy"]
        page.locator("main", has_text="9 exchanges in 4 sessions, 8 calls").wait_for()
        page.locator("td", has_text="Make hello.py greet people by name.").first.wait_for()

        exchanges = page.locator("#exchanges tbody tr")
        exchanges.nth(8).wait_for()
        assert exchanges.count() == 9

        # live: a reply that comes now is shown, and what was opened stays open
        page.locator("summary").first.focus()
        summary = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Enter")
        post(web.url, asked(), {"x-session-id": f"new {manyflows.MARKUP}", "user-agent": "opencode/1"})
        page.locator('a[title^="new <script>"]').wait_for()
        page.locator("main", has_text="10 exchanges in 5 sessions, 9 calls").wait_for()
        assert page.locator("details").first.evaluate("one => one.open")
        assert page.evaluate("document.activeElement.textContent") == summary
        exchanges.nth(9).wait_for()

        page.locator('a[title^="new <script>"]').click()
        page.locator(".turns").wait_for()
        assert f"session new {manyflows.MARKUP}" in page.inner_text("#content")
        post(web.url, asked(user="again"), {"x-session-id": f"new {manyflows.MARKUP}", "user-agent": "opencode/1"})
        page.locator("h3", has_text="Turn 2").wait_for()

        # a turn is there while its reply is coming, and what was opened stays open
        page.locator(".turns > li").nth(1).locator("summary").first.click()
        long = manyflows.written("Bash", command=f"echo {'x' * 300}")
        pieces = streamed(f"Let me look.\n\n{long}", 5)
        server.replies = [Reply(pieces, gates={len(pieces) // 2: (go := threading.Event())})]
        head = {"x-session-id": f"new {manyflows.MARKUP}", "user-agent": "opencode/1"}
        client = threading.Thread(target=post, args=(web.url, asked(user="once more"), head))
        client.start()
        third = page.locator(".turns > li").nth(2)
        third.locator(".badge.streaming").wait_for()
        third.get_by_text("… lifting Bash (invoke)").wait_for()
        third.get_by_text("first argument byte").wait_for()
        go.set()
        client.join(LIMIT)
        third.locator("h3 .badge.lifted").wait_for()
        assert third.locator(".badge.streaming").count() == 0
        assert page.locator(".turns > li").nth(1).locator("details").first.evaluate("one => one.open")

        third.locator(".facts a", has_text="why").click()
        page.locator(".why .candidate", has_text="Bash (invoke)").wait_for()
        assert "7 it is complete\tmet" in page.locator(".why").inner_text()
        page.go_back()
        third.locator("h3 .badge.lifted").wait_for()
        page.set_viewport_size({"width": 400, "height": 800})
        assert _no_wider_than_the_window(page)
        page.locator(".facts a").first.click()
        page.wait_for_url("**/#/flows/*/response*")
        page.locator(".flow-table").wait_for()
        assert [url for url in asked_for if not url.startswith((web.page_url, "data:"))] == []
        assert [one for one in wrong if "favicon" not in one and "404" not in one] == []

        # what mitmweb forgets is forgotten here
        page.goto(f"{web.page_url}toolcalls")
        page.evaluate(_CLEAR)
        page.locator("p", has_text="Nothing yet").wait_for()


_CLEAR = """
fetch("/clear", {method: "POST", headers: {"X-XSRFToken": document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? ""}})
"""


def _asks_for_the_login(url: str) -> None:
    for path in ("toolcalls", "toolcalls/", "toolcalls/session?id=ses_7f3a", "toolcalls?since=0", "toolcalls/page.css",
                 "toolcalls/live.js", "toolcalls/page.js", "toolcalls/exchanges", "toolcalls/why?id=x"):  # fmt: skip
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url + path, timeout=LIMIT)
        assert refused.value.code == 403
        with refused.value as answer:
            body = answer.read().decode()
        assert "ses_7f3a" not in body
        assert "Log in at" in body


def test_a_reload_takes_the_old_page_away() -> None:
    """mitmproxy's hot reload: `done` of the old addon, then `running` of the new one."""
    with taddons.context(WebAddon()) as context:
        app = context.master.app = tornado.web.Application()
        before = list(app.default_router.rules)
        for _ in range(2):
            page = PageAddon()
            page.running()
            page.running()
            assert len(app.default_router.rules) == len(before) + 1
            page.done()
            assert app.default_router.rules == before
