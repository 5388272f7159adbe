"""The session that a request belongs to (`requests/client_memory.py`): a header's, the body's, or its first words."""

import json
from typing import Any

import pytest

from toolcalls.request import Request
from toolcalls.requests.client_memory import session_of


def session(body: dict[str, Any], first: str = "Go.", **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return session_of(named, "host", json.dumps(body).encode(), Request(quotable=(first,)))


@pytest.mark.parametrize("key", ["prompt_cache_key", "session_id"])
def test_the_id_that_a_body_names_is_the_session(key: str) -> None:
    assert session({key: "a"}, "Go.") == session({key: "a"}, "Summarise this.")
    assert session({key: "a"}) != session({key: "b"})


def test_a_header_outranks_the_body() -> None:
    assert session({"session_id": "a"}, x_session_id="h") == session({"session_id": "b"}, x_session_id="h")
    assert session({"session_id": "a"}, x_session_id="h") != session({"session_id": "a"})


@pytest.mark.parametrize("body", [{}, {"session_id": ""}, {"session_id": 5}])
def test_without_an_id_the_first_words_are_it(body: dict[str, Any]) -> None:
    assert session(body, "Go.") == session({}, "Go.", x_session_id="")
    assert session(body, "Go.") != session(body, "Stay.")
