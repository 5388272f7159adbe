"""The id of its session that a request's body names (`wires/session_ids.py`), on every API."""

import json
from typing import Any

import pytest

from toolcalls.requests.conversation import request_of
from toolcalls.requests.session_ids import SESSION_KEYS
from toolcalls.wires import all_wires

SAID = [{"role": "user", "content": "Go."}]
BODIES: dict[str, list[dict[str, Any]]] = {
    "anthropic": [{"messages": SAID}],
    "bedrock": [{"anthropic_version": "bedrock-2023-05-31", "messages": SAID}, {"prompt": "Go."}, {"inputText": "Go."}],
    "bedrock_converse": [{"messages": [{"role": "user", "content": [{"text": "Go."}]}]}],
    "cohere": [{"messages": SAID}],
    "gemini": [{"contents": [{"role": "user", "parts": [{"text": "Go."}]}]}],
    "gemini_interactions": [{"input": "Go."}],
    "mistral_fim": [{"prompt": "Go.", "suffix": "."}],
    "ollama": [{"messages": SAID}],
    "ollama_generate": [{"prompt": "Go."}],
    "openai_chat": [{"messages": SAID}, {"input": SAID}],
    "openai_completions": [{"prompt": "Go."}],
    "openai_responses": [{"input": SAID}],
}


def named(wire: str, body: dict[str, Any]) -> str:
    return request_of(all_wires()[wire], json.dumps(body).encode()).session


@pytest.mark.whole
@pytest.mark.parametrize("wire", all_wires())
def test_the_id_that_a_body_names(wire: str) -> None:
    for body in BODIES[wire]:
        for key in SESSION_KEYS:
            assert named(wire, body | {key: "a"}) == "a"
            for other in ("", 5, None, ["a"]):
                assert named(wire, body | {key: other}) == ""
        assert named(wire, body) == ""


def test_code_assist_names_it_further_inside() -> None:
    """https://github.com/google-gemini/gemini-cli wraps the request of the API in one of its own."""
    (body,) = BODIES["gemini"]
    assert named("gemini", {"model": "m", "request": body | {"session_id": "a"}}) == "a"
    assert named("gemini", {"model": "m", "session_id": "b", "request": body | {"session_id": "a"}}) == "b"


def test_the_first_of_two_counts() -> None:
    assert named("openai_chat", {"messages": SAID, "session_id": "s", "prompt_cache_key": "p"}) == "p"
