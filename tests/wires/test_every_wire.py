"""What must be the same on every wire that carries calls, streamed.

Strategy: one reply, said in the form of each wire (`spoken`), damaged or turned in one way; the strict client of the
wire says what arrives.
"""

import pytest

from support.spoken import SPOKEN, Spoken, exchange, through
from toolcalls.request import Tool

TOOLS = [Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}})]
every_wire = pytest.mark.parametrize("spoken", SPOKEN.values(), ids=SPOKEN)


def pieces_of(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def damaged(spoken: Spoken, text: str) -> bytes:
    """The reply's body with bytes that are no UTF-8 where the text has an É."""
    body = spoken.edited(spoken.said(pieces_of(text)), lambda body: body.replace(b"\\u00c9", "É".encode()))
    found: list[bytes] = []
    spoken.edited(body, lambda payload: found.append(payload) or payload)  # type: ignore[func-returns-value]
    assert "É".encode() in b"".join(found)
    return spoken.edited(body, lambda body: body.replace("É".encode(), b"\xc9"))


@every_wire
def test_bytes_that_are_no_utf_8_are_heard_as_clients_hear_them(spoken: Spoken) -> None:
    """Nothing of a call is missing because a frame could not be read."""
    body = damaged(spoken, 'É\n<invoke name="Bash"><parameter name="command">rm É &amp;&amp; x</parameter></invoke>')
    out = through(exchange(spoken, TOOLS), body)
    text, calls = spoken.heard(spoken.edited(out, lambda body: body.decode(errors="replace").encode()))
    assert text == "\ufffd\n"
    assert calls == [("Bash", {"command": "rm \ufffd && x"})]


@every_wire
def test_bytes_that_are_no_utf_8_stay_where_nothing_changes(spoken: Spoken) -> None:
    body = damaged(spoken, "É is no É, < says no <invoke> either.")
    assert through(exchange(spoken, TOOLS), body) == body
