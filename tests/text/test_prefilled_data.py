"""Whether a prefill has begun an answer that is data."""

import pytest

from toolcalls.text.prefilled_data import begins_data


@pytest.mark.parametrize(
    "prefill",
    [
        "[", "[\n", "{", "[[ ", "Here it is: [", "```json\n[", '[{"a": 1},', '{"name":', '{"calls": [', "<json>",
        "<answer>\n", "<result>\n[", "Options: {",
    ],
)  # fmt: skip
def test_an_answer_that_is_begun(prefill: str) -> None:
    assert begins_data(prefill)


@pytest.mark.parametrize(
    "prefill",
    ["", "Sure.", "I look:", "a, b,", "</think>", "<tool_call>", "<tool_call>\n[", "[TOOL_CALLS]", "[TOOL_CALLS] [",
     "functools[", "<function_calls>", "<|python_tag|>", "note 3,"],
)  # fmt: skip
def test_none_is_begun(prefill: str) -> None:
    assert not begins_data(prefill)
