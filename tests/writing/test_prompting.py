"""What models are told: tools' answers in the words of each dialect, and the part of a prompt that teaches it.

Strategy: what is told must be found again by our own readers: an answer by `results_in`, the example of a prompt by the
dialect's grammar. That holds for every dialect there is; only the words of a few are written down here.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.dialects import all_dialects
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import Route
from toolcalls.shapes import Unwritable
from toolcalls.writing.prompting import callable_in, prompt, result, results_in, template
from toolcalls.writing.writer import calls_in

DIALECTS = tuple(all_dialects())
READ = Tool(
    "read_file",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where it lies"},
            "limit": {"type": "integer"},
            "deep": {"type": "boolean"},
        },
        "required": ["limit", "path"],
    },
    "Reads a file.",
)

WORDS = {
    "qwen3_xml": "<tool_response>\nA\n</tool_response>",
    "hermes": "<tool_response>\nA\n</tool_response>",
    "glm_xml": "<tool_response>A</tool_response>",
    "minimax_m2": "<response>A</response>",
    "deepseek_dsml": "<tool_result>A</tool_result>",
    "hy_v3": "<tool_responses>\n<tool_response>\nA\n</tool_response>\n</tool_responses>",
    "openhands_fn": "EXECUTION RESULT of [read_file]:\nA",
    "tagged": "[read_file] Result:\nA",
    "invoke": "<function_results>\n<result>\n<tool_name>read_file</tool_name>\n<stdout>\nA\n</stdout>\n</result>\n"
    "</function_results>",
    "marker": "[read_file] Result:\nA",
}


@pytest.mark.parametrize(("dialect", "expected"), WORDS.items(), ids=WORDS)
def test_an_answer_in_the_words_of_the_model(dialect: str, expected: str) -> None:
    assert result(dialect, "read_file", "A", "call_1") == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_has_its_text_once_and_is_found_again(dialect: str) -> None:
    assert template(dialect).count("{text}") == 1
    for text in ("A", "", "two\nlines", "{name} {0} {text} %s \\1"):
        told = result(dialect, "read_file", text, "call_1")
        assert text in told
        found = results_in(dialect, [told])
        assert found is not None
        assert found.results == (text,)


@examples(100)
@given(st.sampled_from(DIALECTS), st.text(st.sampled_from("{}namextid<>&\\%\n "), max_size=30))
def test_braces_in_an_answer_are_its_own(dialect: str, text: str) -> None:
    before, _, after = template(dialect).partition("{text}")
    frame = (before + after).replace("{name}", "n").replace("{id}", "i")
    assert sorted(result(dialect, "n", text, "i")) == sorted(frame + text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_example_is_of_the_first_tool_that_can_be_called(dialect: str) -> None:
    odd = Tool('my <"tool">', {"type": "object", "properties": {'a "key">': {"type": "string"}}})
    told = prompt(dialect, [odd, READ])
    assert ("read_file" in told.rpartition("exactly in this form")[2]) != callable_in(dialect, odd)


def test_no_tool_that_can_be_called_is_a_reason_that_names_it() -> None:
    with pytest.raises(Unwritable, match="my tool"):
        prompt("pythonic", [Tool("my tool")])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prompt_declares_the_tools_and_shows_a_call_that_is_read(dialect: str) -> None:
    told = prompt(dialect, [READ, Tool("now")])
    assert "Reads a file." in told
    assert "now" in told
    example = told.partition("exactly in this form")[2].partition(":\n\n")[2].rpartition("\n\nWhat it answers")[0]
    reader = Reader(CallPolicy(Route(dialects=(dialect,), policy="lenient"), Request(tools=(READ, Tool("now")))))
    calls = calls_in([*reader.feed(example), *reader.finish(cut=False)])
    assert [call.name for call in calls] == ["read_file"]
    assert '"limit":' in calls[0].arguments


def test_sections_are_read_as_tools_again() -> None:
    found = tools_in(prompt("tagged", [READ, Tool("now")]))
    assert [tool.name for tool in found] == ["read_file", "now"]
    assert found[0].schema["required"] == ["path", "limit"]  # the order of the properties
