"""Secrets that a client may send, each with a word that must not be found again where it does not belong."""

CANARY = "CANARY"
HEADERS = {
    "authorization": "Bearer sk-proj-CANARY01aaaaaaaaaaaaaaaaaaaa",
    "x-api-key": "sk-ant-api03-CANARY02aaaaaaaaaaaaaaaa",
    "api-key": "CANARY03aaaaaaaaaaaaaaaaaaaaaaaa",
    "x-goog-api-key": "AIzaCANARY04aaaaaaaaaaaaaaaaaaaaaaaaa",
    "cookie": "session=CANARY05",
    "x-amz-security-token": "CANARY07",
    "x-vendor-auth-token": "CANARY08",
    "openai-organization": "org-CANARY09",
}
QUERY = "?alt=sse&key=AIzaCANARY12aaaaaaaaaaaaaaaaaaaaaaaaa&X-Amz-Signature=CANARY13"
