"""What a person sees: mitmweb in a headless Chromium, and the console in a tmux that nobody is attached to.

Both run on loopback with folders of their own, have a time limit for everything, and are ended with their `with` block.
What these machines lack is said by `missing_for_browser` and `missing_for_console`, so that a test can be skipped.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from support.loopback import LIMIT, MAIN, Dump

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PASSWORD = "a password for a test"

# Nothing but the page: no sandbox, which root and containers do not have, no graphics card, no talk with its maker.
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def missing_for_browser() -> str | None:
    """What is not installed here, None when a browser can be started."""
    if find_spec("playwright") is None:
        return "the Python package playwright is not installed"
    return None if _chromium() else "no chromium is installed"


def missing_for_console() -> str | None:
    """What is not installed here, None when the console can be started."""
    return None if shutil.which("tmux") else "tmux is not installed"


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of loopback, for what cannot choose one itself and say which; nobody else gets it meanwhile.

    A socket that is bound and does not listen holds it. On Linux a server may listen there all the same, as both set
    SO_REUSEADDR (ip(7), socket(7)). Elsewhere no two sockets may have one port, so it is only free when it is chosen.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield port


# --- mitmweb ----------------------------------------------------------------------------------------------------------


class Web:
    """A running mitmweb: `url` is the proxy's, `page_url` its own page's."""

    def __init__(self, dump: Dump, page_url: str) -> None:
        self.dump = dump
        self.url = dump.url
        self.page_url = page_url


@contextmanager
def mitmweb(folder: Path, *arguments: str, to: str) -> Iterator[Web]:
    """A mitmweb with the addon in front of the upstream `to`. `folder` is where its certificates lie."""
    given = ["-s", str(MAIN), "--mode", f"reverse:{to}", "--listen-host", "127.0.0.1", "--listen-port", "0"]
    with reserved_port() as port:
        options = (f"web_port={port}", "web_open_browser=false", f"web_password={PASSWORD}")
        given += [part for option in options for part in ("--set", option)]
        dump = Dump([*given, *arguments], folder, tool="mitmweb")
        try:
            dump.port = int(dump.wait_for(" listening at 127.0.0.1:").rstrip(".").rpartition(":")[2])
            dump.wait_for("Web server listening at")
            yield Web(dump, f"http://127.0.0.1:{port}/")
        finally:
            dump.kill()


@contextmanager
def browser(folder: Path, *, width: int = 1200, height: int = 750, scale: float = 1) -> Iterator["Page"]:
    """A page of a browser with its profile in a new `folder`; `scale` is pixels of the screen to one of the page."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    with sync_playwright() as started:
        context = started.chromium.launch_persistent_context(
            folder,
            executable_path=_chromium(),
            args=list(_FLAGS),
            timeout=LIMIT * 1000,
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
        )
        try:
            context.set_default_timeout(LIMIT * 1000)
            yield context.new_page()
        finally:
            context.close()


def log_in(page: "Page", web: Web) -> None:
    """Open mitmweb's page as a person does, with the password."""
    page.goto(web.page_url)
    page.fill("input[name=token]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector(".flow-table")


def row(page: "Page", text: str) -> "Locator":
    """The only row of the flow list with `text` in one of its columns, as soon as it is there."""
    found = page.locator(".flow-table tr", has_text=text)
    found.wait_for()
    return found


def open_response(page: "Page", text: str) -> "Locator":
    """Choose the flow of a row and then its response; the pane that shows the body."""
    row(page, text).click()
    page.locator(".nav-tabs a", has_text="Response").click()
    shown = page.locator(".contentview")
    shown.locator("pre div").first.wait_for()
    return shown


# --- the console ------------------------------------------------------------------------------------------------------


class Console:
    """A running mitmproxy in a tmux of its own, 140 by 50 characters."""

    def __init__(self, tmux: list[str], url: str, drawn: int) -> None:
        self._tmux = tmux
        self._drawn = drawn  # a descriptor from which all can be read that the program writes to the screen
        self.url = url

    def press(self, *keys: str) -> None:
        """Type keys, each named as tmux names them."""
        subprocess.run([*self._tmux, "send-keys", *keys], check=True, timeout=LIMIT)

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        command = [*self._tmux, "capture-pane", "-p"]
        return subprocess.run(command, check=True, timeout=LIMIT, capture_output=True, encoding="utf-8").stdout

    def wait_for(self, *texts: str) -> str:
        """The screen, as soon as all the texts are on it. It is looked at when something has been drawn."""
        until = time.monotonic() + LIMIT
        while not all(text in (screen := self.screen) for text in texts):
            if not select.select([self._drawn], [], [], max(0.0, until - time.monotonic()))[0]:
                raise AssertionError(f"{texts} were not on the screen within {LIMIT} s:\n{screen}")
            os.read(self._drawn, 1 << 20)
        return screen


def until_heard(port: int) -> None:
    """Wait until somebody listens: the console shows its port before it does."""
    until = time.monotonic() + LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), LIMIT).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


@contextmanager
def console(folder: Path, *arguments: str, to: str) -> Iterator[Console]:
    """A mitmproxy console with the addon in front of the upstream `to`. `folder` as for `mitmweb`."""
    start = "from mitmproxy.tools.main import mitmproxy; mitmproxy()"
    command = [sys.executable, "-c", start, "--set", f"confdir={folder}", "-s", str(MAIN), "--mode", f"reverse:{to}"]
    size = ["-x", "140", "-y", "50"]
    # A socket's path may have about a hundred characters.
    with TemporaryDirectory() as short, reserved_port() as port:
        command += ["--listen-host", "127.0.0.1", "--listen-port", str(port), *arguments]
        tmux = ["tmux", "-S", f"{short}/tmux", "-f", "/dev/null", "-u"]
        os.mkfifo(fifo := f"{short}/drawn")
        drawn = os.open(fifo, os.O_RDWR)  # for both, so that it has no end while nobody writes
        subprocess.run([*tmux, "new-session", "-d", *size, *command], check=True, timeout=LIMIT, cwd=folder)
        try:
            subprocess.run([*tmux, "pipe-pane", f"exec cat > {fifo}"], check=True, timeout=LIMIT)
            shown = Console(tmux, f"http://127.0.0.1:{port}", drawn)
            shown.wait_for(f":{port}")
            until_heard(port)
            yield shown
        finally:
            subprocess.run([*tmux, "kill-server"], check=False, timeout=LIMIT, capture_output=True)
            os.close(drawn)
