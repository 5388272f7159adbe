"""Forms that no template writes and models do, as people pasted them: each is read, in `auto` and however it is cut.

Each table is one kind of damage over the dialects that share the shape it hits. What quotes such forms is guarded by
`test_texts_without_calls.py` and `tests/cases/quoting*.yaml`.
"""

import json

import pytest

from support.strategies import tool
from toolcalls.events import CallStart
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.writing.writer import calls_in

TOOLS = (
    tool("Bash", command="string", timeout="integer"),
    tool("Read", file_path="string"),
    tool("write_file", path="string", content="string"),
    tool("now"),
)
LS = '{"command": "ls"}'
LOST = '{"command": "echo "hi""}'
ESCAPED = r"{\"command\": \"ls\"}"


def call(arguments: str) -> str:
    return f'{{"name": "Bash", "arguments": {arguments}}}'


def escaped_call() -> str:
    return r"{\"name\": \"Bash\", \"arguments\": " + ESCAPED + "}"


def html(json_text: str) -> str:
    return json_text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


AROUND_ARGUMENTS = {
    "mistral": "[TOOL_CALLS]Bash[ARGS]{}",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Bash<｜tool▁sep｜>{}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "harmony": "<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{}<|call|>",
    "function tag": "<function=Bash>{}</function>",
    "react": "Action: Bash\nAction Input: {}",
}
AROUND_CALL = {
    "hermes": "<tool_call>\n{}\n</tool_call>",
    "on one line": "<tool_call>{}</tool_call>",
    "array": "[TOOL_CALLS][{}]",
    "granite": "<|tool_call|>{}<|/tool_call|>",
    "python tag": "<|python_tag|>{}",
}


def read(text: str, size: int, dialects: tuple[str, ...] | None = None) -> tuple[list[tuple[str, object]], set[str]]:
    route = Route(client="native", upstream="text", dialects=dialects)
    reader = Reader(CallPolicy(route, Request(tools=TOOLS), open_calls=True))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=False)]
    spoken = {event.dialect for event in events if isinstance(event, CallStart) and event.dialect}
    return [(one.name, json.loads(one.arguments)) for one in calls_in(events)], spoken


def assert_read(text: str, *wanted: tuple[str, object]) -> None:
    spoken: set[str] = set()
    for size in (len(text), 1, 5):
        found, spoken = read(text, size)
        assert found == list(wanted), f"in pieces of {size}"
    assert read(text, 1, tuple(spoken))[0] == list(wanted), "by name"


def filled(form: str, content: str) -> str:
    return form.replace("{}", content)


@pytest.mark.parametrize("form", AROUND_ARGUMENTS.values(), ids=AROUND_ARGUMENTS)
def test_arguments_that_lost_escapes(form: str) -> None:
    assert_read(filled(form, LOST), ("Bash", {"command": 'echo "hi"'}))


@pytest.mark.parametrize("form", [*AROUND_CALL.values(), "{}", "```json\n{}\n```"], ids=[*AROUND_CALL, "bare", "fence"])
def test_calls_that_lost_escapes(form: str) -> None:
    assert_read(filled(form, call(LOST)), ("Bash", {"command": 'echo "hi"'}))


@pytest.mark.parametrize("form", AROUND_ARGUMENTS.values(), ids=AROUND_ARGUMENTS)
def test_arguments_that_are_escaped_as_a_whole(form: str) -> None:
    assert_read(filled(form, ESCAPED), ("Bash", {"command": "ls"}))


@pytest.mark.parametrize("form", AROUND_CALL.values(), ids=AROUND_CALL)
def test_calls_that_are_escaped_as_a_whole(form: str) -> None:
    assert_read(filled(form, escaped_call()), ("Bash", {"command": "ls"}))


@pytest.mark.parametrize("form", AROUND_ARGUMENTS.values(), ids=AROUND_ARGUMENTS)
def test_arguments_with_bare_keys_or_escaped_for_html(form: str) -> None:
    assert_read(filled(form, '{command: "ls", timeout: 5}'), ("Bash", {"command": "ls", "timeout": 5}))
    assert_read(filled(form, html(r'{"command": "echo \"a\" &lt; b"}')), ("Bash", {"command": 'echo "a" &lt; b'}))


@pytest.mark.parametrize("form", [*AROUND_CALL.values(), "{}"], ids=[*AROUND_CALL, "bare"])
def test_calls_with_bare_keys_or_escaped_for_html(form: str) -> None:
    assert_read(filled(form, '{name: "Bash", arguments: {command: "ls"}}'), ("Bash", {"command": "ls"}))
    assert_read(filled(form, html(call(r'{"command": "a &amp; \"b\""}'))), ("Bash", {"command": 'a &amp; "b"'}))


