"""Which requests are whose: the paths of the wires, and bodies that are no request of theirs."""

import pytest

from toolcalls.requests.conversation import request_of
from toolcalls.wires import all_wires, model_in, wire_of, wire_of_retrieval

VERTEX = "/v1/projects/p/locations/l/publishers"
OURS = {
    "openai_chat": [
        "/v1/chat/completions",
        "/chat/completions?beta=true",
        "/api/v0/chat/completions",
        "/openai/v1/chat/completions/",
        "/openai/deployments/made-up/chat/completions?api-version=2024-10-21",
        "/models/chat/completions?api-version=2024-05-01-preview",
        "/v1/account/gateway/compat/chat/completions",
        "/v1/account/gateway/openai/chat/completions",
        "/v1/account/gateway/workers-ai/v1/chat/completions",
        "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
        f"{VERTEX}/mistralai/models/mistral-large@2411:streamRawPredict",
        f"{VERTEX}/mistralai/models/mistral-large@2411%3ArawPredict",
        f"{VERTEX}/ai21/models/jamba-large:rawPredict",
    ],
    "openai_responses": [
        "/v1/responses",
        "/openai/v1/responses?api-version=preview",
        "/openai/deployments/x/responses/",
        "/backend-api/codex/responses",
        "/api/v1/responses",
    ],
    "anthropic": [
        "/v1/messages",
        "/v1/messages?beta=true",
        "/anthropic/v1/messages/",
        "/api/gateway/anthropic/v1/messages",
        f"/v1/account/gateway/google-vertex-ai{VERTEX}/anthropic/models/m:streamRawPredict",
        f"{VERTEX}/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict",
        f"{VERTEX}/anthropic/models/claude-3-7-sonnet@20250219%3ArawPredict",
    ],
    "bedrock": [
        "/model/us.anthropic.claude-opus-4-6-v1/invoke-with-response-stream",
        "/model/meta.llama2-13b-chat-v1/invoke",
        "/v1/account/gateway/aws-bedrock/bedrock-runtime/us-east-1/model/amazon.nova-lite-v1:0/invoke",
    ],
    "bedrock_converse": [
        "/model/anthropic.claude-3-sonnet-20240229-v1%3A0/converse",
        "/model/us.amazon.nova-lite-v1:0/converse-stream",
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.meta.llama/converse-stream?x=y",
        "/gateway/bedrock/model/m/converse/",
    ],
    "cohere": ["/v2/chat", "/compatibility/cohere/v2/chat/?x=y"],
    "gemini": [
        "/v1beta/models/gemini-2.5-pro:generateContent",
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        "/models/m%3AstreamGenerateContent",
        f"{VERTEX}/google/models/m:streamGenerateContent",
        "/v1internal:streamGenerateContent?alt=sse",
    ],
    "gemini_interactions": [
        "/v1beta/interactions",
        "/v1beta/interactions?alt=sse",
        "/v1beta1/projects/p/locations/global/interactions/",
    ],
    "ollama": ["/api/chat", "/ollama/api/chat/"],
    "mistral_fim": ["/v1/fim/completions", "/codestral/v1/fim/completions/"],
    "ollama_generate": ["/api/generate"],
    "openai_completions": ["/v1/completions", "/openai/deployments/m/completions?api-version=1"],
}
# Near to those of a wire, and none of any.
NOBODYS = [
    "/v1/chat/completions/x",
    "/v1/models",
    "/v1/responses/resp_1",
    "/v1/responses/resp_1/cancel",
    "/v1/responses/compact",
    "/v1/responses/input_tokens",
    f"{VERTEX}/anthropic/models/count-tokens:rawPredict",
    f"{VERTEX}/mistralai/models/m:predict",
    f"{VERTEX}/acme/models/m:rawPredict",
    f"{VERTEX}/mistralai/models/:rawPredict",
    "/v1/messages/count_tokens",
    "/v1/messages/batches",
    "/v1/messages/batches/b/results",
    "/v1/threads/t/messages",
    "/converse",
    "/model/m/converse-async",
    "/model/m/count-tokens",
    "/model/m/async-invoke",
    "/v1beta/models/m:countTokens",
    "/v1beta/models/m:embedContent",
    "/v1beta/interactions/v1_x/cancel",
    "/v1/chat",
    "/v2/embed",
]
RETRIEVED = {
    "/v1/responses/resp_1": "openai_responses",
    "/openai/v1/responses/resp_1?stream=true&starting_after=7": "openai_responses",
    "/v1/responses/resp_1/": "openai_responses",
    "/v1beta/interactions/v1_ChdUR": "gemini_interactions",
    "/v1beta/interactions/v1_ChdUR?stream=true&last_event_id=7": "gemini_interactions",
}
NOT_RETRIEVED = [
    "/v1/responses",
    "/v1/responses/compact",
    "/v1/responses/resp_1/input_items",
    "/forms/7/responses/9",
    "/v1beta/interactions",
    "/v1beta/interactions/v1_x/cancel",
    "/users/7/interactions/9",
]
NO_OBJECT = {"nothing": b"", "a list": b"[]", "no UTF-8": b"\xff", "deep lists": b"[" * 100_000}
EMPTY = {**NO_OBJECT, "an empty object": b"{}"}
NO_REQUEST = {
    "openai_chat": {**EMPTY, "messages in no list": b'{"messages":{}}'},
    "openai_responses": {**EMPTY, "messages": b'{"messages":[]}'},
    "anthropic": {**EMPTY, "messages in no list": b'{"messages":{}}'},
    "bedrock": {
        **EMPTY,
        "messages in no list": b'{"messages":{}}',
        "Claude's, in no list": b'{"anthropic_version":"","messages":{}}',
    },
    "bedrock_converse": {**EMPTY, "messages in no list": b'{"messages":{}}'},
    "cohere": {**EMPTY, "messages in no list": b'{"messages":{}}', "the input of another API": b'{"input":"Go."}'},
    "gemini": {**EMPTY, "contents in no list": b'{"contents":3}'},
    "gemini_interactions": {**EMPTY, "input is a number": b'{"input":3}'},
    "ollama": {**NO_OBJECT, "messages in no list": b'{"messages":{}}'},
    "mistral_fim": NO_OBJECT,
    "ollama_generate": NO_OBJECT,
    "openai_completions": NO_OBJECT,
}


