"""Errors in the form that each API gives them, so that an agent shows their message.

https://platform.openai.com/docs/guides/error-codes, https://docs.anthropic.com/en/api/errors,
https://ai.google.dev/gemini-api/docs/troubleshooting,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors,
https://github.com/ollama/ollama/blob/main/docs/api.md. Over
WebSocket an error is a message of the type `error` (https://developers.openai.com/api/docs/guides/websocket-mode).
"""

import json
from typing import Any

from toolcalls.tools.serve.pacing import Plan
from toolcalls.tools.serve.recording import WEBSOCKET, Asked, Piece

NO_MATCH = 400  # no client asks again after it, and all show its message
_OPENAI = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_exceeded"}
_ANTHROPIC = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GEMINI = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_BEDROCK = {  # in a header
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_BAD, _SERVER = 400, 500


def error_body(wire: str, status: int, message: str) -> dict[str, Any]:
    """The body of an error of this status."""
    bad = status < _SERVER
    if wire == "anthropic":
        kind = _ANTHROPIC.get(status, "invalid_request_error" if bad else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}
    if wire.startswith("gemini"):
        kind = _GEMINI.get(status, "INVALID_ARGUMENT" if bad else "INTERNAL")
        return {"error": {"code": status, "message": message, "status": kind}}
    if wire == "cohere" or wire.startswith("bedrock"):
        return {"message": message}
    if wire.startswith("ollama"):
        return {"error": message}
    kind = _OPENAI.get(status, "invalid_request_error" if bad else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_plan(asked: Asked, status: int, message: str) -> Plan:
    """The answer with an error, at once."""
    body = error_body(asked.wire, status, message)
    if asked.method == WEBSOCKET:
        body = {"type": "error", "status": status, **body}
        return Plan(status, (), (Piece(0.0, json.dumps(body).encode()),), framing="messages")
    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    if asked.wire.startswith("bedrock"):
        kind = _BEDROCK.get(status, "ValidationException" if status < _SERVER else "InternalServerException")
        headers.append((b"x-amzn-errortype", kind.encode()))
    return Plan(status, tuple(headers), (Piece(0.0, data),), framing="whole")