def test_a_bare_key_behind_a_quoted_one_may_be_part_of_a_string() -> None:
    assert not read('[TOOL_CALLS]Bash[ARGS]{"command": "ls", timeout: 5}', 1)[0]


MISQUOTED = (
    '{"name":": "Bash", "arguments": {"command": "ls"}}',
    '{"name: "Bash", "arguments": {"command": "ls"}}',
    '{"name": Bash", "arguments": {"command": "ls"}}',
    '{"name": "Bash, "arguments": {"command": "ls"}}',
)


@pytest.mark.parametrize("form", AROUND_CALL.values(), ids=AROUND_CALL)
@pytest.mark.parametrize("misquoted", MISQUOTED)
def test_a_declared_name_whose_quotes_are_misplaced(form: str, misquoted: str) -> None:
    assert_read(filled(form, misquoted), ("Bash", {"command": "ls"}))
    assert not read(filled(form, misquoted.replace("Bash", "Shell")), 1)[0]


ATTRIBUTES = (
    '<tool name="Bash" command="ls &amp; a"/>',
    '<tool name="Bash" command="ls &amp; a"></tool>',
    '<invoke name="Bash" command="ls &amp; a" />',
    '<invoke name="Bash" command="ls &amp; a"></invoke>',
    "<invoke name='Bash' id='c1' command='ls &amp; a'>\n</invoke>",
    '<function_calls>\n<invoke name="Bash" command="ls &amp; a"/>\n</function_calls>',
    '<tool_call name="Bash" command="ls &amp; a"/>',
)


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes_of_the_calls_tag_are_arguments(text: str) -> None:
    assert_read(text, ("Bash", {"command": "ls & a"}))


def test_attributes_and_parameters_are_arguments_together() -> None:
    text = '<invoke name="Bash" timeout="5">\n<parameter name="command">ls</parameter>\n</invoke>'
    assert_read(text, ("Bash", {"timeout": 5, "command": "ls"}))


@pytest.mark.parametrize("text", ['<invoke name="Bash" cmd="ls" />', '<invoke name="Bash" cmd="ls"></invoke>'])
def test_a_call_of_nothing_but_unknown_attributes_is_none(text: str) -> None:
    for size in (len(text), 1):
        assert read(text, size)[0] == []
    assert_read('<invoke name="now" id="c1"/>', ("now", {}))


@pytest.mark.parametrize("word", ["call", "court", "count"])
def test_a_stray_word_between_a_calls_tag_and_its_parameters(word: str) -> None:
    tag, rest = '<invoke name="Bash">', '<parameter name="command">ls</parameter>\n</invoke>'
    assert_read(f"{tag}\n{word}\n{rest}", ("Bash", {"command": "ls"}))
    assert_read(f"<function_calls>\n{tag}\n{word}\n{rest}\n</function_calls>", ("Bash", {"command": "ls"}))
    assert not read(f"{tag}\n{word} it so:\n{rest}", 1)[0]


@pytest.mark.parametrize("broken", ['{"command": "ls", oops [}', '{"command": "ls" "timeout": 5}', '{"command": "ls}'])
def test_a_broken_call_does_not_swallow_the_one_behind_it(broken: str) -> None:
    texts = [
        *(filled(form, broken) + filled(form, LS) for form in AROUND_ARGUMENTS.values()),
        *(filled(form, call(broken)) + filled(form, call(LS)) for form in AROUND_CALL.values()),
    ]
    for text in texts:
        for size in (len(text), 1):
            assert all(arguments == {"command": "ls"} for _, arguments in read(text, size)[0])


BASH = ("Bash", {"command": "ls"})
INNER_WORDS = (
    '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n{}\n</invoke>',
    "<tool_call>\n<function=Bash>\n{}\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n{}\n</function>\n</tool_call>",
)


@pytest.mark.parametrize("form", INNER_WORDS)
def test_a_stray_word_inside_a_call(form: str) -> None:
    assert_read(filled(form, "call"), BASH)
    assert_read(filled(form, "court"), BASH)
    assert not read(filled(form, "so that"), 1)[0]


def test_a_stray_word_between_two_parameters() -> None:
    text = (
        '<invoke name="Bash">\n<parameter name="command">ls</parameter>\ncount\n<parameter name="timeout">5</parameter>'
    )
    assert_read(f"{text}\n</invoke>", ("Bash", {"command": "ls", "timeout": 5}))


