"""Recorded streams of real providers: their sound calls are plain native ones, and what is damaged is listed here.

Strategy: every stream of `shared/suites/streams` of an API that is read, with its own request, as it would be live.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.exchanges import of_request
from support.repository import shared_path
from support.sampling import SAMPLED, some
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.frames import Form

# By their ids, the reasons and notes of recordings in which something is wrong. Most met a test's limit while they were
# thinking; whole responses without items are those of a back end that sends each item only once.
FOUND = {
    "dd-trace-py__anthropic_completion_tools_stream__0__a5ec0efc": {"reasoning_in_text"},
    "req_llm__streaming__0__f8be296a": {"empty"},
    "req_llm__streaming__0__2fc83df6": {"empty"},
    "req_llm__object_streaming__0__b1ea7c4d": {"empty"},
    "req_llm__object_streaming__0__625961ba": {"empty"},
    "rig__streaming_structured_output_with_tools__0__dca19de1": {"reasoning_in_text"},
    "rig__chat_sourced_history_replay__0__7e9a22ec": {"reasoning_in_text"},
    "rig__streaming_budget_12_truncates_before_any_tool_call__0__7edf0d60": {"empty"},
    "rig__default_qwen_family_streaming__0__7aacdb4a": {"empty"},
    "rig__streaming_probe__1__75e65183": {"empty"},
    "rig__streaming_probe__1__2a77c9a4": {"empty"},
    "rig__streaming_probe__2__6a39ff47": {"empty"},
    "rig__streaming_mistral_small_tiny_tool__0__82cf8af5": {"empty"},
    "rig__streaming_probe__2__ec040136": {"empty"},
    "rig__streaming_gpt41_low_agent__0__c5f7b1a0": {"bad_arguments"},
    "llm__test_tools_streaming_variant_b__0__72d88d01": {"no_finish"},
    "dd-trace-py__completion_stream_multiple_choices_proxy__0__5cc4cfe6": {"no_finish"},
    "openllmetry__test_writer_async_streaming_completions_legacy__0__c1c0631c": {"empty"},
    "rig__parallel_tool_calls_single_turn_nonstreaming__0__f554d037": {"finish_denies_calls"},
    "rig__sequential_tool_calls_nonstreaming__0__bd9c51f6": {"finish_denies_calls"},
    "rig__usage_accumulates_across_streaming_multi_turn__0__3098174e": {"finish_denies_calls"},
    "rig__zero_argument_tool_call_nonstreaming__0__67fa0faf": {"finish_denies_calls"},
}


def recorded(wire: str) -> Iterator[dict[str, Any]]:
    lines = shared_path(f"suites/streams/{wire.replace('_', '-')}.jsonl").read_text(encoding="utf-8").splitlines()
    return (json.loads(line) for line in lines)


def form_of(wire: Wire, row: dict[str, Any], body: bytes) -> Form:
    """Some recordings lost their content type, so the body says what it is."""
    form = wire.form(row["url_path"] or "", row["content_type"] or "")
    is_json = body.lstrip().startswith(b"{")
    if is_json and form != "ndjson":
        return "ndjson" if wire.name.startswith("ollama") else "whole"
    return "sse" if form is None or form == "whole" else form


def read(wire: Wire, row: dict[str, Any]) -> Exchange:
    body = str(row["body"]).encode("utf-8", "surrogatepass")
    try:
        request = request_of(wire, json.dumps(row.get("request") or {}).encode())
    except ValueError:
        request = Request()
    exchange = of_request(wire, request, Route(upstream="text", client="native"), form=form_of(wire, row, body))
    exchange.feed(body)
    exchange.close()
    assert exchange.failure is None, f"{row['id']}: {exchange.failure!r}"
    return exchange


@pytest.mark.parametrize(
    "name",
    ["anthropic", "gemini", "ollama", "ollama_generate", "openai_chat", "openai_completions", "openai_responses"],
)
def test_only_what_is_damaged_has_a_finding(name: str) -> None:
    wire = all_wires()[name]
    seen = 0
    for row in some(list(recorded(name)), 30, name):
        exchange = read(wire, row)
        natives = [verdict for _, verdict in exchange.verdicts if verdict.dialect is None]
        seen += len(natives)
        found = {verdict.reason for verdict in natives if verdict.status != "truncated"} - {None}
        found |= {note.rule for _, note in exchange.notes}
        assert found == FOUND.get(row["id"], set()), row["id"]
        assert all(verdict.defects or verdict.reason is None for verdict in natives if verdict.status == "native")
    assert SAMPLED or seen or name in {"ollama_generate", "openai_completions"}
