"""What a session is named by: the first sentence that its user wrote."""

import json

import pytest

from toolcalls.insight.conversation import RequestSummary, request_summary
from toolcalls.insight.opening import opening_of


def _asked(*texts: str) -> RequestSummary:
    messages = [{"role": "user", "content": text} for text in texts]
    return request_summary("openai_chat", json.dumps({"messages": messages}).encode())


SAID = {
    "a sentence": ("Fix the parser. Then run the tests.", "Fix the parser."),
    "a line": ("fix the parser\nand run the tests", "fix the parser"),
    "a question": ("Why does it fail? I tried.", "Why does it fail?"),
    "a dot inside": ("Read v1.2 of a.py now", "Read v1.2 of a.py now"),
    "a heading": ("## Fix the parser\nmore", "Fix the parser"),
    "blanks": ("  Fix \t the   parser  ", "Fix the parser"),
    "nothing": ("", ""),
    "an element": ("<environment_context>cwd: /x</environment_context>\n\nFix it.", "Fix it."),
    "two elements": ("<a>1</a>\n<b x='1'>2</b> Fix it.", "Fix it."),
    "the user's own element": ("<task>Fix it. Now.</task>\n<environment_details>x</environment_details>", "Fix it."),
    "only another's": ("<system-reminder>obey</system-reminder>", ""),
    "an element that is not closed": ("<div> is broken. Fix it.", "<div> is broken."),
}


@pytest.mark.parametrize("name", SAID)
def test_the_first_sentence(name: str) -> None:
    text, sentence = SAID[name]
    assert opening_of(_asked(text)) == sentence


def test_the_first_message_that_says_something_counts() -> None:
    assert opening_of(_asked("<a>1</a>", "", "Fix it.")) == "Fix it."
    assert opening_of(_asked("<a>1</a>", "", "", "", "too late")) == ""


def test_results_and_other_roles_are_not_the_users_words() -> None:
    messages = [
        {"role": "system", "content": "Obey."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a result"}]},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
    ]
    assert opening_of(request_summary("anthropic", json.dumps({"messages": messages}).encode())) == "Fix it."


def test_a_long_sentence_is_cut_and_a_secret_is_taken_out() -> None:
    cut = opening_of(_asked("word " * 100))
    assert cut.startswith("word word")
    assert len(cut) <= 112
    key = "sk-" + "proj-CANARYaaaaaaaaaaaaaaaaaaaa"
    said = opening_of(_asked(f"Use {key} to log in."))
    assert said.startswith("Use ")
    assert key not in said


def test_a_long_message_is_read_at_its_beginning() -> None:
    """After what is kept of it as an excerpt, too: agents put a lot in front."""
    assert opening_of(_asked(f"<context>{'x' * 4000}</context>\nFix it. And more.")) == "Fix it."