UNSLASHED = (
    '<invoke name="Bash">\n<parameter name="command">ls<parameter>\n<invoke>',
    '<invoke name="Bash">\n<parameter name="command">ls<parameter>\n</invoke>',
    '<function_calls>\n<invoke name="Bash">\n<parameter name="command">ls<parameter>\n<invoke>\n<function_calls>',
    "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n<parameter>\n<function>\n<tool_call>",
    'invoke name="Bash">\nparameter name="command">ls<parameter>\n<invoke>',
    'invoke name="Bash">\nparameter name="command">lsparameter>\ninvoke>',
    "function=Bash>parameter=command>lsparameter>function>",
)


@pytest.mark.parametrize("text", UNSLASHED)
def test_closers_without_their_slash(text: str) -> None:
    assert_read(text, BASH)


def test_a_value_may_hold_tags_without_their_slash() -> None:
    shown = "<parameter> opens one and <invoke> a call"
    for value in (shown, f"{shown}\n<parameter>", "<invoke>\n<tool_name>x</tool_name>\n</invoke>"):
        text = f'<invoke name="Bash">\n<parameter name="command">{value}</parameter>\n</invoke>'
        assert_read(text, ("Bash", {"command": value}))


ELEMENTS = (
    '<Bash command="ls"/>',
    "<Bash command='ls' />",
    '<Bash\n  command="ls"\n/>',
    '<Bash command="ls"></Bash>',
    '<tool name="Bash">\n<command>ls</command>\n</tool>',
    '<tool name="Bash">\n<parameter name="command">ls</parameter>\n</tool>',
    '<tool name="Bash">{"command": "ls"}</tool>',
    '<tool_call>Bash\n<parameter name="command">ls</parameter>\n</tool_call>',
    "<tool_call>\nBash\n<command>ls</command>\n</tool_call>",
    '<tool_call>Bash({"command": "ls"})</tool_call>',
    '<tool_call>Bash: {"command": "ls"}</tool_call>',
    '<tool_call>{"Bash": {"command": "ls"}}</tool_call>',
    '<tool_call id="call_00" name="Bash">\n{"command": "ls"}\n</tool_call>',
    '<tool_use id="c1" name="Bash">{"command": "ls"}</tool_use>',
    '<use_tool>\n<tool_name>Bash</tool_name>\n<arguments>{"command": "ls"}</arguments>\n</use_tool>',
    '[ToolCall]\n{"name": "Bash", "arguments": {"command": "ls"}}\n[/ToolCall]',
    '<<<TOOL_CALL>>>\n{"name": "Bash", "arguments": {"command": "ls"}}\n<<<END_TOOL_CALL>>>',
    '{"toolName": "Bash", "toolCallId": "c1", "args": {"command": "ls"}}',
    '{"type": "tool-call", "toolName": "Bash", "input": {"command": "ls"}}',
    '{"toolCalls": [{"name": "Bash", "arguments": {"command": "ls"}}]}',
    '```tool_use\n{"name": "Bash", "input": {"command": "ls"}}\n```',
    "call:default_api:Bash{command:<ctrl46>ls<ctrl46>}",
    '[tool_call]\n{"name": "Bash", "arguments": {"command": "ls"}}\n[/tool_call]',
    '[tool_call]Bash{"command": "ls"}[/tool_call]',
    '[Tool Call] name=Bash args={"command": "ls"}',
    '[tool_call name="Bash"]{"command": "ls"}[/tool_call]',
    '[tool_call: Bash]\n{"command": "ls"}\n[/tool_call]',
    '[Tool Call: Bash]\nArguments: {"command": "ls"}',
    'Assistant called tool Bash (c1) with arguments: {"command": "ls"}<|close|>argument<|sep|><|close|>call<|sep|>',
    '<use_tool name="Bash">\n<command>ls</command>\n</use_tool>',
    '[Calling tool: Bash({"command": "ls"})]',
    '[Calling tool: Bash with arguments: {"command": "ls"}]',
    '[tool_call: Bash {"command": "ls"}]',
    '<minimax:tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</minimax:tool_call>',
    'Bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_calls_section_end|>',
    '<|tool_calls_section_begin|>functions.Bash:0{"command": "ls"}<|tool_calls_section_end|>',
    '[Tool Call: Bash (ID: call_123)]\n{"command": "ls"}',
    '[Tool Call: Bash (ID: call_123)]\nArguments: {"command": "ls"}',
    '[tool call: Bash (id: toolu_01AbC)] {"command": "ls"}',
    '[Tool call: Bash (call_1)]\n{"command": "ls"}',
    'Ok.\n\n[Tool Call: Bash (ID: 1)]\n```json\n{"command": "ls"}\n```',
    '[Tool Call: Bash]\n```json\n{"command": "ls"}\n```',
    'tool_use>\n  <name>Bash</name>\n  <arguments>{"command": "ls"}</arguments>\n</tool_use>',
    'tool_call><tool_name>Bash</tool_name><parameters>{"command": "ls"}</parameters></tool_call>',
    'tool_use>\n<name>Bash</name>\n<input>{"command": "ls"}</input>\n/tool_use>',
    '[TOOL_CALLS]<tool_call>\n{"arguments": {"command": "ls"}, "name": "Bash"}\n</tool_call>',
    '<|tool_call_begin|>{"arguments": {"command": "ls"}, "name": "Bash"}<|tool_call_end|>',
    "<|tool_call_begin|>{'name': 'Bash', 'arguments': {'command': 'ls'}}<|tool_call_end|>",
    '<minimax:tool_call>\n{"parameters": {"command": "ls"}, "name": "Bash"}\n</minimax:tool_call>',
    '<tool_call>\njson\n{"arguments": {"command": "ls"}, "name": "Bash"}\n</tool_call>',
    '<tool_call>Bash\n{"arguments": {"command": "ls"}, "name": "Bash"}\n</tool_call>',
    'call:Bash{command:"ls"}',
    'call:Bash{"command":"ls"}',
    "call:Bash{command:'ls'}",
    'Let me look.\n\ncall:Bash{command:"ls"}',
    'call: Bash{"command": "ls"}',
    "<tool_call>Bash<arg_key>command</arg_key><arg_value>ls</arg_value</tool_call>",
    "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value\n</tool_call>",
    "<tool_call>Bash\n<arg_key>command</arg_key\n<arg_value>ls</arg_value>\n</tool_call>",
    '<invoke name="Bash">\n<parameter name="command">ls</parameter\n</invoke>',
    '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke\n</function_calls>',
    "<function=Bash>\n<parameter=command>\nls\n</parameter\n</function>",
    "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function\n</tool_call>",
    "<Bash>\n<command>ls</command\n</Bash>",
    "<Bash>\n<command>ls</command></command>\n</Bash>",
    "<Bash>\n<command>ls<command>\n</Bash>",
    "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>ls\n</parameters>\n</invoke>",
    "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>ls</command\n</parameters>\n</invoke>",
    "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>ls<command>\n</parameters>\n</invoke>",
    "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command><command>ls</command>\n</parameters>\n</invoke>",
    "<tool_call>Bash<arg_key>command</arg_key><arg_value>ls<arg_value></tool_call>",
    "<tool_call>Bash<arg_key>command<arg_key><arg_value>ls</arg_value></tool_call>",
    "<tool_call>Bash<arg_key>command</arg_key><arg_value><arg_value>ls</arg_value></tool_call>",
    '<invoke name="Bash">\n<parameter name="command"><parameter name="command">ls</parameter>\n</invoke>',
    "<function=Bash>\n<parameter=command><parameter=command>ls</parameter>\n</function>",
    "<Bash>\n<command><command>ls</command>\n</Bash>",
    '<invoke name="Bash"><invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>',
    '<function_calls><function_calls>\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>\n'
    "</function_calls>",
    "<tool_call>\n<function=Bash><function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<tool_calls><tool_calls>\n<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>\n"
    "</tool_calls>",
    '<tool_calls><tool_calls>[{"name": "Bash", "arguments": {"command": "ls"}}]</tool_calls>',
    "[TOOL_CALL]\n{tool => 'Bash', args => {\n  --command 'ls'\n}}\n[/TOOL_CALL]",
    '<invoke name="Bash">\nparameter name="command">ls</parameter>\n</invoke>',
    "<function=Bash>\nparameter=command>\nls\n</parameter>\n</function>",
)


