"""Elements that a system prompt shows around calls are wrappers of the reply; no others are."""

import json

import pytest

from toolcalls.reading.policy import CallPolicy
from toolcalls.request import Request, Tool
from toolcalls.requests.taught_wrappers import wrappers_in
from toolcalls.route import Route
from toolcalls.tools.parse.command import parsed

TOOLS = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
INVOKE = '<invoke name="TOOL">\n<parameter name="KEY">value</parameter>\n</invoke>'
HERMES = '<tool_call>\n{"name": <function-name>, "arguments": {}}\n</tool_call>'
CALL = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (f"Call tools so:\n<my_calls>\n{INVOKE}\n</my_calls>", ("my_calls",)),
        (f"Call tools so: <my-calls>{INVOKE}\n{INVOKE}</my-calls>.", ("my-calls",)),
        (f"<agent:calls>\n{HERMES}\n</agent:calls>", ("agent:calls",)),
        ("<steps>\n<Bash>\n<command>ls</command>\n</Bash>\n</steps>", ("steps",)),
        (f"<example>\n{INVOKE}\n</example>", ()),
        (f"<thinking>\n{INVOKE}\n</thinking>", ()),
        (f"<function_calls>\n{INVOKE}\n</function_calls>", ()),
        ("<rules>\n<rule>Be brief.</rule>\n</rules>", ()),
        (f"<my_calls>\n{INVOKE}", ()),
        (f"<br> <rules>Be brief.</rules> <example>x</example>\n<my_calls>\n{INVOKE}\n</my_calls>", ("my_calls",)),
        (f"<my_calls>\nSo:\n{INVOKE}\n</my_calls>", ()),
        ("", ()),
    ],
)
def test_the_elements_of_a_prompt(prompt: str, found: tuple[str, ...]) -> None:
    assert wrappers_in(Request(tools=TOOLS, system=prompt)) == found


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_wrapper_goes_with_its_call_where_the_prompt_teaches_it(size: int) -> None:
    text = f"I look.\n<my_calls>\n{CALL}\n</my_calls>"
    for prompt, shown in ((f"<my_calls>\n{INVOKE}\n</my_calls>", "I look.\n"), ("", None)):
        request = Request(tools=TOOLS, system=prompt)
        policy = CallPolicy(Route(), request, wrappers=wrappers_in(request))
        read = parsed([text[at : at + size] for at in range(0, len(text), size)], policy, cut=False)
        assert [json.loads(call["arguments"]) for call in read["calls"]] == [{"command": "ls"}]
        assert read["text"] == (shown or "I look.\n<my_calls>\n\n</my_calls>")
