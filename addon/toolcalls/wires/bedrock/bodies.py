"""Which API the bodies of a model belong to. A model's name does not say: it may be that of a profile."""

from typing import Literal

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields

type Api = Literal["anthropic", "bedrock_converse", "openai_chat", "completions"]

_CONVERSE_EVENTS = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
)
_NOVA_MEMBERS = frozenset({"schemaVersion", "inferenceConfig", "toolConfig"})  # of requests


def api_of_reply(payload: bytes) -> Api | None:
    """The API of a reply, by one payload of it; None where that says nothing."""
    fields = rawjson.fields(payload)
    if not fields or is_exception(fields):
        return None
    if _CONVERSE_EVENTS & fields.keys() or "message" in rawjson.fields(fields.get("output")):
        return "bedrock_converse"
    if "choices" in fields:
        choice = rawjson.fields(next(iter(rawjson.items(fields["choices"])), None))
        return "completions" if "text" in choice else "openai_chat"
    return "anthropic" if "type" in fields else "completions"


def is_exception(fields: Fields) -> bool:
    """Whether a payload is an exception, with which a service ends a stream that has failed."""
    return len(fields) == 1 and next(iter(fields)).endswith("Exception")


def api_of_request(body: bytes) -> Api:
    """The API of a request. Claude's requests name a version of it; Nova's have members that only they have."""
    fields = rawjson.fields(body)
    if "anthropic_version" in fields:
        return "anthropic"
    if "messages" not in fields:
        return "completions"
    if _NOVA_MEMBERS & fields.keys():
        return "bedrock_converse"
    return "bedrock_converse" if any(map(_is_novas, rawjson.items(fields["messages"]))) else "openai_chat"


def _is_novas(message: object) -> bool:
    """Whether a message has blocks, and none of these says its type."""
    blocks = [rawjson.fields(one) for one in rawjson.items(rawjson.fields(message).get("content"))]
    return bool(blocks) and not any("type" in block for block in blocks)