VALUES_WITH_CLOSERS = (
    (
        '<invoke name="Bash">\n<parameter name="command">a\nparameter name="timeout">5</parameter>\n</invoke>',
        'a\nparameter name="timeout">5',
    ),
    ("<Bash>\n<command><command>ls</command></command>\n</Bash>", "<command>ls</command>"),
    (
        '<invoke name="Bash">\n<parameter name="command"><parameter name="command">ls</parameter></parameter></invoke>',
        '<parameter name="command">ls</parameter>',
    ),
    (
        "<function=Bash>\n<parameter=command><parameter=command>ls</parameter> x</parameter>\n</function>",
        "<parameter=command>ls</parameter> x",
    ),
    (
        "<tool_call>Bash<arg_key>command</arg_key><arg_value><arg_value>ls</arg_value></arg_value></tool_call>",
        "<arg_value>ls</arg_value>",
    ),
    (
        "<tool_call>Bash<arg_key>command</arg_key><arg_value>a <arg_value>\n<b></arg_value></tool_call>",
        "a <arg_value>\n<b>",
    ),
    ("<Bash>\n<command>echo '</command' > a</command>\n</Bash>", "echo '</command' > a"),
    ("<Bash>\n<command>echo <command></command></command>\n</Bash>", "echo <command></command>"),
    ('<invoke name="Bash">\n<parameter name="command">x</parameter y</parameter>\n</invoke>', "x</parameter y"),
    (
        '<invoke name="Bash">\n<parameter name="command">a</parameter\n<b></parameter>\n</invoke>',
        "a</parameter\n<b>",
    ),
    (
        "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>ls <timeout>5</timeout> x</command>\n"
        "</parameters>\n</invoke>",
        "ls <timeout>5</timeout> x",
    ),
    (
        "<invoke>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>echo '</parameters></invoke>' > a</command>\n"
        "</parameters>\n</invoke>",
        "echo '</parameters></invoke>' > a",
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        '<invoke name="Bash"><parameter name="command">ls</parameter>\nparameter name="timeout">5</parameter></invoke>',
        "<function=Bash>\n<parameter=command>\nls\n</parameter>\nparameter=timeout>\n5\n</parameter>\n</function>",
    ],
)
def test_the_next_parameter_lacks_its_first_bracket(text: str) -> None:
    assert_read(text, ("Bash", {"command": "ls", "timeout": 5}))


