"""Secrets taken out of headers, URLs, text and plain data: the one place that says what may be kept.

Values of headers and of query parameters are kept by name, from a list of those that are known to hold no secret;
everything else becomes `<redacted>`. Text is searched for what secrets look like (`secret_patterns`), so a secret of no
known form in free text is not found: whoever passes on what people and models wrote must know that. Nothing of a secret
is shown, not even a part or its length. `body_redaction` does the same for whole bodies.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from toolcalls.insight.secret_patterns import GROUPS_BEFORE, SECRET, SECRET_KEY
from toolcalls.insight.secret_starts import starts_of

REDACTED = "<redacted>"

# Header names whose values are kept. Names of agents and of their sessions are what flows are grouped by; the rest
# describes bodies, connections, limits and servers. No header that authorises, names an account or sets a cookie.
KEPT_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "access-control-allow-origin", "age", "allow"),
        *("cache-control", "connection", "content-encoding", "content-language", "content-length", "content-type"),
        *("date", "expect", "host", "keep-alive", "last-modified", "pragma", "retry-after", "server", "te", "trailer"),
        *("transfer-encoding", "upgrade", "user-agent", "vary", "via", "x-accel-buffering"),
        # agents, their sessions and their libraries
        *("agent-session-id", "originator", "session-id", "session_id", "thread-id", "x-claude-code-session-id"),
        *("x-claude-code-request-class", "x-app", "x-initiator", "x-session-affinity", "x-session-id", "x-title"),
        *("x-stainless-arch", "x-stainless-async", "x-stainless-helper-method", "x-stainless-lang", "x-stainless-os"),
        *("x-stainless-package-version", "x-stainless-retry-count", "x-stainless-runtime"),
        *("x-stainless-runtime-version", "x-stainless-timeout", "x-goog-api-client"),
        # APIs
        *("anthropic-beta", "anthropic-version", "openai-beta", "openai-model", "openai-processing-ms"),
        *("openai-version", "request-id", "x-request-id", "x-client-request-id", "x-envoy-upstream-service-time"),
        *("x-ratelimit-limit-requests", "x-ratelimit-limit-tokens", "x-ratelimit-remaining-requests"),
        *("x-ratelimit-remaining-tokens", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"),
    }
)

# Query parameters that say how a reply shall be made, each with the values that are known for it.
_KEPT_QUERY = {
    "alt": re.compile("sse|json|proto|media"),
    "beta": re.compile("true|false"),
    "stream": re.compile("true|false"),
    "api-version": re.compile(r"\d{4}-\d{2}-\d{2}(?:-preview)?"),
}

_SHORT = 64  # characters that `re` alone searches sooner, and that are remembered


def redacted_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same headers in the same order; values that are not on the list of kept ones are `<redacted>`.

    Kept values are searched like any text: a User-Agent may hold a key that somebody put there.
    """
    return [(name, redacted_text(value) if name.lower() in KEPT_HEADERS else REDACTED) for name, value in headers]


def redacted_url(url: str) -> str:
    """A URL, or a path with its query: without user and password, fragment, and values of queries that are unknown."""
    rest, _, _ = url.partition("#")
    place, question, query = rest.partition("?")
    scheme, separator, behind = place.partition("://")
    if separator:
        authority, slash, path = behind.partition("/")
        place = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    return redacted_text(place) + (question and "?" + "&".join(_parameter(one) for one in query.split("&")))


def _parameter(one: str) -> str:
    name, equals, value = one.partition("=")
    kept = _KEPT_QUERY.get(name)
    if not equals:
        return one if name in _KEPT_QUERY or not name else REDACTED  # a value without a name
    return one if kept is not None and kept.fullmatch(value) else f"{redacted_text(name)}={REDACTED}"


def redacted_text(text: str) -> str:
    """`text` with everything that looks like a key, a token or a password replaced."""
    return _redacted_short(text) if len(text) <= _SHORT else _redacted(text)


def _redacted(text: str) -> str:
    made, at = [], 0
    for found in _found(text):
        made += [text[at : found.start()], _replaced(found)]
        at = found.end()
    return "".join([*made, text[at:]]) if made else text


# Reports say the same short texts again and again: statuses, dialects, names of tools and models.
_redacted_short = lru_cache(maxsize=4096)(_redacted)


@lru_cache(maxsize=4096)
def _names_secret(key: str) -> bool:
    """Whether what is under this key is a secret."""
    return SECRET_KEY.fullmatch(key) is not None


_starts = starts_of(SECRET)


def _found(text: str) -> Iterable[re.Match[str]]:
    """What `finditer` finds. No search holds Python's lock for long: other threads, and so the proxy, go on."""
    if len(text) <= _SHORT:
        yield from SECRET.finditer(text)
        return
    at = 0
    for start in _starts(text):
        if start >= at and (found := SECRET.match(text, start)) is not None:
            yield found
            at = found.end()


def _replaced(found: re.Match[str]) -> str:
    if found["scheme"] is not None:
        return f"{found['scheme']}{REDACTED}@"
    return "".join(found[group] or "" for group in GROUPS_BEFORE) + REDACTED


def secret_spans(text: str) -> list[tuple[int, int]]:
    """The places of `text` that `redacted_text` replaces."""
    spans = []
    for found in _found(text):
        start = found.start()
        for group in (*GROUPS_BEFORE, "scheme"):
            start = found.end(group) if found[group] is not None else start
        spans.append((start, found.end() - (found["scheme"] is not None)))
    return spans


def redacted_value(value: Any) -> Any:
    """Plain data (None, bool, numbers, str, list, dict) with its strings searched; one under a secret's name goes."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return {key: _member(key, member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_value(member) for member in value]
    return value


def _member(key: Any, member: Any) -> Any:
    if isinstance(key, str) and isinstance(member, str) and member and _names_secret(key):
        return REDACTED
    return redacted_value(member)
