"""What the bodies of errors quote of the model's, before anybody asks whether it is a call."""

import json

import pytest

from toolcalls.mending.error_texts import generations_in

GROQ = json.dumps({"failed_generation": "<a>"})
LLAMA = json.dumps({"error": {"message": "Failed to parse input at pos 7: <a>"}})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (GROQ, [("failed_generation", "<a>")]),
        (f"GroqException - {GROQ}", [("failed_generation", "<a>")]),
        (f"BadRequest: {LLAMA}", [("Failed to parse input", "<a>")]),
        (f"the error is {json.dumps({'message': 'no more tokens'})}", []),
        ("an error {", []),
    ],
    ids=["an object", "after words, a field", "after words, an error", "after words, another object", "no JSON"],
)
def test_what_a_text_quotes(body: str, found: list[tuple[str, str]]) -> None:
    assert generations_in(body.encode()) == found
    assert generations_in(json.dumps({"message": body}).encode()) == found
