"""What servers say of tokens, in any API's words: how many went in and came out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "inputTokens", "total_input_tokens")
_OUTPUT = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "outputTokens"),
    "total_output_tokens",
)
_CACHED = (
    *("cached_tokens", "cache_read_input_tokens", "cachedContentTokenCount", "prompt_cache_hit_tokens"),
    *("cacheReadInputTokens", "total_cached_tokens"),
)
# Those that are counted beside the input.
_BESIDE = (
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
    *("cacheReadInputTokens", "cacheWriteInputTokens"),
)
_REASONING = ("reasoning_tokens", "thoughtsTokenCount", "total_thought_tokens")
_APART = ("thoughtsTokenCount", "total_thought_tokens")  # counted beside the output
_AROUND = ("message", "response", "metadata", "interaction", "delta")  # what a usage may be in
_DETAILS = (
    "prompt_tokens_details",
    "completion_tokens_details",
    "input_tokens_details",
    "output_tokens_details",
    "tokens",
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a server counted; None for what it did not say. `cached` are part of `input`, `reasoning` of `output`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


def tokens_of(payloads: Sequence[bytes]) -> Tokens:
    """What the payloads of a reply say of tokens, the latest word of each. Anthropic and Bedrock count cached input
    apart, Gemini reasoning.
    """
    found: dict[str, int] = {}
    for payload in payloads:
        for usage in _usages(_object(payload)):
            for one in (usage, *(usage[key] for key in _DETAILS if isinstance(usage.get(key), dict))):
                found.update({key: value for key, value in one.items() if type(value) is int and value >= 0})
    input_, output = _count(found, _INPUT), _count(found, _OUTPUT)
    if input_ is not None:
        input_ += sum(found.get(name, 0) for name in _BESIDE)
    if (thoughts := _count(found, _APART)) is not None:
        output = (output or 0) + thoughts
    return Tokens(input_, output, _count(found, _CACHED), _count(found, _REASONING))


def _object(payload: bytes) -> dict[str, Any]:
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _usages(about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "eval_count" in about or "prompt_eval_count" in about:
        yield about
    for one in (about, *(about.get(key) for key in _AROUND)):
        for key in ("usage", "usageMetadata"):
            if isinstance(one, dict) and isinstance(one.get(key), dict):
                yield one[key]


def _count(found: dict[str, int], names: tuple[str, ...]) -> int | None:
    return next((found[name] for name in names if name in found), None)
