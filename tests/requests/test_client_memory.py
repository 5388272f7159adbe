"""The session that a request belongs to (`requests/client_memory.py`): a header's, the body's, or its first words."""

from toolcalls.request import Request
from toolcalls.requests.client_memory import session_of


def session(named: str, first: str = "Go.", **headers: str) -> bytes:
    """The key for a request whose body names a session."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return session_of(sent, "host", Request(quotable=(first,), session=named))


def test_the_id_that_a_body_names_is_the_session() -> None:
    assert session("a", "Go.") == session("a", "Summarise this.")
    assert session("a") != session("b")


def test_a_header_outranks_the_body() -> None:
    assert session("a", x_session_id="h") == session("b", x_session_id="h")
    assert session("a", x_session_id="h") != session("a")


def test_without_an_id_the_first_words_are_it() -> None:
    assert session("", "Go.") == session("", "Go.", x_session_id="")
    assert session("", "Go.") != session("", "Stay.")
