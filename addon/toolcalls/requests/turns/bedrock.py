"""Requests of Bedrock's `InvokeModel`: those of the API that the model's bodies belong to, Messages or Converse."""

from toolcalls.requests.turns import Conversation, Format
from toolcalls.requests.turns.anthropic import FORMAT as MESSAGES
from toolcalls.requests.turns.bedrock_converse import FORMAT as CONVERSE
from toolcalls.wires.bedrock.bodies import Api, api_of_request

_FORMATS: dict[Api, Format] = {"anthropic": MESSAGES, "bedrock_converse": CONVERSE}


class _InvokeRequests:
    def read(self, body: bytes) -> Conversation:
        return _format(body).read(body)

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        return _format(body).write(body, conversation)


def _format(body: bytes) -> Format:
    found = _FORMATS.get(api_of_request(body))
    if found is None:
        raise ValueError("the request body is neither a Messages nor a Converse request; no other is rewritten")
    return found


FORMAT = _InvokeRequests()
