"""The addon on the screens of mitmweb and of the console, driven as a person drives them.

Skipped where chromium, playwright or tmux is missing. The tests share one mitmweb and one browser; each has paths and
a page of its own. The documentation that explains what is seen there is held to the words that can be seen.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from mitmproxy.test import taddons

from support.loopback import CALL, LIMIT, PATH, REPO, Reply, Upstream, asked, post, streamed, upstream
from support.screens import (
    Web,
    browser,
    console,
    log_in,
    missing_for_browser,
    missing_for_console,
    mitmweb,
    open_response,
    row,
)
from toolcalls.events import Status
from toolcalls.insight.vocabulary.words import REASONS, REPAIRS, REPLY_STATUSES
from toolcalls.mitm.hooks import ToolCalls

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

LIFTED = f"Let me look.\n\n{CALL}"
FENCED = f"Like so:\n\n```\n{CALL}\n```\n"
# What a model may write to deceive who looks at it: scripts, terminal sequences of seven and of eight bits, text that
# runs backwards, and a name of two lines.
SCRIPT = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
EVIL = f"\x1b[31mred \x9b2J \u202edlrow {SCRIPT}"
HOSTILE = f"{EVIL}\n\n{CALL.replace('ls -la', f'{EVIL}\n{EVIL}')}\n" + CALL.replace("Bash", f"Ba\n{EVIL}")
HIDDEN = ("\x1b", "\x9b", "\u202e")

COLUMNS = ["tls", "icon", "path", "method", "status", "size", "time"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mitmproxy"
    made.mkdir()
    return made


@dataclass(frozen=True)
class Seen:
    """A mitmweb, the upstream after it, and a browser."""

    server: Upstream
    web: Web
    context: "BrowserContext"

    def page(self) -> "Page":
        """A new page with the list, which needs no password any more."""
        page = self.context.new_page()
        page.goto(self.web.page_url)
        page.wait_for_selector(".flow-table")
        return page


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    if missing := missing_for_browser():
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("mitmweb")
    with (
        upstream(Reply(streamed("hello"))) as server,
        mitmweb(folder, to=server.url) as web,
        browser(folder / "browser") as page,
    ):
        post(web.url, asked(), path="/first")  # there is no list before there is a flow
        log_in(page, web)
        yield Seen(server, web, page.context)


@pytest.fixture
def options() -> Iterator[tuple[ToolCalls, Any]]:
    """An addon, and options as mitmweb has them."""
    addon = ToolCalls()
    with taddons.context(addon) as made:
        made.options.add_option("web_columns", Sequence[str], COLUMNS, "")
        yield addon, made.options


def test_mitmweb_shows_comments_unless_its_user_chose_the_columns(options: tuple[ToolCalls, Any]) -> None:
    addon, chosen = options
    addon.running()
    addon.running()  # as after a reload
    assert chosen.web_columns == [*COLUMNS, "comment"]
    chosen.update(web_columns=["path", "size"])
    addon.running()
    assert chosen.web_columns == ["path", "size"]


def test_mitmweb(seen: Seen) -> None:
    for name, text in {"lifted": LIFTED, "fenced": FENCED, "hostile": HOSTILE}.items():
        seen.server.replies = [Reply(streamed(text))]
        post(seen.web.url, asked(), path=f"/{name}{PATH}")
    seen.server.replies = [Reply([b'{"other": 1}'], headers={"content-type": "application/json"})]
    post(seen.web.url, b"{}", path="/other")
    page = seen.page()

    assert "🔧" in row(page, f"/lifted{PATH}").inner_text()
    assert "⚠" in row(page, f"/fenced{PATH}").inner_text()
    comments = {
        name: row(page, f"/{name}").locator(".col-comment").text_content()
        for name in (f"lifted{PATH}", f"fenced{PATH}", f"hostile{PATH}", "other")
    }
    assert comments[f"lifted{PATH}"] == "lifted Bash (invoke), m"
    assert comments[f"fenced{PATH}"] == "1 possibly lost: fenced, m"
    assert comments["other"] == ""
    listed = str(comments[f"hostile{PATH}"])
    assert listed.startswith(r"lifted Bash (invoke), m · 1 declined: undeclared")
    assert not any(hidden in listed for hidden in HIDDEN)

    shown = open_response(page, f"/lifted{PATH}")
    shown.locator("h5", has_text="Tool calls").wait_for()
    for line in ("wrote this call as text (invoke)", "got a native call", '"command": "ls -la"'):
        shown.get_by_text(line).wait_for()

    shown = open_response(page, f"/fenced{PATH}")
    shown.get_by_text("rule: 'fenced: it is in a fenced code block'").wait_for()

    shown = open_response(page, f"/hostile{PATH}")
    shown.get_by_text(r"│ \x1b[31mred \x9b2J \u202edlrow <script>window.ran = ").first.wait_for()
    shown.get_by_text("↳ 1</script><img src=x onerror='window.ran = 1'>").first.wait_for()
    assert not any(hidden in shown.inner_text() for hidden in HIDDEN)
    assert page.evaluate("window.ran") is None

    shown = open_response(page, "/other")
    shown.get_by_text('"other": 1').wait_for()
    shown.locator("h5", has_text="JSON").wait_for()


def test_mitmweb_while_a_reply_streams(seen: Seen) -> None:
    """The list and an open view go along with a reply, and the other views are a choice away."""
    pieces = streamed(f"Let me look.\n\n{CALL.replace('ls -la', 'ls ' + 'x' * 400)}", 5)
    seen.server.replies = [Reply(pieces, gates={len(pieces) // 2: (go := threading.Event())})]
    page, path = seen.page(), f"/streaming{PATH}"
    client = threading.Thread(target=post, args=(seen.web.url, asked()), kwargs={"path": path})
    client.start()
    comment = row(page, path).locator(".col-comment")
    comment.get_by_text("… lifting Bash (invoke)").wait_for()
    shown = open_response(page, path)
    shown.get_by_text("the reply is still coming: … lifting Bash (invoke)").wait_for()
    go.set()
    client.join(LIMIT)
    comment.get_by_text("lifted Bash (invoke), m", exact=True).wait_for()
    shown.get_by_text("LIFTED  Bash:", exact=True).wait_for()

    for view, line in {
        "upstream body": "did not leave as they came",
        "client body": "did not come so from the upstream",
    }.items():
        page.locator(".btn", has_text="View:").click()
        page.locator("li a", has_text=view).last.click()
        shown.get_by_text(line).wait_for()
    page.locator(".btn", has_text="View:").click()
    page.locator("li a", has_text="auto").last.click()
    page.locator(".nav-tabs a", has_text="Request").click()
    page.locator("h5", has_text="Conversation").wait_for()
    page.get_by_text("1 USER  14 characters").wait_for()


def test_why_in_mitmweb_answers_for_the_flow_that_is_open(seen: Seen) -> None:
    """And the view leads to the flow's turn on the page."""
    for name, text in {"a-call": LIFTED, "quoted": FENCED}.items():
        seen.server.replies = [Reply(streamed(text))]
        post(seen.web.url, asked(), path=f"/{name}{PATH}")
    page = seen.page()
    page.locator("a", has_text="Options").first.click()
    page.locator("label", has_text="Display Command Bar").click()
    line = page.get_by_placeholder("Enter command")
    for name, said in {"quoted": "it is not quoted: no, fenced", "a-call": "all conditions are met"}.items():
        shown = open_response(page, f"/{name}{PATH}")
        shown.get_by_text("SUMMARY: ").wait_for()
        line.fill("toolcalls.why @focus")
        line.press("Enter")
        answer = page.locator("body").get_by_text(said).last
        answer.wait_for()
        assert f"POST /{name}{PATH} at " in answer.inner_text()
    address = shown.get_by_text("/toolcalls/turn?id=").inner_text().split()[-1]
    page.goto(address)
    page.wait_for_url("**/toolcalls/session?id=**#s-t*")
    turn = page.locator(f"#{page.url.rpartition('#')[2]}")
    turn.get_by_text(f"/a-call{PATH}").first.wait_for()