def test_every_wire_is_in_the_tables() -> None:
    assert set(OURS) == set(NO_REQUEST) == set(all_wires())


@pytest.mark.parametrize(("wire", "path"), [(wire, path) for wire, paths in OURS.items() for path in paths])
def test_the_paths_of_a_wire(wire: str, path: str) -> None:
    assert wire_of(path) is all_wires()[wire]
    assert [name for name, other in all_wires().items() if other.matches(path)] == [wire]


@pytest.mark.parametrize("path", NOBODYS)
def test_paths_of_no_wire(path: str) -> None:
    assert wire_of(path) is None


@pytest.mark.parametrize(
    ("path", "model"),
    [
        *zip(OURS["gemini"], ["gemini-2.5-pro", "gemini-2.5-pro", "m", "m", ""], strict=True),
        ("/v1beta/models/m:countTokens", "m"),
        ("/v1beta/models/m:embedContent", "m"),
        ("/model/us.amazon.nova-lite-v1%3A0/converse-stream", "us.amazon.nova-lite-v1:0"),
        ("/model/us.amazon.nova-lite-v1:0/converse", "us.amazon.nova-lite-v1:0"),
        ("/model/arn%3Aaws%3Abedrock%3A%3A1%3Ax%2Fy/converse", "arn:aws:bedrock::1:x/y"),
        ("/openai/deployments/m/completions", "m"),
        (f"{VERTEX}/mistralai/models/mistral-large@2411%3ArawPredict", "mistral-large@2411"),
        (f"{VERTEX}/anthropic/models/claude-3-7-sonnet%4020250219:streamRawPredict", "claude-3-7-sonnet@20250219"),
    ],
)
def test_the_model_in_a_path(path: str, model: str) -> None:
    assert model_in(path) == model


@pytest.mark.parametrize(("path", "wire"), RETRIEVED.items())
def test_the_paths_of_replies_that_are_asked_for_again(path: str, wire: str) -> None:
    assert wire_of_retrieval(path) is all_wires()[wire]
    assert not wire_of(path)


@pytest.mark.parametrize("path", NOT_RETRIEVED)
def test_paths_of_no_reply(path: str) -> None:
    assert wire_of_retrieval(path) is None


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        pytest.param(wire, body, id=f"{wire}: {name}")
        for wire, bodies in NO_REQUEST.items()
        for name, body in bodies.items()
    ],
)
def test_what_is_no_request_is_a_value_error(wire: str, body: bytes) -> None:
    with pytest.raises(ValueError, match="request body"):
        request_of(all_wires()[wire], body)