@pytest.mark.parametrize(("text", "command"), VALUES_WITH_CLOSERS)
def test_a_value_that_holds_damaged_closers(text: str, command: str) -> None:
    assert_read(text, ("Bash", {"command": command}))


@pytest.mark.parametrize("text", ELEMENTS)
def test_names_where_no_template_has_them(text: str) -> None:
    assert_read(text, BASH)


@pytest.mark.parametrize(
    "text",
    [
        '<Bash cmd="ls"/>',
        'Use <Bash command="ls"/> for it.',
        '<Bash command="ls">and more',
        "[Tool: Bash]\nis the name.",
        "[Tool: see below]",
        '<tool name="Bash" description="runs a command"/>',
        '<tool name="Bash"/>\n<tool name="now"/>',
        '<tool name="Bash">\n<parameter name="command" type="string">the command</parameter>\n</tool>',
        "<tool_call>Bash\n<b>bold</b>\n</tool_call>",
        'call tool="Bash" and then {"command": "ls"}',
        '[Tool Call] stands in front of Bash {"command": "ls"}',
        'Assistant called tool Bash (c1) with arguments: {"command": "ls"}\nTool result: a.txt',
        '<tool_call>:{"command": "ls"}</tool_call>',
        '<tool_call>{"Shell": {"command": "ls"}}</tool_call>',
        '{"toolCalls": [{"id": "c1", "count": 3}]}',
        '{"toolName": "Bash", "count": 3}',
        "Bash:0 is the first of them.",
        '<call_record tool="Bash"> is how it begins.',
        '<|open|>tools<|sep|><|open|>call tool="Bash" index="1"<|sep|> is how it begins.',
        '<invoke name="Bash"><invoke name="Bash"> is written twice.',
        "<function=Bash><function=Bash> is written twice.",
        "call:Bash{see the manual}",
        "call:Bash{cmd:1} is no such call.",
        "A line may say call:Bash{command:1}.",
        "[Tool Call: Bash (see below)] is how they are written down.",
        '[Tool Call: Bash (ID: 1)] came before {"command": "ls"}',
        "tool_use>\n<name>Bash</name> is the first element.",
        '<tool_call>json {"arguments": "see below"}</tool_call>',
        '&lt;tool_call&gt;\n{"name": "Bash", "arguments": {"command": "ls"}}\n&lt;/tool_call&gt;',
    ],
)
def test_what_only_resembles_such_a_call(text: str) -> None:
    for size in (len(text), 1):
        assert read(text, size)[0] == []
