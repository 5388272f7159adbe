"""Every recorded stream of `shared/suites/streams`, with mending on: no byte changes of one that is not damaged itself.

Strategy: each goes through an exchange with its own request, whole and in the pieces in which it came, and through one
that mends nothing; those that differ are the damaged ones that are listed, and what they become has another reading.
"""

import base64
import json
from typing import Any

import pytest

from support.exchanges import as_received, of_request, run
from support.recordedstreams import DAMAGED
from support.repository import shared_path
from support.sampling import some
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.frames import Form

FILES = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "gemini-jsonarray": "gemini",
    "ollama": "ollama",
}


def rows(name: str) -> list[dict[str, Any]]:
    lines = shared_path(f"suites/streams/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in some(lines, 25, name)]


def through(wire: Wire, row: dict[str, Any], form: Form, pieces: list[bytes], route: Route) -> tuple[bytes, bool]:
    """What leaves, and whether anything was said to be mended."""
    try:
        request = wire.request(json.dumps(row.get("request") or {}).encode())
    except ValueError:
        request = Request()
    exchange = of_request(wire, request, route, form=form, seed=b"s")
    out = run(exchange, pieces)
    said = any(verdict.repairs for _, verdict in exchange.verdicts if verdict.dialect is None)
    return out, said or any("the client was given" in note.text for _, note in exchange.notes)


IN_TEXT = {"dd-trace-py__anthropic_completion_tools_stream__0__a5ec0efc"}  # begins its text with `<thinking>`


@pytest.mark.parametrize("name", FILES)
def test_what_is_mended_by_choice_changes_no_sound_stream(name: str) -> None:
    wire, changed = all_wires()[FILES[name]], set()
    for row in rows(name):
        body = (
            base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode(errors="surrogatepass")
        )
        form = wire.form(row.get("url_path") or "", row["content_type"])
        if form is None:
            continue
        off, _ = through(wire, row, form, [body], Route(mend=()))
        on, _ = through(wire, row, form, [body], Route(mend=("reasoning", "errors")))
        changed |= {row["id"]} if on != off else set()
    assert changed == {row["id"] for row in rows(name)} & IN_TEXT


@pytest.mark.parametrize("name", FILES)
def test_only_damaged_streams_are_mended(name: str) -> None:
    wire, changed = all_wires()[FILES[name]], set()
    for row in rows(name):
        body = (
            base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode(errors="surrogatepass")
        )
        form = wire.form(row.get("url_path") or "", row["content_type"])
        if form is None:
            continue
        ways = [[body], as_received(body, row.get("chunks") or [])]
        outs = [through(wire, row, form, pieces, Route()) for pieces in ways]
        off, said = through(wire, row, form, [body], Route(mend=()))
        assert outs[0] == outs[1], row["id"]
        assert not said
        assert (outs[0][0] != off) == outs[0][1], row["id"]
        if outs[0][0] != off:
            changed.add(row["id"])
    assert changed == {row["id"] for row in rows(name)} & set(DAMAGED)
