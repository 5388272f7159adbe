"""Requests that look like those of an LLM API, but whose path is unknown: their replies are forwarded unparsed.

Said once for each path. Only POST requests with a JSON body are looked at, and those of known paths never come here.
"""

import json
import logging
from typing import Any

from mitmproxy import http

from toolcalls.insight import report
from toolcalls.insight.redaction import redacted_url

logger = logging.getLogger(__name__)

_PATHS = 200  # that are remembered; more are not looked at
_LARGEST = 1 << 20  # bytes of a body that is looked at
# What such a body has: a member, and what a path of that API ends in.
_MEMBERS = {
    "messages": "/chat/completions or /v1/messages",
    "contents": ":generateContent or :streamGenerateContent",
    "input": "/responses",
    "prompt": "/completions",
    "tools": "/chat/completions, /responses or /v1/messages",
}


class UnknownAPIs:
    """The paths that were seen."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def look(self, flow: http.HTTPFlow) -> None:
        """Log one line for the first request of a path that looks like an LLM API's."""
        path = flow.request.path.partition("?")[0]
        if (
            path in self._seen
            or len(self._seen) >= _PATHS
            or "json" not in flow.request.headers.get("content-type", "")
        ):
            return
        self._seen.add(path)
        if found := _members(flow.request.raw_content or b""):
            shown = report.visible(f"{flow.request.pretty_host}{redacted_url(path)}")
            logger.warning(
                f"toolcalls: POST {shown} looks like an LLM API ({', '.join(found)} in its JSON), but the addon does "
                "not know its path, so its replies are forwarded unparsed. "
                f"Known paths end in {_MEMBERS[found[0]]}: give the agent a base URL that leads to one, or "
                "file an issue that names the API"
            )


def _members(body: bytes) -> list[str]:
    """The members that tell; [] where they do not. `input` and `prompt` alone are those of many APIs."""
    if len(body) > _LARGEST or not any(f'"{name}"'.encode() in body for name in ("messages", "contents", "tools")):
        return []
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict):
        return []
    found = [name for name in _MEMBERS if isinstance(data.get(name), list | str) and data[name]]
    is_telling = any(isinstance(data.get(name), list) and data[name] for name in ("messages", "contents", "tools"))
    return found if is_telling else []
