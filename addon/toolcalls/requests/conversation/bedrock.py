"""Requests of Bedrock's `InvokeModel`: those of the API that the model's bodies belong to. The model is in the path."""

from collections.abc import Mapping

from toolcalls.requests.conversation import Conversation
from toolcalls.requests.conversation.anthropic import MessagesConversation
from toolcalls.requests.conversation.bedrock_converse import ConverseConversation
from toolcalls.requests.conversation.openai_chat import ChatConversation
from toolcalls.requests.conversation.prompts import Prompt
from toolcalls.values import rawjson
from toolcalls.wires.bedrock.bodies import Api, api_of_request


class _Completion(Prompt):
    """A prompt of Llama, Mistral, Titan, Command, Jurassic or Claude 2."""

    api, texts = "bedrock", ("prompt", "inputText")

    def check(self) -> None:
        if not any(key in self.given for key in self.texts):
            raise ValueError("the request body has neither `messages` nor a prompt")


class _Chat(ChatConversation):
    """The form of Chat Completions, in which some models are asked. Their replies are only observed."""

    carries_calls = False

    def written(self) -> bytes:
        """Nothing is: raises ValueError."""
        raise ValueError("the request body is neither a Messages nor a Converse request; no other is rewritten")


_APIS: Mapping[Api, type[Conversation]] = {
    "anthropic": MessagesConversation,
    "bedrock_converse": ConverseConversation,
    "openai_chat": _Chat,
    "completions": _Completion,
}


def _conversation(body: bytes) -> Conversation:
    if not isinstance(rawjson.loaded(body), dict):
        raise ValueError("the request body is not an object")
    return _APIS[api_of_request(body)](body)


CONVERSATIONS = {"bedrock": _conversation}
