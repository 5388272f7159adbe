"""Requests that are signed as Amazon's services ask it (Signature Version 4, 4A): what of them must stay as it came.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. A signature covers the body,
unless the client says otherwise, and the headers that it names. The service refuses a request in which any of these has
changed.
"""

import re

from mitmproxy import http

_ALGORITHMS = ("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")
_HEADERS = re.compile(r"SignedHeaders=([^,\s]+)")
_UNSIGNED_BODY = "UNSIGNED-PAYLOAD"


def signs_body(request: http.Request) -> bool:
    """Whether a signature covers the request's body."""
    is_signed = _authorization(request) != "" or "X-Amz-Signature" in request.query
    return is_signed and not request.headers.get("x-amz-content-sha256", "").endswith(_UNSIGNED_BODY)


def signs_header(request: http.Request, name: str) -> bool:
    """Whether a signature covers this header; `name` is in lower case."""
    found = _HEADERS.search(_authorization(request))
    named = found[1] if found else request.query.get("X-Amz-SignedHeaders", "")
    return name in named.lower().split(";")


def _authorization(request: http.Request) -> str:
    said = request.headers.get("authorization", "")
    return said if said.startswith(_ALGORITHMS) else ""
