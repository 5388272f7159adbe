"""The cases of `raw` in `tests/cases/wires/openai_chat.yaml`: bytes that come, and bytes that leave."""

import re
from collections.abc import Mapping
from typing import Any

from support.exchanges import run
from support.wirecases import exchange_for

RAW_CALL = '<invoke name=\\"Noop\\"></invoke>'
_BLANK_LINES = re.compile(rb"(?:\r?\n){2,}")


def raw_bytes(text: str, made: str = "ID") -> bytes:
    """The bytes of a case of `raw`: CALL stands for a call as text, ID for the id of the call that is made of it."""
    return text.replace("CALL", RAW_CALL).replace("ID", made).encode()


def check_raw(case: Mapping[str, Any]) -> None:
    """Assert that the bytes leave that a case of `raw` says, wherever they are cut."""
    body = raw_bytes(case["in"])
    exchange = exchange_for("openai_chat", {}, "sse")
    out = run(exchange, [body])
    (made,) = [record.id for _, record in exchange.client_calls] or [""]
    assert out == raw_bytes(case.get("out") or case["in"], made)
    for at in range(1, len(body)):
        # An LF that a CRLF was cut off from is one more blank line after an event, which says nothing.
        again = run(exchange_for("openai_chat", {}, "sse"), [body[:at], body[at:]])
        assert _BLANK_LINES.split(again) == _BLANK_LINES.split(out), f"cut at {at}"
        assert again == out or b"\r" in body, f"cut at {at}"
