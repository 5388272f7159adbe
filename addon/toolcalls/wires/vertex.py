"""Paths of Google's Vertex AI that lead to another company's model: `publishers/P/models/M:rawPredict`.

https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/use-partner-models. The body and the reply are
those of the publisher's own API. The model's name is in the path, where its colon may be escaped.
"""

from urllib.parse import urlsplit

_METHODS = frozenset({"rawPredict", "streamRawPredict"})
_UTILITIES = frozenset({"count-tokens"})  # are where models do


def publisher_of(path: str) -> str:
    """Whose model a request path (with its query) asks; "" for a path that asks none in this way."""
    plain = urlsplit(path).path.rstrip("/").replace("%3A", ":").replace("%3a", ":")
    _, found, asked = plain.rpartition("/publishers/")
    publisher, _, rest = asked.partition("/models/")
    model, _, method = rest.rpartition(":")
    return publisher if found and model and model not in _UTILITIES and method in _METHODS else ""
