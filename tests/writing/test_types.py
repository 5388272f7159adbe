"""Types of values survive on their way to a text client, or a repair says that they became text.

Strategy: native calls of a request without tools are written in every dialect, and read back as their client reads
them: by the form alone. Each value is the same JSON, or its text where the form shows no types, and then it is noted.
"""

import json
from typing import Any

import pytest

from support import chatclient
from support.chatclient import ending, received, stream
from support.exchanges import run
from support.strategies import DIALECTS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.requests.prompt_tools import tools_in
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.conversion import members
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in, held, write

VALUES = {
    "n": "3", "b": "true", "z": "null", "o": '{"k":[1]}', "l": '["a",1]', "big": "12345678901234567890123",
    "huge": "1e400", "text": '"plain"', "three": '"3"', "yes": '"true"', "none": '"null"', "list": '"[1]"',
}  # fmt: skip

# The client knows every value's type by how it is written.
SHOWS_TYPES = {"hermes", "bare_json", "marker", "kimi_k2", "mistral", "deepseek_dsml", "kimi_k3", "pythonic", "forge"}
# The client reads every value as text.
SHOWS_NONE = {"invoke", "tagged", "qwen3_xml", "glm_xml", "minimax_m2", "openhands_fn", "seed_oss"}

# Names of tools, and of parameters, are closed lists there. `Loose` is declared without types.
_LISTED = Tool("Any", {"type": "object", "properties": {key: {} for key in VALUES}})


def as_client(dialect: str, text: str, tools: Toolbox) -> list[Call]:
    reader = Reader(CallPolicy(Route(dialects=(dialect,), policy="lenient"), Request()), tools=tools)
    return calls_in([*reader.feed(text), *reader.finish(cut=False)])


