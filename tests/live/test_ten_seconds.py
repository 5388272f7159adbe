"""From "my agent printed `<invoke …>` and stopped" to the reason and the remedy in ten seconds, in every front end.

The steps are those of docs/why-not-run.md. The clock runs from the moment at which
the agent has its reply. What a person needs for reading is not in it, what mitmproxy needs for showing is.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.loopback import CALL, PATH, REPO, Reply, asked, mitmdump, post, streamed, upstream
from support.screens import (
    browser,
    console,
    log_in,
    missing_for_browser,
    missing_for_console,
    mitmweb,
    open_response,
)

LEAK = f"I will list them. {CALL}"
SENTENCE = "inline: other text is before it on its line"
REMEDY = "the route has take: [inline]"
SECONDS = 10.0
SECTION = (REPO / "docs" / "why-not-run.md").read_text("utf-8")


@contextmanager
def _in_time(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    print(f"{what}: {took:.2f} s")
    assert took < SECONDS


def _asks(url: str) -> None:
    """An agent asks, and prints what it gets."""
    assert CALL.split(">")[0] in post(url, asked()).body.decode().replace("\\", "")


def test_in_mitmdump_the_log_says_it(tmp_path: Path) -> None:
    with upstream(Reply(streamed(LEAK, 400))) as server, mitmdump(tmp_path, to=server.url) as dump:
        _asks(dump.url)
        with _in_time("mitmdump"):
            line = dump.wait_for("1 declined: inline")
        assert SENTENCE in line
        assert f"it is accepted if {REMEDY}" in line


def test_in_the_console_two_keys_show_it(tmp_path: Path) -> None:
    if missing := missing_for_console():
        pytest.skip(missing)
    assert "`Enter`" in SECTION
    assert "`→`" in SECTION
    with upstream(Reply(streamed(LEAK, 400))) as server, console(tmp_path, to=server.url) as shown:
        _asks(shown.url)
        with _in_time("console"):
            shown.wait_for(PATH, "👀")
            shown.press("Enter")
            shown.wait_for("Flow Details")
            shown.press("Right")
            shown.wait_for("Tool calls", f"rule:      '{SENTENCE}'", f"unless:    '{REMEDY}'")


def test_in_mitmweb_two_clicks_show_it_and_the_page_begins_with_it(tmp_path: Path) -> None:
    if missing := missing_for_browser():
        pytest.skip(missing)
    with (
        upstream(Reply(streamed(LEAK, 400))) as server,
        mitmweb(tmp_path, to=server.url) as web,
        browser(tmp_path / "browser") as page,
    ):
        _asks(web.url)
        log_in(page, web)
        with _in_time("mitmweb"):
            shown = open_response(page, PATH)
            shown.get_by_text(f"rule: '{SENTENCE}'").wait_for()
            shown.get_by_text(f"unless: '{REMEDY}'").wait_for()
        address = re.search(r"http://\S+/toolcalls", web.dump.wait_for("sessions and scorecard at "))
        assert address
        with _in_time("the page"):
            page.goto(address[0])
            first = page.locator("[data-key=attention] tbody tr").first
            first.get_by_text(SENTENCE.partition(": ")[2]).wait_for()
            first.get_by_text(f"it is accepted if {REMEDY}").wait_for()
        first.locator("a").first.click()
        page.locator(".turns mark.leak", has_text="<invoke").wait_for()


def test_the_remedy_helps(tmp_path: Path) -> None:
    """What was read on the screen goes into a file, and the same reply is a call."""
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    assert f"{REMEDY.removeprefix('the route has ')}" in config
    rules = tmp_path / "toolcalls.yaml"
    rules.write_text(config, encoding="utf-8")
    with (
        upstream(Reply(streamed(LEAK, 400))) as server,
        mitmdump(tmp_path, "--set", f"toolcalls_config={rules}", to=server.url) as dump,
    ):
        post(dump.url, asked())
        dump.wait_for("lifted Bash (invoke)")
