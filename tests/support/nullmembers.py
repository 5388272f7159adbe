"""Bodies as servers and clients send them that write all members of a class: null where there is nothing.

A member stands beside others, which say what an object is. So those that are missing are put in where one of them is.
"""

import json
import re
from collections.abc import Callable, Collection
from typing import Any

_BLOCKS = "text partial_json thinking signature citations citation id name caller data stop_reason stop_sequence"
# Members of replies that are beside one another on each API.
REPLIES: dict[str, str] = {
    "openai_chat": "content tool_calls function_call refusal reasoning_content reasoning role logprobs audio error",
    "anthropic": _BLOCKS,
    "bedrock": _BLOCKS,
    "bedrock_converse": "text toolUse reasoningContent citation toolResult citationsContent image cachePoint",
    "gemini": "text functionCall functionResponse inlineData fileData thought thoughtSignature executableCode toolCall"
    " codeExecutionResult videoMetadata finishMessage citationMetadata groundingMetadata promptFeedback",
    "openai_responses": "text arguments refusal call_id name logprobs summary namespace obfuscation error",
    "cohere": "text thinking tool_calls tool_plan citations content role",
    "ollama": "content thinking tool_calls images tool_name done_reason",
    "gemini_interactions": "text arguments name id signature summary annotations result call_id",
}
_MESSAGES = "text id name input tool_use_id content is_error thinking signature source citations cache_control system"
# The same of requests.
REQUESTS: dict[str, str] = {
    "openai_chat": "content tool_calls function_call refusal audio name tool_call_id function custom tools tool_choice",
    "anthropic": f"{_MESSAGES} input_schema description tools tool_choice",
    "bedrock": f"{_MESSAGES} input_schema description tools tool_choice",
    "bedrock_converse": "text toolUse toolResult reasoningContent image document cachePoint toolSpec system status",
    "gemini": "text functionCall functionResponse inlineData thought thoughtSignature executableCode description"
    " functionDeclarations googleSearch codeExecution parameters parametersJsonSchema systemInstruction tools id",
    "openai_responses": "role content status id call_id arguments output name namespace summary phase text annotations"
    " parameters description strict instructions tools tool_choice",
    "cohere": "content tool_calls tool_plan tool_call_id citations name description parameters documents",
    "ollama": "content thinking tool_calls images tool_name tool_call_id description format",
    "gemini_interactions": "text content arguments result name call_id id signature summary is_error description",
}
# The user's own data.
_VALUES = frozenset({"args", "arguments", "input_schema", "json", "parameters", "parametersJsonSchema", "response"})


def each(table: dict[str, str]) -> list[tuple[str, str]]:
    """Each wire with each of its members, and with all of them at once."""
    return [(wire, some) for wire, names in table.items() for some in (*names.split(), names)]


def filled(value: Any, known: Collection[str], names: Collection[str], key: str = "") -> Any:
    """A value with these members as null wherever `known` ones are; those of arguments and schemas are the user's."""
    if key in _VALUES or (key == "input" and isinstance(value, dict)):
        return value
    if isinstance(value, list):
        return [filled(item, known, names, key) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: filled(member, known, names, name) for name, member in value.items()}
    return {**dict.fromkeys(names if made.keys() & set(known) else ()), **made}


def emptied(value: Any) -> Any:
    """A value without members that say nothing, in one order."""
    if isinstance(value, list):
        return [emptied(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: emptied(member) for key, member in sorted(value.items()) if member not in (None, [])}


def changed(body: bytes, change: Callable[[Any], Any]) -> bytes:
    """A body with each of its JSON values changed: it is one, or has one on each line."""
    try:
        return json.dumps(change(json.loads(body))).encode()
    except ValueError:
        return re.sub(rb"\{.*\}", lambda found: json.dumps(change(json.loads(found[0]))).encode(), body)