@pytest.mark.parametrize("key", VALUES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_value_keeps_its_type_or_the_repair_says_so(dialect: str, key: str) -> None:
    raw = VALUES[key]
    tools = Toolbox((_LISTED,), infer=False, textual=True)
    call, repairs = held(dialect, Call("Any", f'{{"{key}":{raw}}}'), tools)
    try:
        text = write(dialect, [call], tools)
    except Unwritable:
        assert dialect not in SHOWS_TYPES | SHOWS_NONE
        return
    (back,) = as_client(dialect, text, tools)
    [(_, value)] = members(back.arguments)
    if repairs:
        assert not raw.startswith('"')
        assert json.loads(value) == raw
    else:
        assert "".join(value.split()) == raw
    assert not (repairs and dialect in SHOWS_TYPES)
    assert bool(repairs) == (not raw.startswith('"')) or dialect not in SHOWS_NONE


def chat(route: Route, system: str = "") -> Exchange:
    wire = all_wires()["openai_chat"]
    request = request_of(wire, json.dumps({"messages": [{"role": "system", "content": system}]}).encode())
    decision = decide(route, request, {}, ())
    call_policy, tools = call_policy_of(route, request, decision)
    return Exchange(wire, call_policy, decision, tools, form="sse", seed=b"s")


def written_in(made: Exchange, body: bytes) -> tuple[str, list[tuple[Any, ...]]]:
    text = received(run(made, [body])).choices[0].text
    return text, [(verdict.status, verdict.reason, verdict.repairs) for _, verdict in made.verdicts]


ARGUMENTS = '{"n": 3, "b": true, "o": {"k": [1]}, "big": 12345678901234567890123, "huge": 1e400}'


def native(arguments: str) -> bytes:
    return stream([], None) + chatclient.native(Call("save", arguments), 0, [arguments]) + ending("tool_calls")


@pytest.mark.parametrize("dialect", ["hermes", "marker", "mistral", "kimi_k2", "bare_json"])
def test_json_stays_json_for_a_client_without_tools(dialect: str) -> None:
    route = Route(client="text", upstream="native", client_dialect=dialect)
    text, verdicts = written_in(chat(route), native(ARGUMENTS))
    assert ARGUMENTS in text
    assert verdicts == [("lowered", None, ())]


@pytest.mark.parametrize("arguments", ['{"n": NaN}', '{"n": Infinity}', '{"n": -Infinity}'])
def test_what_is_no_json_stays_native(arguments: str) -> None:
    made = chat(Route(client="text", upstream="native", client_dialect="hermes"))
    body = native(arguments)
    got = received(run(made, [body])).choices[0]
    assert [call["arguments"] for call in got.calls] == [arguments]
    assert not got.text


def test_types_that_a_form_does_not_show_are_noted() -> None:
    route = Route(client="text", upstream="native", client_dialect="invoke")
    text, verdicts = written_in(chat(route), native('{"b": true}'))
    assert '<parameter name="b">true</parameter>' in text
    assert verdicts == [("lowered", None, ("value_as_text",))]


CLINE = """\
## save
Description: Save.
Parameters:
- b: (required) Whether.
Usage:
<save>
<b>..</b>
</save>
"""


def test_a_boolean_in_another_dialect_arrives_as_it_does_natively() -> None:
    says = '<tool_call>\n{"name": "save", "arguments": {"b": true}}\n</tool_call>'
    route = Route(client="text", upstream="text", client_dialect="tagged")
    from_text = written_in(chat(route, CLINE), stream([says]))
    natively = written_in(
        chat(Route(client="text", upstream="native", client_dialect="tagged"), CLINE), native('{"b": true}')
    )
    assert from_text == natively == ("<save>\n<b>true</b>\n</save>", [("lowered", None, ("value_as_text",))])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("client", DIALECTS)
def test_from_another_dialect_values_arrive_as_they_do_natively(client: str) -> None:
    """Also the repairs are the same, for clients that show types and for clients that do not."""
    natively = written_in(
        chat(Route(client="text", upstream="native", client_dialect=client), CLINE), native('{"b": true}')
    )
    tools = Toolbox((Tool("save", {"type": "object", "properties": {"b": {"type": "boolean"}}}),))
    for foreign in ("hermes", "mistral", "llama3_json", "pythonic", "deepseek_dsml"):
        says = write(foreign, [Call("save", '{"b": true}')], tools)
        made = chat(Route(client="text", upstream="text", client_dialect=client), CLINE)
        text, verdicts = written_in(made, stream([says]))
        if verdicts and verdicts[0][0] == "lowered" and text != says:  # none where the client reads what begins so
            assert "".join(text.split()) == "".join(natively[0].split())
            assert verdicts == natively[1]


SCHEMA = {"type": "object", "properties": {"b": {"type": "boolean"}, "s": {"type": "string"}}}
BARE = {"name": "save", "description": "Save.", "parameters": SCHEMA}


@pytest.mark.parametrize(
    "prompt",
    [
        f"<tools>\n{json.dumps({'type': 'function', 'function': BARE})}\n</tools>",
        f"[AVAILABLE_TOOLS][{json.dumps({'type': 'function', 'function': BARE})}][/AVAILABLE_TOOLS]",
        f"You may call:\n{json.dumps(BARE, indent=2)}",
        f"Tools: {json.dumps([{'name': 'save', 'input_schema': SCHEMA}])}",
    ],
)
def test_schemas_in_a_prompt_type_values(prompt: str) -> None:
    assert [(tool.name, tool.schema) for tool in tools_in(prompt)] == [("save", SCHEMA)]
    says = '<invoke name="save">\n<parameter name="b">true</parameter>\n<parameter name="s">true</parameter>\n</invoke>'
    made = chat(Route(client="text", upstream="text", client_dialect="hermes"), prompt)
    text, verdicts = written_in(made, stream([says]))
    assert '"arguments": {"b":true,"s":"true"}' in text
    assert verdicts == [("lowered", None, ())]


def test_json_that_declares_no_tool() -> None:
    assert (
        tools_in('{"name": "Ann", "parameters": 3} {"type": "object", "properties": {"name": {"type": "string"}}}')
        == ()
    )
    assert tools_in('{"name": ' * 5000) == ()
