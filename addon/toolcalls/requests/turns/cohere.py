"""Requests of Cohere's API for chat: those of Chat Completions in other words.

https://docs.cohere.com/v2/reference/chat. Messages, calls, what tools answered and what tools are declared have the
same form in both, so the format of Chat Completions reads and writes a body whose other members have been given their
names there (`wires/cohere/request.py`). Plans, citations and documents stay where they stand.
"""

from toolcalls.requests.turns import Conversation, Format
from toolcalls.requests.turns.openai_chat import FORMAT as CHAT
from toolcalls.wires.cohere.request import from_chat, to_chat


class _CohereRequests:
    def read(self, body: bytes) -> Conversation:
        return CHAT.read(to_chat(body))

    def write(self, body: bytes, conversation: Conversation) -> bytes:
        return from_chat(CHAT.write(to_chat(body), conversation), body)


FORMAT: Format = _CohereRequests()