def test_console(folder: Path) -> None:
    if missing := missing_for_console():
        pytest.skip(missing)
    with upstream(Reply(streamed(HOSTILE))) as server, console(folder, to=server.url) as shown:
        post(shown.url, asked(), path=f"/hostile{PATH}")
        shown.wait_for("/hostile", "👀")
        post(shown.url, asked(), path=f"/again{PATH}")
        shown.wait_for("/again")
        shown.press("Down")
        shown.press("Up")
        screen = shown.wait_for("lifted Bash (invoke), m · 1 declined: undeclared")
        assert not any(hidden in screen for hidden in HIDDEN)
        shown.press("Enter")
        shown.wait_for("Flow Details")
        shown.press("Right")
        screen = shown.wait_for(
            "Tool calls",
            "wrote this call as text (invoke)",
            "got a native call",
            "undeclared: the request does not declare",
            r"\x1b[31mred \x9b2J \u202edlrow <script>",
        )
        assert not any(hidden in screen for hidden in HIDDEN)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Status", {*get_args(Status), *REPLY_STATUSES}),
        ("Reason", set(REASONS)),
        ("Repair", set(REPAIRS)),
    ],
    ids=["status", "reason", "repair"],
)
def test_every_word_is_documented(title: str, words: set[str]) -> None:
    page = (REPO / "docs" / "statuses.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `([\w ]+)` \|", section, re.MULTILINE)) == sorted(words)


def test_the_page_and_the_views_name_the_same_settings() -> None:
    """What would take a call all the same: the last column of the table of reasons, and the line `unless`."""
    text = (REPO / "docs" / "statuses.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| .* \|([^|]*)\|$", text, re.MULTILINE)
    told = {reason: set(re.findall(r"`([a-z_]+)", settings)) for reason, settings in rows if reason in REASONS}
    rules = {"access", "loop", "dropped"}  # what is named there is a rule or a function of the user's own
    assert {reason for reason, settings in told.items() if settings} - rules == {
        one.code for one in REASONS.values() if one.remedy.words
    }
    for reason, entry in REASONS.items():
        found = [bool(re.search(rf"\b{key}\b", entry.remedy.words)) for key in told.get(reason, ())]
        assert all(found) or reason in rules, reason
