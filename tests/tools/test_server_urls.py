"""The URL of a model server, however it was written; what is none gives an error of one line without secrets."""

import pytest

from toolcalls.streams import BadInput
from toolcalls.tools.server_urls import server_url


@pytest.mark.parametrize(
    ("written", "origin", "port", "credentials", "rest"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", 8000, "", ""),
        ("https://api.openai.com/v1/", "https://api.openai.com", 443, "", "/v1"),
        ("localhost:8000", "http://localhost:8000", 8000, "", ""),
        ("http://[::1]:80", "http://[::1]:80", 80, "", ""),
        ("http://me:pw@models/v1", "http://models", 80, "me:pw@", "/v1"),
        ("https://azure.test/openai?api-version=1", "https://azure.test", 443, "", "/openai?api-version=1"),
    ],
)
def test_the_parts(written: str, origin: str, port: int, credentials: str, rest: str) -> None:
    found = server_url(written, "X")
    assert (found.origin, found.port, found.credentials, found.rest) == (origin, port, credentials, rest)
    assert found.host in origin


@pytest.mark.parametrize("written", ["ftp://x", "http://", "http://x:port", "http://[", "reverse:http://x"])
def test_what_is_no_url(written: str) -> None:
    with pytest.raises(BadInput, match=r"^X: .*URL"):
        server_url(written, "X")


@pytest.mark.parametrize(
    "written", ["http://me:CANARY@x:port", "ftp://me:CANARY@x", "http://me:CANARY@[", "ftp://x?key=CANARY"]
)
def test_an_error_says_no_password(written: str) -> None:
    with pytest.raises(BadInput) as refused:
        server_url(written, "X")
    assert "CANARY" not in str(refused.value)
    assert refused.value.__cause__ is None or "CANARY" not in str(refused.value.__cause__)


def test_a_port_alone_is_no_host() -> None:
    with pytest.raises(BadInput, match=r"^UPSTREAM: 8000 is a port without a host; .* is http://127\.0\.0\.1:8000$"):
        server_url("8000", "UPSTREAM")
    assert server_url("http://8000", "UPSTREAM").host == "8000", "whoever writes a scheme means a name"
