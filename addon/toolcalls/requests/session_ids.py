"""The id that a request's body gives to the session of its agent."""

from collections.abc import Mapping
from typing import Any

from toolcalls.values import rawjson

# OpenAI's (https://platform.openai.com/docs/guides/prompt-caching), and what OpenRouter and Code Assist call it.
SESSION_KEYS = ("prompt_cache_key", "session_id")


def session_in(fields: Mapping[str, Any]) -> str:
    """The id in the members of a body, "" for none."""
    return next(filter(None, (rawjson.word(fields, key) for key in SESSION_KEYS)), "")
