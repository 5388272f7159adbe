"""`toolcalls web|dump|console`: which options mitmproxy is given."""

from pathlib import Path

import pytest

from toolcalls import cli
from toolcalls.streams import BadInput
from toolcalls.tools.addon_path import ADDON
from toolcalls.tools.start import mitmproxy_options

SCRIPT = ["-s", str(ADDON)]
LOOPBACK = ["--listen-host", "127.0.0.1"]


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ([], LOOPBACK),
        (["--listen-port", "9000"], [*LOOPBACK, "--listen-port", "9000"]),
        (["http://h:8/v1", "-w", "f"], [*LOOPBACK, "--mode", "reverse:http://h:8", "-w", "f"]),
        (["--listen-host", "10.0.0.1"], ["--listen-host", "10.0.0.1"]),
        (["--listen-host=::1"], ["--listen-host=::1"]),
        (["--set", "listen_host=::1"], ["--set", "listen_host=::1"]),
    ],
)
def test_options(typed: list[str], options: list[str]) -> None:
    assert mitmproxy_options(typed) == [*SCRIPT, *options]


@pytest.mark.parametrize("typed", ["ftp://x", "http://", "http://x:port", "http://[", "reverse:http://x"])
def test_what_is_no_upstream(typed: str) -> None:
    with pytest.raises(BadInput, match=r"^UPSTREAM: .*URL"):
        mitmproxy_options([typed])


def test_options_of_mitmproxy_are_not_ours() -> None:
    parsed = cli._parser().parse_args(["web", "http://x", "--set", "a=b", "-p", "1", "--nonsense"])
    assert parsed.rest == ["http://x", "--set", "a=b", "-p", "1", "--nonsense"]


def test_addon_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["addon-path"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == ADDON
    assert path.is_file()
