"""Which requests are signed, and what the signature covers."""

import pytest
from mitmproxy import http

from toolcalls.flows.request_signing import signs_body, signs_header

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIAMADEUP/20260101/us-east-1/bedrock/aws4_request, "
    "SignedHeaders=accept-encoding;content-type;host;x-amz-date, Signature=00"
)
URL = "http://127.0.0.1/model/m/converse"


def request(headers: dict[str, str] | None = None, query: str = "") -> http.Request:
    return http.Request.make("POST", URL + query, b"{}", headers or {})


@pytest.mark.parametrize(
    ("asked", "body", "header"),
    [
        pytest.param(request(), False, False, id="no authorization"),
        pytest.param(request({"authorization": "Bearer made-up"}), False, False, id="a token"),
        pytest.param(request({"authorization": SIGNED}), True, True, id="signed"),
        pytest.param(
            request({"authorization": SIGNED.replace("accept-encoding;", "")}), True, False, id="without the coding"
        ),
        pytest.param(
            request({"authorization": SIGNED.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")}),
            True, True, id="version 4A",
        ),
        pytest.param(
            request({"authorization": SIGNED, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}), False, True,
            id="without the body",
        ),
        pytest.param(
            request(query="?X-Amz-Signature=00&X-Amz-SignedHeaders=host"), True, False, id="signed in the query"
        ),
        pytest.param(
            request(query="?X-Amz-Signature=00&X-Amz-SignedHeaders=accept-encoding%3Bhost"), True, True,
            id="signed in the query, with the coding",
        ),
    ],
)  # fmt: skip
def test_what_a_signature_covers(asked: http.Request, body: bool, header: bool) -> None:
    assert (signs_body(asked), signs_header(asked, "accept-encoding")) == (body, header)
