"""The encoding of a whole body in JSON, which its first bytes show, as `json.loads` and httpx read it.

UTF-8 with or without a byte order mark, UTF-16 and UTF-32 (https://www.rfc-editor.org/rfc/rfc4627#section-3).
"""

import json


def encoding_of(body: bytes) -> str:
    """The encoding of a body, as Python names it."""
    return json.detect_encoding(body)


def as_utf8(body: bytes, encoding: str) -> bytes:
    """The body in UTF-8, without a byte order mark. As it is where it is not in the encoding that it looks like."""
    if encoding == "utf-8":
        return body
    try:
        return body.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return body


def from_utf8(body: bytes, encoding: str) -> bytes:
    """A body in UTF-8 in another encoding, with a byte order mark where that has one."""
    return body if encoding == "utf-8" else body.decode("utf-8", "surrogatepass").encode(encoding, "surrogatepass")
